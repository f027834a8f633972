// A pattern as a PETSc matrix, for PETSc's services that want one.
#pragma once

#include <petscmat.h>

#include <cstdlib>
#include <memory>
#include <vector>

namespace mcpi {

// Sorted rows with global columns go in, the matrix comes out. The pattern must not move while the
// matrix lives.
class PatternMatrix {
public:
  PatternMatrix() = default;
  PatternMatrix(const PatternMatrix &) = delete;
  PatternMatrix &operator=(const PatternMatrix &) = delete;

  std::vector<PetscInt> i = {0}, j;

  void end_row() { i.push_back(static_cast<PetscInt>(j.size())); }
  // Collective.
  PetscErrorCode create(MPI_Comm comm, PetscInt rows, PetscInt global_rows, Mat *mat);

private:
  struct Free {
    void operator()(void *p) const { std::free(p); }
  };
  std::unique_ptr<PetscScalar, Free> zeros_;
};

} // namespace mcpi
