static char help[] =
    "Stiff couplings inside a point: iterations and true residuals with each storage and form "
    "that\nPCMCPI may choose from, beside PCSOR. Diffusion on a grid of n x n points, and at each "
    "point a\npenalty k on a direction that is no axis.\n"
    "  -n <16>    -bs <3>    -stiffness <1,1e4,1e6,1e8,1e10>    -sweeps <4>    -json <file>\n"
    "  -commit <text>\n";

#include <petscksp.h>

#include <cmath>
#include <random>

#include "common.h"
#include "compat.h"

namespace {

using Json = nlohmann::json;

struct Options : bench::CommonOptions {
  Options() : CommonOptions{16, 4, 1, {3}, "", {}, {}} {}
  std::vector<PetscReal> stiffness = {1.0, 1e4, 1e6, 1e8, 1e10};
};

constexpr const char *kKrylov[] = {"gmres -ksp_pc_side right", "gmres", "bcgs", "fgmres"};
constexpr const char *kPreconditioners[] = {
    "sor",
    "mcpi",
    "mcpi -pc_mcpi_form prescaled -pc_mcpi_offdiag_precision int8",
    "mcpi -pc_mcpi_form factored -pc_mcpi_offdiag_precision int8",
    "mcpi -pc_mcpi_form prescaled -pc_mcpi_offdiag_precision fp16",
    "mcpi -pc_mcpi_form factored -pc_mcpi_offdiag_precision fp16",
    "mcpi -pc_mcpi_form prescaled -pc_mcpi_offdiag_precision fp32",
    "mcpi -pc_mcpi_form factored -pc_mcpi_offdiag_precision fp32",
    "mcpi -pc_mcpi_form prescaled -pc_mcpi_offdiag_precision fp64",
    "mcpi -pc_mcpi_form prescaled -pc_mcpi_offdiag_precision fp32 -pc_mcpi_vector_precision fp32",
};

PetscErrorCode add_couplings(const Options &options, Mat mat)
{
  const PetscInt n = options.n, bs = options.bs.front();
  std::vector<PetscScalar> block(static_cast<std::size_t>(bs * bs));

  PetscFunctionBegin;
  for (PetscInt point = 0; point < n * n; ++point)
    for (const PetscInt step : {-n, PetscInt{-1}, PetscInt{1}, n}) {
      const PetscInt other = point + step;
      const bool same_line = other / n == point / n;
      if (other < 0 || other >= n * n || (std::abs(step) == 1 && !same_line)) continue;
      for (PetscInt i = 0; i < bs * bs; ++i)
        block[static_cast<std::size_t>(i)] =
            i % (bs + 1) == 0 ? -1.0 : 0.03 * std::sin(static_cast<PetscReal>(point + 7 * i));
      PetscCall(MatSetValuesBlocked(mat, 1, &point, 1, &other, block.data(), ADD_VALUES));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode add_points(const Options &options, PetscReal stiffness, Mat mat)
{
  const PetscInt bs = options.bs.front();
  const auto size = static_cast<std::size_t>(bs);
  std::vector<PetscScalar> block(size * size);
  std::vector<PetscReal> normal(size);
  std::mt19937 random; // gives the same numbers everywhere

  PetscFunctionBegin;
  for (PetscInt point = 0; point < options.n * options.n; ++point) {
    PetscReal square = 0.0;
    for (PetscReal &component : normal) {
      component = static_cast<PetscReal>(random()) / 0x1p31 - 1.0;
      square += component * component;
    }
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j)
        block[i * size + j] = (i == j ? 4.5 : 0.0) + stiffness * normal[i] * normal[j] / square;
    PetscCall(MatSetValuesBlocked(mat, 1, &point, 1, &point, block.data(), ADD_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_matrix(const Options &options, PetscReal stiffness, Mat *mat)
{
  const PetscInt bs = options.bs.front(), size = options.n * options.n * bs;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqBAIJ(PETSC_COMM_SELF, bs, size, size, 5, nullptr, mat));
  PetscCall(add_couplings(options, *mat));
  PetscCall(add_points(options, stiffness, *mat));
  PetscCall(MatAssemblyBegin(*mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*mat, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode solve(const Options &options, const std::string &krylov,
                     const std::string &preconditioner, Mat mat, Json *row)
{
  KSP ksp;
  PetscOptions mine;
  Vec b, x, r;
  PetscInt iterations;
  KSPConvergedReason reason;
  PetscReal norm = 0.0, residual = 0.0;

  PetscFunctionBegin;
  const std::string sweeps = std::to_string(options.sweeps);
  PetscCall(bench::CreateSolver(mat,
                                "-ksp_rtol 1e-8 -ksp_max_it 1000 -ksp_type " + krylov +
                                    " -pc_sor_its " + sweeps + " -pc_mcpi_its " + sweeps +
                                    " -pc_type " + preconditioner,
                                &mine, &ksp));
  PetscCall(MatCreateVecs(mat, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  for (PetscInt i = 0; i < options.n * options.n * options.bs.front(); ++i)
    PetscCall(VecSetValue(b, i, std::sin(0.37 * static_cast<PetscReal>(i)), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatMult(mat, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-24s %-90s %4d iterations, true %.1e%s\n",
                        krylov.c_str(), preconditioner.c_str(), (int)iterations,
                        (double)(residual / norm), reason > 0 ? "" : ", not converged"));
  row->update({{"krylov", krylov},
               {"preconditioner", preconditioner},
               {"iterations", iterations},
               {"converged", reason > 0},
               {"true_residual", residual / norm}});
  for (Vec *vector : {&b, &x, &r}) PetscCall(VecDestroy(vector));
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
  PetscCall(bench::ReadNumbers("-stiffness", &options.stiffness));
  PetscCall(bench::StartDocument("stiffness", options, argc, argv, &document));
  for (const PetscReal stiffness : options.stiffness) {
    Mat mat;
    PetscCall(create_matrix(options, stiffness, &mat));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "stiffness %.0e\n", (double)stiffness));
    for (const char *krylov : kKrylov)
      for (const char *preconditioner : kPreconditioners) {
        Json row = {{"ranks", 1},
                    {"rows", options.n * options.n},
                    {"bs", options.bs.front()},
                    {"sweeps", options.sweeps},
                    {"stiffness", stiffness}};
        PetscCall(solve(options, krylov, preconditioner, mat, &row));
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
