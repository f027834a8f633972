// What tells one nonzero pattern from another, so that a plan is kept for new values alone.
#pragma once

#include <petscmat.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "setup/block_graph.h"

namespace mcpi {

struct MatrixIdentity {
  // PETSc's own marks of a piece. Those of a whole matrix do not tell: preallocated again it gets
  // other pieces and keeps its id, and at times its state, the sum of theirs, which rises where
  // empty pieces are prepared anew.
  struct Marks {
    PetscObjectId id = 0;
    PetscObjectState nonzero_state = -1;

    bool operator==(const Marks &) const = default;
  };

  PetscObjectId id = 0;      // of the matrix
  Marks diag, offdiag;       // of AIJ: BAIJ leaves its marks as they are, or is a copy made anew
  std::uint64_t columns = 0; // hash of the block rows and columns of BAIJ
  PetscInt bs = 0, local_rows = 0, local_columns = 0;
  double nonzeros = -1;
  std::string type;

  bool operator==(const MatrixIdentity &) const = default;
};

// The same for any number of threads. hash: of what comes before
std::uint64_t HashOfIndices(const PetscInt *values, std::size_t count, std::uint64_t hash,
                            int threads);
// Not collective: pieces may change on some ranks only.
PetscErrorCode MatrixIdentityGet(Mat mat, const MatrixParts &parts, int threads,
                                 MatrixIdentity *identity);

} // namespace mcpi
