// Tests a program that finalizes Kokkos while preconditioners exist. These can still be queried,
// set up for the host, and destroyed, but they cannot be applied.
#include <Kokkos_Core.hpp>
#include <petsc/private/petscimpl.h>

#include "support/petsc.h"

using namespace mcpi::test;

PETSC_TEST(KokkosEnd, preconditioners_outlive_kokkos)
{
  const BlockMatrix matrix = make_matrix(3, random_pattern(30, 3, false));
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;
  Preconditioner applied, transposed, destroyed, other;
  Vector before, after;
  std::string text;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, &mat));
  for (Preconditioner *pc : {&applied, &transposed, &destroyed})
    PetscCall(create_pc(mat, "-pc_mcpi_backend kokkos", pc));
  PetscCall(create_pc(mat, "-pc_mcpi_backend host", &other));
  PetscCall(apply(applied, b, &before));
  PetscCall(apply_transpose(transposed, b, &after));
  PetscCall(PCSetUp(destroyed));
  PetscCall(PCSetUp(other));
  Kokkos::finalize();
  destroyed.pc.reset();
  PetscCall(view(applied, &text));
  EXPECT_PETSC_ERROR(PETSC_ERR_ORDER, "Kokkos has ended", apply(applied, b, &after));
  EXPECT_PETSC_ERROR(PETSC_ERR_ORDER, "Kokkos has ended", apply_transpose(transposed, b, &after));
  PetscCall(apply(other, b, &after));
  EXPECT_LE(difference(after, before), 1e-5);
  PetscCall(PetscObjectStateIncrease((PetscObject)(Mat)mat));
  EXPECT_PETSC_ERROR(PETSC_ERR_SUP_SYS, "Kokkos has been finalized", PCSetUp(applied));
  PetscCall(PCMCPISetBackend(applied, PC_MCPI_BACKEND_HOST));
  PetscCall(apply(applied, b, &after));
  EXPECT_LE(difference(after, before), 1e-5);
  PetscFunctionReturn(PETSC_SUCCESS);
}
