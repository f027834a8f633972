// The values of a Mat, block row by block row.
#pragma once

#include <memory>

#include "core/stored_matrix.h"
#include "setup/block_graph.h"

namespace mcpi {

class MatrixValues : public BlockRows {
public:
  // Arrays are held between open and close only. threads: that may read them; stream: on which a
  // device's values are made
  virtual PetscErrorCode open(const MatrixParts &parts, int threads, void *stream) = 0;
  virtual PetscErrorCode close() = 0;
};

// Which values on a device a backend reads there
struct ReadsInPlace {
  bool cusparse = false, kokkos = false; // of AIJCUSPARSE, of AIJKOKKOS
};

// For matrices with the structure of this graph, which must outlive the result. row() of values
// that are read in place is not to be called.
std::unique_ptr<MatrixValues> make_matrix_values(const MatrixParts &parts, const BlockGraph &graph,
                                                 const ReadsInPlace &in_place);

} // namespace mcpi
