static char help[] = "Krylov iterations against the number of ranks on a stretched mesh: PCMCPI "
                     "with ghosts exchanged after every color and after every "
                     "sweep, and "
                     "PCSOR,\nwhich is Jacobi across ranks. Slabs cut the short edges, the strong "
                     "couplings. -json adds a record to the file.\n"
                     "  -n <28>: vertices along an edge    -growth <1.3>: of the spacing from the "
                     "wall    -bs <4>    -sweeps <2>: of an application    "
                     "-json "
                     "<file>    -commit <text>\n";

#include <petscksp.h>

#include <cmath>
#include <string>
#include <vector>

#include "common.h"
#include "compat.h"
#include "mesh.h"
#include "petscmcpi.h"

namespace {

using Json = nlohmann::json;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{28, 2, 1, {4}, "tet", {}, {}} {}

  PetscReal growth = 1.3;
};

struct Method {
  const char *name, *options;
};
constexpr Method kMethods[] = {
    {"mcpi, exchange by color", "-pc_type mcpi -pc_mcpi_sweep forward"},
    {"mcpi, exchange by sweep",
     "-pc_type mcpi -pc_mcpi_sweep forward -pc_mcpi_halo_frequency sweep"},
    {"sor", "-pc_type sor -pc_sor_local_forward"}};

// Sets the values of convection and diffusion of bs coupled unknowns. Diffusion couples vertices by
// 1/length^2, and upwind convection by 1/length. Values depend on global rows only.
PetscErrorCode set_values(const Options &options, const bench::VertexGraph &graph, PetscInt bs,
                          Mat mat)
{
  PetscInt begin, end;
  std::vector<PetscReal> height(static_cast<std::size_t>(graph.n), 0.0);

  PetscFunctionBegin;
  for (std::size_t k = 1; k < height.size(); ++k)
    height[k] = height[k - 1] +
                std::pow(options.growth, static_cast<PetscReal>(k) -
                                             static_cast<PetscReal>(graph.n)); // 1 at the top
  const auto place = [&](PetscInt v, PetscInt d) {
    const PetscInt index = d == 0   ? v % graph.n
                           : d == 1 ? v / graph.n % graph.n
                                    : v / (graph.n * graph.n);
    return d < 2 ? static_cast<PetscReal>(index) : height[static_cast<std::size_t>(index)];
  };
  const PetscReal wind[] = {1.0, 0.5, 0.1};
  std::vector<PetscScalar> block(static_cast<std::size_t>(bs * bs)), sum(block.size());
  PetscCall(MatGetOwnershipRange(mat, &begin, &end));
  for (PetscInt row = begin / bs; row < end / bs; ++row) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (PetscInt k = graph.ptr[row]; k < graph.ptr[row + 1]; ++k) {
      const PetscInt column = graph.col[k];
      PetscReal length = 0.0, along = 0.0;
      for (PetscInt d = 0; d < 3; ++d) {
        const PetscReal step = place(column, d) - place(row, d);
        length += step * step;
        along -= wind[d] * step;
      }
      const PetscReal weight = 1.0 / length + std::max(along, 0.0) / std::sqrt(length);
      for (PetscInt i = 0; i < bs; ++i)
        for (PetscInt j = 0; j < bs; ++j) {
          const PetscReal coupling =
              i == j ? 1.0
                     : 0.3 * std::sin(static_cast<PetscReal>(3 * i + 7 * j + row % 11)) /
                           static_cast<PetscReal>(bs);
          block[static_cast<std::size_t>(i * bs + j)] = -weight * coupling;
          sum[static_cast<std::size_t>(i * bs + j)] += weight * coupling;
        }
      PetscCall(MatSetValuesBlocked(mat, 1, &row, 1, &column, block.data(), INSERT_VALUES));
    }
    const bool wall = row < graph.n * graph.n;
    for (PetscInt i = 0; i < bs; ++i)
      sum[static_cast<std::size_t>(i * bs + i)] += wall ? 1.0 / (height[1] * height[1]) : 0.01;
    PetscCall(MatSetValuesBlocked(mat, 1, &row, 1, &row, sum.data(), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(mat, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode solve(const Options &options, const Method &method, Mat mat, Vec b, Json *results)
{
  KSP ksp;
  Vec x;
  PetscInt iterations;
  KSPConvergedReason reason;
  PetscOptions mine;

  PetscFunctionBegin;
  const std::string sweeps = std::to_string(options.sweeps);
  PetscCall(bench::CreateSolver(
      mat,
      std::string(method.options) +
          " -ksp_type fgmres -ksp_gmres_restart 100 -ksp_rtol 1e-8 -ksp_max_it 2000 -pc_mcpi_its " +
          sweeps + " -pc_sor_lits " + sweeps,
      &mine, &ksp));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %-24s %4d iterations%s\n", method.name,
                        (int)iterations, reason > 0 ? "" : ", not converged"));
  results->push_back({{"method", method.name},
                      {"options", method.options},
                      {"iterations", iterations},
                      {"converged", reason > 0}});
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscOptionsDestroy(&mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run(int argc, char **argv)
{
  Options options;
  Mat mat;
  Vec b;
  PetscInt begin, end;
  PetscMPIInt ranks;
  Json document;

  PetscFunctionBegin;
  PetscCall(bench::ReadCommonOptions(&options));
  PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-growth", &options.growth, nullptr));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  const bench::VertexGraph graph = bench::MakeGraph(options.mesh, options.n);
  const PetscInt bs = options.bs.front();
  PetscCall(bench::CreateMatrix(PETSC_COMM_WORLD, graph, bs, MATBAIJ, &mat));
  PetscCall(set_values(options, graph, bs, mat));
  PetscCall(MatCreateVecs(mat, nullptr, &b));
  PetscCall(VecGetOwnershipRange(b, &begin, &end));
  for (PetscInt i = begin; i < end; ++i)
    PetscCall(VecSetValue(b, i, std::sin(0.37 * static_cast<PetscReal>(i)), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%d ranks, %d block rows, bs %d, %d sweeps, edges 1 to %.0f\n", ranks,
                        (int)graph.rows(), (int)bs, (int)options.sweeps,
                        (double)std::pow(options.growth, static_cast<PetscReal>(graph.n - 1))));
  PetscCall(bench::StartDocument("convergence", options, argc, argv, &document));
  for (const Method &method : kMethods)
    PetscCall(solve(options, method, mat, b, bench::Rows(&document)));
  bench::AddToRows(
      {{"ranks", ranks}, {"rows", graph.rows()}, {"bs", bs}, {"sweeps", options.sweeps}},
      &document);
  PetscCall(bench::WriteDocument(options, document, true));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

int main(int argc, char **argv)
{
  return bench::Main(argc, argv, help, run);
}
