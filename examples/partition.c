static char help[] =
  "Reads a matrix, gives every rank a connected part with few cut edges (MatPartitioning), and solves there.\n"
  "  -f <file>: PETSc binary, with its block size    -partition <true>: false leaves rows where MatLoad() puts them\n"
  "Try: mpiexec -n 4 ./partition -f matrix -dll_append /path/to/libpetscmcpi.so -pc_type mcpi -pc_mcpi_its 4 -mat_partitioning_type ptscotch\n";

#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS 0
#endif

/* Counts the ghosts of all ranks: the block rows of other ranks that the matrix reads. Their values
   are exchanged in every sweep. */
static PetscErrorCode CountGhosts(Mat A, PetscInt *ghosts)
{
  Mat             offdiag;
  const PetscInt *columns;
  PetscInt        n, bs;

  PetscFunctionBeginUser;
  PetscCall(MatMPIBAIJGetSeqBAIJ(A, NULL, &offdiag, &columns));
  PetscCall(MatGetSize(offdiag, NULL, &n));
  PetscCall(MatGetBlockSize(A, &bs));
  *ghosts = n / bs;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, ghosts, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Creates the same matrix with the rows of each part on one rank. rows: the old numbers of the
   rows. With rows, VecScatterCreate() takes vectors to the new order. Inside a part the old order
   stays, since PCMCPI itself chooses the order of the rows of a color (-pc_mcpi_ordering). RCM is
   one of the orders from which PCMCPI chooses. */
static PetscErrorCode Partition(Mat A, Mat *parted, IS *rows)
{
  Mat             graph;
  MatPartitioning partitioning;
  IS              part, blocks;
  const PetscInt *index;
  PetscInt        n, bs;

  PetscFunctionBeginUser;
  PetscCall(MatGetBlockSize(A, &bs));
  /* The graph has one vertex for each block row, since A is BAIJ. */
  PetscCall(MatConvert(A, MATMPIADJ, MAT_INITIAL_MATRIX, &graph));
  PetscCall(MatPartitioningCreate(PetscObjectComm((PetscObject)A), &partitioning));
  PetscCall(MatPartitioningSetAdjacency(partitioning, graph));
  PetscCall(MatPartitioningSetFromOptions(partitioning));
  PetscCall(MatPartitioningApply(partitioning, &part));
  PetscCall(ISBuildTwoSided(part, NULL, &blocks));
  PetscCall(ISSort(blocks));
  PetscCall(ISGetLocalSize(blocks, &n));
  PetscCall(ISGetIndices(blocks, &index));
  PetscCall(ISCreateBlock(PetscObjectComm((PetscObject)A), bs, n, index, PETSC_COPY_VALUES, rows));
  PetscCall(ISRestoreIndices(blocks, &index));
  PetscCall(MatCreateSubMatrix(A, *rows, *rows, MAT_INITIAL_MATRIX, parted));
  PetscCall(ISDestroy(&blocks));
  PetscCall(ISDestroy(&part));
  PetscCall(MatPartitioningDestroy(&partitioning));
  PetscCall(MatDestroy(&graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat                A, B;
  Vec                x, b;
  IS                 rows;
  KSP                ksp;
  PetscViewer        viewer;
  PetscInt           iterations, before = 0, after = 0;
  PetscMPIInt        size;
  PetscReal          error;
  KSPConvergedReason reason;
  PetscBool          partition = PETSC_TRUE, given;
  char               file[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", file, sizeof(file), &given));
  PetscCheck(given, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "Give a file with -f");
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-partition", &partition, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetType(A, MATBAIJ));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(MatLoad(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  if (size > 1) PetscCall(CountGhosts(A, &before));
  if (size > 1 && partition) {
    PetscCall(Partition(A, &B, &rows));
    PetscCall(ISDestroy(&rows));
    PetscCall(MatDestroy(&A));
    A = B;
    PetscCall(CountGhosts(A, &after));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ghosts: %d as loaded, %d in parts\n", (int)before, (int)after));
  }
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecSet(x, 0.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecShift(x, -1.0));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s after %d iterations, largest error %.1e\n", reason > 0 ? "converged" : "diverged", (int)iterations, (double)error));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return reason > 0 ? 0 : 1;
}
