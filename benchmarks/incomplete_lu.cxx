static char help[] =
    "Block ILU(0) in the order of the matrix on a CUDA device, as in the table of L. Luo et al., "
    "A fine-grained block ILU scheme (2015): PCMCPI with the schedule level beside cuSPARSE's "
    "bsrilu02 and bsrsv2, for cubes of grid points.\n"
    "  -sizes <15,20,...,55>: points along an edge    -mesh <grid>    -bs <6>    -precision "
    "<fp64,fp32,int8>    -repeat <20>    -json <file>    -commit <text>\n";

#include <cusparse.h>
#include <petscdevice_cuda.h>
#include <petscksp.h>

#include <algorithm>
#include <string>
#include <vector>

#include "application.h"
#include "common.h"
#include "mesh.h"
#include "petscmcpi.h"
#include "timing.h"

namespace {

using Json = nlohmann::json;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{0, 1, 20, {6}, "grid", {}, {}} {}

  std::vector<PetscInt> sizes = {15, 20, 25, 30, 35, 40, 45, 50, 55};
  std::vector<std::string> precisions = {"fp64", "fp32", "int8"};
};

struct Times {
  double factor = 0.0, solve = 0.0; // milliseconds
};

#define CHECK_CUSPARSE(call)                                                                       \
  do {                                                                                             \
    const cusparseStatus_t status_ = (call);                                                       \
    PetscCheck(status_ == CUSPARSE_STATUS_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_GPU, "%s: %s",       \
               #call, cusparseGetErrorString(status_));                                            \
  } while (0)

// A device copy of an array
template <class T> PetscErrorCode Upload(const T *from, std::size_t size, T **to)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc(reinterpret_cast<void **>(to), size * sizeof(T)));
  PetscCallCUDA(cudaMemcpy(*to, from, size * sizeof(T), cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// cuSPARSE's block ILU(0) and its two triangular solves
class Cusparse {
public:
  PetscErrorCode create(Mat baij)
  {
    PetscInt rows;
    const PetscInt *i, *j;
    PetscBool done;
    PetscScalar *values;

    PetscFunctionBegin;
    PetscCall(MatGetBlockSize(baij, &bs_));
    PetscCall(MatGetRowIJ(baij, 0, PETSC_FALSE, PETSC_TRUE, &rows, &i, &j, &done));
    PetscCall(MatSeqBAIJGetArray(baij, &values));
    rows_ = rows;
    blocks_ = i[rows];
    size_ = static_cast<std::size_t>(blocks_) * bs_ * bs_;
    PetscCall(Upload(i, static_cast<std::size_t>(rows) + 1, &ptr_));
    PetscCall(Upload(j, static_cast<std::size_t>(blocks_), &col_));
    PetscCall(Upload(values, size_, &values_));
    PetscCall(Upload(values, size_, &factors_));
    PetscCallCUDA(cudaMalloc(reinterpret_cast<void **>(&between_),
                             sizeof(double) * static_cast<std::size_t>(rows_) * bs_));
    PetscCall(MatSeqBAIJRestoreArray(baij, &values));
    PetscCall(MatRestoreRowIJ(baij, 0, PETSC_FALSE, PETSC_TRUE, &rows, &i, &j, &done));
    CHECK_CUSPARSE(cusparseCreate(&handle_));
    for (int which = 0; which < 3; ++which) CHECK_CUSPARSE(cusparseCreateMatDescr(&matrix_[which]));
    CHECK_CUSPARSE(cusparseSetMatFillMode(matrix_[1], CUSPARSE_FILL_MODE_LOWER));
    CHECK_CUSPARSE(cusparseSetMatDiagType(matrix_[1], CUSPARSE_DIAG_TYPE_UNIT));
    CHECK_CUSPARSE(cusparseSetMatFillMode(matrix_[2], CUSPARSE_FILL_MODE_UPPER));
    CHECK_CUSPARSE(cusparseSetMatDiagType(matrix_[2], CUSPARSE_DIAG_TYPE_NON_UNIT));
    PetscCall(analyze());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode destroy()
  {
    PetscFunctionBegin;
    CHECK_CUSPARSE(cusparseDestroyBsrilu02Info(factor_));
    for (int which = 1; which < 3; ++which)
      CHECK_CUSPARSE(cusparseDestroyBsrsv2Info(solve_[which]));
    for (cusparseMatDescr_t matrix : matrix_) CHECK_CUSPARSE(cusparseDestroyMatDescr(matrix));
    CHECK_CUSPARSE(cusparseDestroy(handle_));
    for (void *array :
         {static_cast<void *>(ptr_), static_cast<void *>(col_), static_cast<void *>(values_),
          static_cast<void *>(factors_), static_cast<void *>(between_), buffer_})
      PetscCallCUDA(cudaFree(array));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode factor()
  {
    PetscFunctionBegin;
    PetscCallCUDA(
        cudaMemcpyAsync(factors_, values_, size_ * sizeof(double), cudaMemcpyDeviceToDevice));
    CHECK_CUSPARSE(cusparseDbsrilu02(handle_, kDirection, rows_, blocks_, matrix_[0], factors_,
                                     ptr_, col_, bs_, factor_, kPolicy, buffer_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode solve(const double *b, double *x)
  {
    const double one = 1.0;

    PetscFunctionBegin;
    for (int which = 1; which < 3; ++which)
      CHECK_CUSPARSE(cusparseDbsrsv2_solve(handle_, kDirection, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                           rows_, blocks_, &one, matrix_[which], factors_, ptr_,
                                           col_, bs_, solve_[which], which == 1 ? b : between_,
                                           which == 1 ? between_ : x, kPolicy, buffer_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  static constexpr cusparseDirection_t kDirection = CUSPARSE_DIRECTION_COLUMN;
  static constexpr cusparseSolvePolicy_t kPolicy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;

  PetscErrorCode analyze()
  {
    int most = 0, bytes = 0;

    PetscFunctionBegin;
    CHECK_CUSPARSE(cusparseCreateBsrilu02Info(&factor_));
    CHECK_CUSPARSE(cusparseDbsrilu02_bufferSize(handle_, kDirection, rows_, blocks_, matrix_[0],
                                                factors_, ptr_, col_, bs_, factor_, &most));
    for (int which = 1; which < 3; ++which) {
      CHECK_CUSPARSE(cusparseCreateBsrsv2Info(&solve_[which]));
      CHECK_CUSPARSE(cusparseDbsrsv2_bufferSize(
          handle_, kDirection, CUSPARSE_OPERATION_NON_TRANSPOSE, rows_, blocks_, matrix_[which],
          factors_, ptr_, col_, bs_, solve_[which], &bytes));
      most = std::max(most, bytes);
    }
    PetscCallCUDA(cudaMalloc(&buffer_, static_cast<std::size_t>(most)));
    CHECK_CUSPARSE(cusparseDbsrilu02_analysis(handle_, kDirection, rows_, blocks_, matrix_[0],
                                              factors_, ptr_, col_, bs_, factor_, kPolicy,
                                              buffer_));
    for (int which = 1; which < 3; ++which)
      CHECK_CUSPARSE(cusparseDbsrsv2_analysis(handle_, kDirection, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                              rows_, blocks_, matrix_[which], factors_, ptr_, col_,
                                              bs_, solve_[which], kPolicy, buffer_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  cusparseHandle_t handle_ = nullptr;
  cusparseMatDescr_t matrix_[3] = {}; // all, lower triangle, upper triangle
  bsrilu02Info_t factor_ = nullptr;
  bsrsv2Info_t solve_[3] = {};
  PetscInt bs_ = 0;
  int rows_ = 0, blocks_ = 0;
  std::size_t size_ = 0;
  int *ptr_ = nullptr, *col_ = nullptr;
  double *values_ = nullptr, *factors_ = nullptr, *between_ = nullptr;
  void *buffer_ = nullptr;
};

PetscErrorCode time_cusparse(Mat baij, PetscInt repeat, Vec b, Vec x, Times *times)
{
  Cusparse other;
  const PetscScalar *from;
  PetscScalar *to;

  PetscFunctionBegin;
  PetscCall(other.create(baij));
  PetscCall(VecCUDAGetArrayRead(b, &from));
  PetscCall(VecCUDAGetArray(x, &to));
  PetscCall(bench::TimeMedian(
      2, repeat, [&] { return other.factor(); }, &times->factor));
  PetscCall(bench::TimeMedian(
      2, repeat, [&] { return other.solve(from, to); }, &times->solve));
  PetscCall(VecCUDARestoreArray(x, &to));
  PetscCall(VecCUDARestoreArrayRead(b, &from));
  PetscCall(other.destroy());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_mcpi(Mat mat, const bench::Precision &precision, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_SELF, pc));
  PetscCall(PCSetType(*pc, PCMCPI));
  PetscCall(PCSetOperators(*pc, mat, mat));
  PetscCall(PCMCPISetBackend(*pc, PC_MCPI_BACKEND_CUDA));
  PetscCall(PCMCPISetMethod(*pc, PC_MCPI_METHOD_ILU0));
  PetscCall(PCMCPISetSchedule(*pc, PC_MCPI_SCHEDULE_LEVEL)); // in natural order by default
  PetscCall(PCMCPISetOffdiagPrecision(*pc, precision.type));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// factor: set-ups with new values, which also store the factors
PetscErrorCode time_mcpi(PC pc, Mat mat, PetscInt repeat, Vec b, Vec x, Times *times)
{
  PetscFunctionBegin;
  PetscCall(bench::TimeMedian(
      2, repeat, [&] { return bench::SetUpWithNewValues(pc, mat); }, &times->factor));
  PetscCall(bench::TimeMedian(
      2, repeat, [&] { return PCApply(pc, b, x); }, &times->solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_size(const Options &options, PetscInt n, PetscInt bs, Json *rows)
{
  const bench::VertexGraph graph = bench::MakeGraph(options.mesh, n);
  Mat baij, aij;
  Vec b, x, y;
  Times theirs;

  PetscFunctionBegin;
  PetscCall(bench::CreateMatrix(PETSC_COMM_SELF, graph, bs, MATBAIJ, &baij));
  PetscCall(bench::CreateMatrix(PETSC_COMM_SELF, graph, bs, MATAIJCUSPARSE, &aij));
  PetscCall(bench::CreateDeviceVecs(baij, &b, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(time_cusparse(baij, options.repeat, b, y, &theirs));
  for (const bench::Precision &precision : bench::ChosenPrecisions(options.precisions)) {
    PC pc;
    ISColoring coloring;
    PetscInt levels;
    Times ours;
    double far = 0.0;
    PetscCall(create_mcpi(aij, precision, &pc));
    PetscCall(time_mcpi(pc, aij, options.repeat, b, x, &ours));
    PetscCall(PCMCPIGetColoring(pc, &coloring));
    PetscCall(ISColoringGetColors(coloring, nullptr, &levels, nullptr));
    PetscCall(bench::RelativeDifference(x, y, &far));
    PetscCall(PCDestroy(&pc));
    rows->push_back({{"mesh", options.mesh},
                     {"points", graph.rows()},
                     {"bs", bs},
                     {"levels", levels},
                     {"precision", precision.name},
                     {"ms_factor", ours.factor},
                     {"ms_solve", ours.solve},
                     {"ms_factor_cusparse", theirs.factor},
                     {"ms_solve_cusparse", theirs.solve},
                     {"factor_ratio", theirs.factor / ours.factor},
                     {"solve_ratio", theirs.solve / ours.solve},
                     {"difference", far}});
    PetscCall(
        PetscPrintf(PETSC_COMM_SELF,
                    "%d^3 points  bs %d  %d levels  %s  set-up %.3f ms (bsrilu02 %.3f)  solve "
                    "%.3f ms (bsrsv2 %.3f)  difference %.1e\n",
                    (int)n, (int)bs, (int)levels, precision.name, ours.factor, theirs.factor,
                    ours.solve, theirs.solve, far));
  }
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&aij));
  PetscCall(MatDestroy(&baij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  constexpr PetscInt kMostSizes = 64;
  Options options;
  PetscInt sizes[kMostSizes], count = kMostSizes;
  PetscBool given;
  cudaDeviceProp device;
  Json document;

  PetscFunctionBegin;
  PetscCall(bench::ReadCommonOptions(&options));
  PetscCall(bench::ReadList("-precision", &options.precisions));
  PetscCall(bench::CheckNames(options.precisions, {}));
  PetscCall(PetscOptionsGetIntArray(nullptr, nullptr, "-sizes", sizes, &count, &given));
  if (given) options.sizes.assign(sizes, sizes + count);
  PetscCallCUDA(cudaGetDeviceProperties(&device, 0));
  PetscCall(bench::StartDocument("incomplete_lu", options, argc, argv, &document));
  document["gpu"] = device.name;
  for (const PetscInt bs : options.bs)
    for (const PetscInt n : options.sizes)
      PetscCall(run_size(options, n, bs, bench::Rows(&document)));
  PetscCall(bench::WriteDocument(options, document));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  return bench::Main(argc, argv, help, run);
}
