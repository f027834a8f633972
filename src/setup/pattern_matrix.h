// A nonzero pattern as a PETSc matrix, for the coloring and ordering functions of PETSc, which need
// a matrix.
#pragma once

#include <petscmat.h>

#include <cstdlib>
#include <memory>
#include <vector>

namespace mcpi {

// The caller appends the sorted global columns of each row to j, calls end_row() after each row,
// and then create(). The object must outlive the matrix, which uses its arrays.
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
