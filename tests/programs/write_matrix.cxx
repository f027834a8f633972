// Writes a block matrix and a right-hand side in PETSc's binary format, for programs that read them
// from a file.
//
// The matrix is a 7-point stencil on an n x n x n grid with bs unknowns a point. It is not
// symmetric. The components of a point have different units, which multiply entries by 2^-7 to 2^7.
// Without these units, the matrix is diagonally dominant. Each entry is a function of its global
// position, so the file is the same on any number of ranks.
#include <petscmat.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

// A number in [-1, 1), uniformly distributed, from a hash of the position
double noise(std::uint64_t row, std::uint64_t column)
{
  std::uint64_t h = row * 0x9E3779B97F4A7C15u + column * 0xC2B2AE3D27D4EB4Fu;
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
  h ^= h >> 31;
  return static_cast<double>(h >> 11) * 0x1p-52 - 1.0;
}

struct Grid {
  PetscInt n, bs;

  std::vector<PetscInt> stencil(PetscInt point) const
  {
    const std::array<PetscInt, 3> stride{1, n, n * n},
        at{point % n, point / n % n, point / (n * n)};
    std::vector<PetscInt> points{point};
    for (int axis = 0; axis < 3; ++axis) {
      if (at[axis] > 0) points.push_back(point - stride[axis]);
      if (at[axis] < n - 1) points.push_back(point + stride[axis]);
    }
    return points;
  }

  // Column-oriented values of one block, in the units of the row's and the column's unknowns
  void block(PetscInt row, PetscInt column, std::vector<PetscScalar> &values) const
  {
    for (PetscInt j = 0; j < bs; ++j) {
      for (PetscInt i = 0; i < bs; ++i) {
        const PetscInt r = row * bs + i, c = column * bs + j;
        double value = noise(static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(c)) /
                       static_cast<double>(bs);
        if (row != column)
          value = i == j ? value - 1.0 : 0.3 * value;
        else if (i == j)
          value = 6.5;
        const double units = std::exp2(static_cast<double>((i * 5) % 8 - (j * 5) % 8));
        values[static_cast<std::size_t>(j * bs + i)] = value * units;
      }
    }
  }
};

PetscErrorCode write(const Grid &grid, const char file[])
{
  Mat matrix;
  Vec rhs;
  PetscViewer viewer;
  PetscInt begin, end;
  const PetscInt rows = grid.n * grid.n * grid.n * grid.bs;
  std::vector<PetscScalar> values(static_cast<std::size_t>(grid.bs * grid.bs));

  PetscFunctionBeginUser;
  PetscCall(MatCreateBAIJ(PETSC_COMM_WORLD, grid.bs, PETSC_DECIDE, PETSC_DECIDE, rows, rows, 7,
                          nullptr, 6, nullptr, &matrix));
  PetscCall(MatSetOption(matrix, MAT_ROW_ORIENTED, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(matrix, &begin, &end));
  for (PetscInt point = begin / grid.bs; point < end / grid.bs; ++point) {
    for (const PetscInt neighbor : grid.stencil(point)) {
      grid.block(point, neighbor, values);
      PetscCall(MatSetValuesBlocked(matrix, 1, &point, 1, &neighbor, values.data(), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));

  PetscCall(MatCreateVecs(matrix, nullptr, &rhs));
  for (PetscInt row = begin; row < end; ++row)
    PetscCall(VecSetValue(rhs, row, noise(static_cast<std::uint64_t>(row), 0), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(rhs));
  PetscCall(VecAssemblyEnd(rhs));

  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(matrix, viewer));
  PetscCall(VecView(rhs, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(VecDestroy(&rhs));
  PetscCall(MatDestroy(&matrix));
  PetscFunctionReturn(static_cast<PetscErrorCode>(0));
}

} // namespace

int main(int argc, char **argv)
{
  char file[PETSC_MAX_PATH_LEN] = "";
  Grid grid{8, 5};
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, nullptr,
                            "Writes a block matrix: -o file [-n points] [-bs size]\n"));
  PetscCall(PetscOptionsGetString(nullptr, nullptr, "-o", file, sizeof file, &set));
  PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Name the file with -o");
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-n", &grid.n, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-bs", &grid.bs, nullptr));
  PetscCall(write(grid, file));
  PetscCall(PetscFinalize());
  return 0;
}
