// Compares the number of reductions of a whole solve with that of PCSOR. The functions of MPI are
// replaced to count them.
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

long long reductions = 0;

// A matrix as in elasticity: blocks of 3 on a mesh of hexahedra
BlockMatrix fine_matrix()
{
  Recipe recipe;
  recipe.symmetric = true;
  recipe.dominance = 1.02;
  return make_matrix(3, random_pattern(4000, 4, true), recipe);
}

PetscErrorCode reductions_of(Mat mat, const Vector &b, const std::string &smoother,
                             long long *count)
{
  OwnedSolver solver;
  KSPConvergedReason reason;
  PetscInt its;

  PetscFunctionBeginUser;
  const long long before = reductions;
  PetscCall(PetscOptionsCreate(solver.options.out()));
  PetscCall(insert_options(
      solver.options,
      "-ksp_type cg -ksp_rtol 1e-8 -pc_type gamg -pc_gamg_coarse_eq_limit 60 -mg_levels_pc_type " +
          smoother));
  PetscCall(PetscOptionsPush(solver.options));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, solver.ksp.out()));
  PetscCall(KSPSetOperators(solver, mat, mat));
  PetscCall(KSPSetFromOptions(solver));
  PetscCall(solve(solver, b, nullptr, &reason, &its));
  EXPECT_LT(0, static_cast<int>(reason));
  *count = reductions - before;
  solver.ksp.reset();
  PetscCall(PetscOptionsPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

// Removes PETSc's logging macros of these names.
#undef MPI_Allreduce
#undef MPI_Iallreduce
#undef MPI_Reduce
#undef MPI_Reduce_scatter_block
#undef MPI_Bcast
#undef MPI_Gather
#undef MPI_Gatherv
#undef MPI_Scatterv
#undef MPI_Allgather
#undef MPI_Allgatherv
#undef MPI_Exscan
#undef MPI_Scan

namespace {

// Only communicators of several ranks count, because on one rank there is no waiting.
void count_on(MPI_Comm comm)
{
  int size = 1;
  (void)PMPI_Comm_size(comm, &size);
  if (size > 1) ++reductions;
}

} // namespace

// The linker takes these functions before those of MPI, so PETSc and the library call them, too.
extern "C" {
int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
  count_on(comm);
  return PMPI_Allreduce(send, receive, count, type, op, comm);
}
int MPI_Iallreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
  count_on(comm);
  return PMPI_Iallreduce(send, receive, count, type, op, comm, request);
}
int MPI_Reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
  count_on(comm);
  return PMPI_Reduce(send, receive, count, type, op, root, comm);
}
int MPI_Reduce_scatter_block(const void *send, void *receive, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm)
{
  count_on(comm);
  return PMPI_Reduce_scatter_block(send, receive, count, type, op, comm);
}
int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  count_on(comm);
  return PMPI_Bcast(data, count, type, root, comm);
}
int MPI_Gather(const void *send, int count, MPI_Datatype type, void *receive, int counts,
               MPI_Datatype types, int root, MPI_Comm comm)
{
  count_on(comm);
  return PMPI_Gather(send, count, type, receive, counts, types, root, comm);
}
int MPI_Gatherv(const void *send, int count, MPI_Datatype type, void *receive, const int counts[],
                const int starts[], MPI_Datatype types, int root, MPI_Comm comm)
{
  count_on(comm);
  return PMPI_Gatherv(send, count, type, receive, counts, starts, types, root, comm);
}
int MPI_Scatterv(const void *send, const int counts[], const int starts[], MPI_Datatype types,
                 void *receive, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  count_on(comm);
  return PMPI_Scatterv(send, counts, starts, types, receive, count, type, root, comm);
}
int MPI_Allgather(const void *send, int count, MPI_Datatype type, void *receive, int counts,
                  MPI_Datatype types, MPI_Comm comm)
{
  count_on(comm);
  return PMPI_Allgather(send, count, type, receive, counts, types, comm);
}
int MPI_Allgatherv(const void *send, int count, MPI_Datatype type, void *receive,
                   const int counts[], const int starts[], MPI_Datatype types, MPI_Comm comm)
{
  count_on(comm);
  return PMPI_Allgatherv(send, count, type, receive, counts, starts, types, comm);
}
int MPI_Exscan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm)
{
  count_on(comm);
  return PMPI_Exscan(send, receive, count, type, op, comm);
}
int MPI_Scan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm)
{
  count_on(comm);
  return PMPI_Scan(send, receive, count, type, op, comm);
}
}

PETSC_TEST(Messages, multigrid_takes_at_most_half_more_reductions_than_with_sor)
{
  const BlockMatrix matrix = fine_matrix();
  const Vector b = random_vector(matrix.size(), 1);
  OwnedMat mat;
  long long sor = 0, mcpi = 0;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATAIJ, &mat));
  PetscCall(MatSetOption(mat, MAT_SPD, PETSC_TRUE));
  PetscCall(reductions_of(mat, b, "sor", &sor));
  PetscCall(reductions_of(mat, b, "mcpi", &mcpi));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "        %lld collective calls with mcpi, %lld with sor\n", mcpi, sor));
  EXPECT_LE(2 * mcpi, 3 * sor);
  PetscFunctionReturn(PETSC_SUCCESS);
}
