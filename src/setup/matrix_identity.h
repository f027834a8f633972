// The identity of a nonzero pattern. If a matrix has new values but the same identity, the symbolic
// set-up is kept.
#pragma once

#include <petscmat.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "setup/block_graph.h"

namespace mcpi {

struct MatrixIdentity {
  // The object id and the nonzero state of one sequential portion. Those of the whole matrix do not
  // suffice. A matrix that is preallocated again gets new portions, but keeps its id and at times
  // its nonzero state, which is the sum of the portions' states. This sum also rises if PETSc
  // prepares an empty portion again, although the pattern is the same.
  struct Marks {
    PetscObjectId id = 0;
    PetscObjectState nonzero_state = -1;

    bool operator==(const Marks &) const = default;
  };

  PetscObjectId id = 0; // of the matrix
  // For AIJ only. A new pattern may leave the marks of BAIJ as they are, and the BAIJ copy of an
  // SBAIJ matrix is made again for every set-up.
  Marks diag, offdiag;
  std::uint64_t columns = 0; // for BAIJ only: a hash of the block rows and columns
  PetscInt bs = 0, local_rows = 0, local_columns = 0;
  double nonzeros = -1;
  std::string type;

  bool operator==(const MatrixIdentity &) const = default;
};

// The result does not depend on the number of threads. hash: the hash of the preceding arrays
std::uint64_t HashOfIndices(const PetscInt *values, std::size_t count, std::uint64_t hash,
                            int threads);
// Not collective. The identity may change on some ranks only, as portions may.
PetscErrorCode MatrixIdentityGet(Mat mat, const MatrixPortions &portions, int threads,
                                 MatrixIdentity *identity);

} // namespace mcpi
