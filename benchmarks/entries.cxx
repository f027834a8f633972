static char help[] =
    "Large blocks of few entries, as those of points with many species: set-up, new values and "
    "solution\nof PCMCPI beside PCSOR and PCPBJACOBI. The points of an n x n x n grid read their "
    "six neighbors.\n"
    "  -n <5>    -bs <40,100>    -shares <0.5,0.2,0.14,0.11,0.05,0.01>: entries that are not zero\n"
    "  -repeat <5>    -json <file>    -commit <text>\n";

#include <petscksp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common.h"
#include "mesh.h"
#include "timing.h"

namespace {

using Json = nlohmann::json;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{5, 1, 5, {40, 100}, "grid", {}, {}} {}
  std::vector<PetscReal> shares = {0.5, 0.2, 0.14, 0.11, 0.05, 0.01};
};

struct Method {
  const char *name, *options;
};
constexpr Method kMethods[] = {{"mcpi", "-pc_type mcpi"},
                               {"entries", "-pc_type mcpi -pc_mcpi_form entries"},
                               {"prescaled", "-pc_type mcpi -pc_mcpi_form prescaled"},
                               {"sor", "-pc_type sor"},
                               {"pbjacobi", "-pc_type pbjacobi"}};

// A number between 0 and 1 that looks random
PetscReal hash(PetscInt row, PetscInt column)
{
  std::uint64_t bits = static_cast<std::uint64_t>(row) * 0x9e3779b97f4a7c15U +
                       static_cast<std::uint64_t>(column) * 0xc2b2ae3d27d4eb4fU;
  bits ^= bits >> 29U;
  bits *= 0xbf58476d1ce4e5b9U;
  bits ^= bits >> 32U;
  return static_cast<PetscReal>(bits >> 11U) / 0x1p53;
}

// Each unknown reads itself and a share of the others, at its point and at the neighbors of the
// point. Rows are diagonally dominant.
PetscErrorCode create_matrix(const bench::VertexGraph &graph, PetscInt bs, PetscReal share,
                             Mat *mat)
{
  const PetscInt size = graph.rows() * bs;
  std::vector<PetscInt> columns;
  std::vector<PetscScalar> values;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, size, size, 8 * bs, nullptr, mat));
  PetscCall(MatSetBlockSize(*mat, bs));
  PetscCall(MatSetOption(*mat, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt row = 0; row < size; ++row) {
    const PetscInt point = row / bs;
    PetscReal sum = 0.1;
    columns.clear();
    values.clear();
    const auto add = [&](PetscInt other) {
      for (PetscInt j = 0; j < bs; ++j) {
        const PetscInt column = other * bs + j;
        const bool same = row % bs == j;
        if (column == row || (!same && hash(row, column) >= share)) continue;
        const PetscReal value = (same ? 1.0 : 0.1) * (0.5 + hash(column, row));
        columns.push_back(column);
        values.push_back(-value);
        sum += value;
      }
    };
    add(point);
    for (PetscInt k = graph.ptr[point]; k < graph.ptr[point + 1]; ++k) add(graph.col[k]);
    columns.push_back(row);
    values.push_back(sum);
    PetscCall(MatSetValues(*mat, 1, &row, static_cast<PetscInt>(columns.size()), columns.data(),
                           values.data(), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*mat, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Fills one row of the record. New values have another ratio of diagonal to other entries.
PetscErrorCode measure(const Options &options, const Method &method, Mat mat, Json *row)
{
  KSP ksp;
  PetscOptions mine;
  Vec b, x;
  PetscInt iterations;
  KSPConvergedReason reason;
  double first = 0.0, again = 0.0, solve = 0.0;

  PetscFunctionBegin;
  PetscCall(bench::CreateSolver(
      mat, std::string("-ksp_type gmres -ksp_rtol 1e-8 ") + method.options, &mine, &ksp));
  PetscCall(MatCreateVecs(mat, &x, &b));
  PetscCall(VecSet(b, 1.0));
  const auto set_up = [&]() -> PetscErrorCode {
    PetscFunctionBegin;
    PetscCall(MatShift(mat, 1e-3));
    PetscCall(KSPSetOperators(ksp, mat, mat)); // KSPSetUp() does not look for new values
    PetscCall(KSPSetUp(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  };
  PetscCall(bench::TimeOnce(set_up, &first));
  PetscCall(bench::TimeMedian(0, options.repeat, set_up, &again));
  PetscCall(bench::TimeMedian(
      1, options.repeat, [&] { return KSPSolve(ksp, b, x); }, &solve));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "  %-9s set-up %8.2f ms, new values %8.2f ms, solution %8.2f ms, %d "
                        "iterations%s\n",
                        method.name, first, again, solve, (int)iterations,
                        reason > 0 ? "" : ", not converged"));
  row->update({{"method", method.name},
               {"options", method.options},
               {"ms_setup", first},
               {"ms_new_values", again},
               {"ms_solution", solve},
               {"iterations", iterations},
               {"converged", reason > 0}});
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  Options options;
  Json document;

  PetscFunctionBegin;
  PetscCall(bench::ReadCommonOptions(&options));
  PetscCall(bench::ReadNumbers("-shares", &options.shares));
  PetscCall(bench::StartDocument("entries", options, argc, argv, &document));
  const bench::VertexGraph graph = bench::MakeGraph(options.mesh, options.n);
  for (const PetscInt bs : options.bs)
    for (const PetscReal share : options.shares) {
      Mat mat;
      PetscCall(create_matrix(graph, bs, share, &mat));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d points of %d unknowns, one entry in %.0f\n",
                            (int)graph.rows(), (int)bs, (double)(1.0 / share)));
      for (const Method &method : kMethods) {
        Json row = {{"ranks", 1}, {"rows", graph.rows()}, {"bs", bs}, {"share", share}};
        PetscCall(measure(options, method, mat, &row));
        bench::Rows(&document)->push_back(row);
      }
      PetscCall(MatDestroy(&mat));
    }
  PetscCall(bench::WriteDocument(options, document));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  return bench::Main(argc, argv, help, run);
}
