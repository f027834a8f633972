// Access to the values of a Mat, either block row by block row or as whole arrays that a backend
// reads in place.
#pragma once

#include <memory>
#include <stdexcept>

#include "core/stored_matrix.h"
#include "setup/block_graph.h"

namespace mcpi {

class MatrixValues : public BlockRows {
public:
  // PETSc's arrays are held from open() to close() only. threads: how many threads may read the
  // arrays. stream: the CUDA stream on which values on a device are made.
  virtual PetscErrorCode open(const MatrixPortions &portions, int threads, void *stream) = 0;
  virtual PetscErrorCode close() = 0;
  // Makes another reader of the rows, for another thread, that is valid until close(). Values on a
  // device have none.
  virtual std::unique_ptr<BlockRows> reader() const
  {
    throw std::logic_error("values on a device are not read by rows");
  }
};

// The types of matrices whose values a backend reads on the device
struct ReadsInPlace {
  bool cusparse = false, kokkos = false; // AIJCUSPARSE, AIJKOKKOS
};

// Makes the access to matrices with the structure of graph, which must outlive the result. Callers
// must not call row() if the values are read in place on a device.
std::unique_ptr<MatrixValues> make_matrix_values(const MatrixPortions &portions,
                                                 const BlockGraph &graph,
                                                 const ReadsInPlace &in_place);

} // namespace mcpi
