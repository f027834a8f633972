static char help[] = "Time per sweep of PCMCPI beside Kokkos Kernels' Gauss-Seidel for block "
                     "matrices (forward sweeps), which divides by the entries of\n"
                     "the diagonal instead of solving with its blocks, and what both leave of the "
                     "residual. One rank.\n"
                     "  -mesh <mix,tet,grid>    -n <60>: vertices along an edge    -bs <4,5>    "
                     "-sweeps <15>    -repeat <5>    -json <file>    -commit "
                     "<text>\n";

#include <petscksp.h>

#include <KokkosSparse_gauss_seidel.hpp>
#include <Kokkos_Core.hpp>

#include <functional>
#include <string>
#include <vector>

#include "common.h"
#include "compat.h"
#include "mesh.h"
#include "petscmcpi.h"
#include "timing.h"

namespace {

using Json = nlohmann::json;
using Space = Kokkos::DefaultExecutionSpace;

// The data of Kokkos Kernels: a copy of the matrix, in which the rows of a block row follow each
// other, and vectors of one column
template <class T> class Theirs {
public:
  PetscErrorCode create(Mat mat, PetscInt bs)
  {
    PetscInt rows;
    const PetscInt *ptr, *col;
    PetscScalar *values;
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatGetRowIJ(mat, 0, PETSC_FALSE, PETSC_TRUE, &rows, &ptr, &col, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "BAIJ matrices only");
    PetscCall(MatSeqBAIJGetArray(mat, &values));
    rows_ = rows;
    bs_ = bs;
    ptr_ = Kokkos::View<PetscInt *, Space>("ptr", static_cast<std::size_t>(rows) + 1);
    col_ = Kokkos::View<PetscInt *, Space>("col", static_cast<std::size_t>(ptr[rows]));
    values_ = Kokkos::View<T *, Space>("values", static_cast<std::size_t>(ptr[rows]) *
                                                     static_cast<std::size_t>(bs * bs));
    x_ = Columns("x", static_cast<std::size_t>(rows * bs), 1);
    b_ = Columns("b", static_cast<std::size_t>(rows * bs), 1);
    for (PetscInt row = 0; row <= rows; ++row) ptr_(row) = ptr[row];
    for (PetscInt row = 0; row < rows; ++row)
      for (PetscInt k = ptr[row], count = ptr[row + 1] - ptr[row]; k < ptr[row + 1]; ++k) {
        col_(k) = col[k];
        for (PetscInt i = 0; i < bs; ++i)
          for (PetscInt j = 0; j < bs; ++j)
            values_(ptr[row] * bs * bs + (i * count + k - ptr[row]) * bs + j) =
                static_cast<T>(PetscRealPart(values[(k * bs + j) * bs + i]));
      }
    PetscCall(MatSeqBAIJRestoreArray(mat, &values));
    PetscCall(MatRestoreRowIJ(mat, 0, PETSC_FALSE, PETSC_TRUE, &rows, &ptr, &col, &done));
    handle_.create_gs_handle(KokkosSparse::GS_DEFAULT);
    KokkosSparse::Experimental::block_gauss_seidel_symbolic(&handle_, rows_, rows_, bs_, ptr_, col_,
                                                            true);
    KokkosSparse::Experimental::block_gauss_seidel_numeric(&handle_, rows_, rows_, bs_, ptr_, col_,
                                                           values_, true);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode apply(PetscInt its, Vec b, Vec x)
  {
    const PetscScalar *from;
    PetscScalar *to;
    const PetscInt size = rows_ * bs_;

    PetscFunctionBegin;
    PetscCall(VecGetArrayRead(b, &from));
    for (PetscInt k = 0; k < size; ++k) b_(k, 0) = static_cast<T>(PetscRealPart(from[k]));
    PetscCall(VecRestoreArrayRead(b, &from));
    KokkosSparse::Experimental::forward_sweep_block_gauss_seidel_apply(
        &handle_, rows_, rows_, bs_, ptr_, col_, values_, x_, b_, true, true, T(1),
        static_cast<int>(its));
    PetscCall(VecGetArray(x, &to));
    for (PetscInt k = 0; k < size; ++k) to[k] = static_cast<PetscScalar>(x_(k, 0));
    PetscCall(VecRestoreArray(x, &to));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  using Columns = Kokkos::View<T **, Kokkos::LayoutLeft, Space>;
  using Handle =
      KokkosKernels::Experimental::KokkosKernelsHandle<PetscInt, PetscInt, T, Space,
                                                       Space::memory_space, Space::memory_space>;

  PetscInt rows_ = 0, bs_ = 0;
  Kokkos::View<PetscInt *, Space> ptr_, col_;
  Kokkos::View<T *, Space> values_;
  Columns x_, b_;
  Handle handle_;
};

struct Method {
  std::string name;
  std::function<PetscErrorCode(PetscInt its, Vec b, Vec x)> apply;
  std::vector<double> times = {};
  PetscReal factor = 0; // by which all sweeps together reduce the residual
};

PetscErrorCode compare(Mat mat, PetscInt bs, const bench::CommonOptions &options,
                       std::vector<Method> &methods, Json *results)
{
  Vec b, x, r;
  PetscReal all;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(mat, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSetRandom(b, nullptr));
  PetscCall(VecNorm(b, NORM_2, &all));
  for (PetscInt round = -1; round < options.repeat; ++round) // the first one warms up
    for (Method &method : methods) {
      double one = 0.0, many = 0.0;
      PetscCall(bench::TimeOnce([&]() -> PetscErrorCode { return method.apply(1, b, x); }, &one));
      PetscCall(bench::TimeOnce(
          [&]() -> PetscErrorCode { return method.apply(options.sweeps, b, x); }, &many));
      if (round >= 0)
        method.times.push_back((many - one) / static_cast<double>(options.sweeps - 1));
      PetscCall(MatMult(mat, x, r));
      PetscCall(VecAYPX(r, -1.0, b));
      PetscCall(VecNorm(r, NORM_2, &method.factor));
    }
  for (const Method &method : methods) {
    const double ms = bench::Median(method.times);
    PetscCall(PetscPrintf(
        PETSC_COMM_WORLD, "bs %2d  %-24s  %9.3f ms a sweep, residual after %d sweeps %.1e\n",
        (int)bs, method.name.c_str(), ms, (int)options.sweeps, (double)(method.factor / all)));
    results->push_back({{"bs", bs},
                        {"method", method.name},
                        {"ms_per_sweep", ms},
                        {"sweeps", options.sweeps},
                        {"residual", method.factor / all}});
  }
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_block_size(const bench::VertexGraph &graph, PetscInt bs,
                              const bench::CommonOptions &options, Json *results)
{
  Mat mat;
  PC ours[2];
  Theirs<double> in_double;
  Theirs<float> in_float;
  std::vector<Method> methods;

  PetscFunctionBegin;
  PetscCall(bench::CreateMatrix(PETSC_COMM_WORLD, graph, bs, MATBAIJ, &mat));
  PetscCall(in_double.create(mat, bs));
  PetscCall(in_float.create(mat, bs));
  methods.push_back({"Kokkos Kernels, fp64",
                     [&](PetscInt its, Vec b, Vec x) { return in_double.apply(its, b, x); }});
  methods.push_back({"Kokkos Kernels, fp32",
                     [&](PetscInt its, Vec b, Vec x) { return in_float.apply(its, b, x); }});
  for (const PCMCPIPrecision precision : {PC_MCPI_PRECISION_FP64, PC_MCPI_PRECISION_FP32}) {
    const bool wide = precision == PC_MCPI_PRECISION_FP64;
    PC &pc = ours[wide ? 0 : 1];
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCMCPI));
    PetscCall(PCSetOperators(pc, mat, mat));
    PetscCall(bench::UseMeasuredSweeps(pc));
    PetscCall(bench::SetBlocks(pc, precision));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCSetUp(pc));
    methods.push_back(
        {wide ? "mcpi, fp64" : "mcpi, fp32", [&pc](PetscInt its, Vec b, Vec x) -> PetscErrorCode {
           PetscFunctionBegin;
           PetscCall(PCMCPISetIts(pc, its));
           PetscCall(PCApply(pc, b, x));
           PetscFunctionReturn(PETSC_SUCCESS);
         }});
  }
  PetscCall(compare(mat, bs, options, methods, results));
  for (PC &pc : ours) PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  bench::CommonOptions options{60, 15, 5, {4, 5}, "mix", {}, {}};
  PetscMPIInt size;
  Json document;

  PetscFunctionBegin;
  PetscCall(bench::ReadCommonOptions(&options));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG, "One rank, please");
  PetscCall(bench::StartDocument("kokkos_kernels", options, argc, argv, &document));
  const bench::VertexGraph graph = bench::MakeGraph(options.mesh, options.n);
  for (const PetscInt bs : options.bs)
    PetscCall(run_block_size(graph, bs, options, bench::Rows(&document)));
  bench::AddToRows({{"mesh", options.mesh},
                    {"rows", graph.rows()},
                    {"blocks", graph.edges()},
                    {"kokkos", KOKKOS_VERSION},
                    {"space", Space::name()},
                    {"threads", Space::impl_thread_pool_size()}},
                   &document);
  PetscCall(bench::WriteDocument(options, document));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  Kokkos::initialize();
  const int error = bench::Main(argc, argv, help, run);
  Kokkos::finalize();
  return error;
}
