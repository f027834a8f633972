#include "support/petsc.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace mcpi::test {

const char *name_of(Layout layout)
{
  constexpr const char *names[] = {"even", "uneven", "empty ranks", "all on the last rank"};
  return names[static_cast<int>(layout)];
}

std::vector<PetscInt> block_rows_of_ranks(Layout layout, Row block_rows, int ranks)
{
  std::vector<PetscInt> weight(static_cast<std::size_t>(ranks), 1), rows(weight.size(), 0);
  for (int r = 0; r < ranks; ++r) {
    if (layout == Layout::uneven) weight[r] = 1 + r * r;
    if (layout == Layout::empty_ranks) weight[r] = ranks > 1 && r % 2 == 0 ? 0 : 1;
    if (layout == Layout::all_on_last) weight[r] = r == ranks - 1;
  }
  const PetscInt total = std::accumulate(weight.begin(), weight.end(), PetscInt(0));
  PetscInt before = 0, given = 0;
  for (int r = 0; r < ranks; ++r) {
    before += weight[r];
    rows[r] = block_rows * before / total - given;
    given += rows[r];
  }
  return rows;
}

PetscErrorCode create_mat(MPI_Comm comm, const BlockMatrix &matrix, Layout layout, MatType type,
                          OwnedMat *mat)
{
  PetscMPIInt rank, size;
  std::vector<PetscInt> counts[4];

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  const std::vector<PetscInt> rows = block_rows_of_ranks(layout, matrix.rows(), size);
  const PetscInt begin = std::accumulate(rows.begin(), rows.begin() + rank, PetscInt(0)),
                 end = begin + rows[rank];
  for (PetscInt i = begin; i < end; ++i) {
    PetscInt count[4] = {0, 0, 0,
                         0}; // in our columns, in others', and the same in the upper triangle
    for (PetscInt k = matrix.ptr[i]; k < matrix.ptr[i + 1]; ++k) {
      const bool ours = matrix.col[k] >= begin && matrix.col[k] < end;
      ++count[ours ? 0 : 1];
      if (matrix.col[k] >= i) ++count[ours ? 2 : 3];
    }
    for (int t = 0; t < 4; ++t) counts[t].push_back(count[t]);
  }
  PetscCall(MatCreate(comm, mat->out()));
  PetscCall(MatSetSizes(*mat, rows[rank] * matrix.bs, rows[rank] * matrix.bs, matrix.size(),
                        matrix.size()));
  PetscCall(MatSetBlockSize(*mat, matrix.bs));
  PetscCall(MatSetType(*mat, type));
  PetscCall(MatXAIJSetPreallocation(*mat, matrix.bs, counts[0].data(), counts[1].data(),
                                    counts[2].data(), counts[3].data()));
  PetscCall(set_values(matrix, *mat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Zeros are left out of AIJ matrices.
PetscErrorCode set_values(const BlockMatrix &matrix, Mat mat)
{
  PetscInt begin, end;
  PetscBool upper, scalar;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)mat, &upper, MATSEQSBAIJ, MATMPISBAIJ, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)mat, &scalar, MATSEQAIJ, MATMPIAIJ,
                                      MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscCall(MatSetOption(mat, MAT_ROW_ORIENTED, PETSC_FALSE));
  if (scalar) PetscCall(MatSetOption(mat, MAT_IGNORE_ZERO_ENTRIES, PETSC_TRUE));
  if (upper) PetscCall(MatSetOption(mat, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  PetscCall(MatGetOwnershipRange(mat, &begin, &end));
  for (PetscInt i = begin / matrix.bs; i < end / matrix.bs; ++i)
    for (PetscInt k = matrix.ptr[i]; k < matrix.ptr[i + 1]; ++k) {
      const PetscInt column = matrix.col[k];
      PetscCall(MatSetValuesBlocked(
          mat, 1, &i, 1, &column, matrix.values.data() + k * matrix.bs * matrix.bs, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(mat, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_vec(Mat mat, const Vector &whole, OwnedVec *vec)
{
  PetscInt begin, end;
  PetscScalar *array;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(mat, nullptr, vec->out()));
  PetscCall(VecGetOwnershipRange(*vec, &begin, &end));
  PetscCall(VecGetArrayWrite(*vec, &array));
  std::copy(whole.begin() + begin, whole.begin() + end, array);
  PetscCall(VecRestoreArrayWrite(*vec, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode gather(Vec vec, Vector *whole)
{
  PetscInt size;
  PetscMPIInt ranks;
  const PetscInt *ranges;
  const PetscScalar *array;
  std::vector<int> counts, starts;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)vec), &ranks));
  PetscCall(VecGetSize(vec, &size));
  PetscCall(VecGetOwnershipRanges(vec, &ranges));
  for (int r = 0; r < ranks; ++r) {
    starts.push_back(static_cast<int>(ranges[r]));
    counts.push_back(static_cast<int>(ranges[r + 1] - ranges[r]));
  }
  whole->resize(static_cast<std::size_t>(size));
  PetscMPIInt rank;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)vec), &rank));
  PetscCall(VecGetArrayRead(vec, &array));
  PetscCallMPI(MPI_Allgatherv(array, counts[rank], MPI_DOUBLE, whole->data(), counts.data(),
                              starts.data(), MPI_DOUBLE, PetscObjectComm((PetscObject)vec)));
  PetscCall(VecRestoreArrayRead(vec, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode gather_colors(PC pc, std::vector<int> *color)
{
  ISColoring coloring;
  PetscInt local, colors;
  const ISColoringValue *values;
  MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  PetscMPIInt ranks;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &ranks));
  PetscCall(PCMCPIGetColoring(pc, &coloring));
  PetscCall(ISColoringGetColors(coloring, &local, &colors, &values));
  const std::vector<int> own(values, values + local);
  std::vector<int> counts(static_cast<std::size_t>(ranks)), starts(counts.size(), 0);
  int count = static_cast<int>(local);
  PetscCallMPI(MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, comm));
  for (int r = 1; r < ranks; ++r) starts[r] = starts[r - 1] + counts[r - 1];
  color->resize(static_cast<std::size_t>(starts.back() + counts.back()));
  PetscCallMPI(MPI_Allgatherv(own.data(), count, MPI_INT, color->data(), counts.data(),
                              starts.data(), MPI_INT, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::string backend_under_test()
{
  char backend[32] = "";
  (void)PetscOptionsGetString(nullptr, nullptr, "-test_backend", backend, sizeof(backend), nullptr);
  return backend;
}

bool takes_form(const std::string &form, const std::string &precision)
{
  return form != "entries" || (backend_under_test().empty() && precision == "fp64");
}

std::string chosen_options(const std::string &view)
{
  const std::string key = "chosen by itself:";
  const std::size_t begin = view.find(key);
  if (begin == std::string::npos) return "";
  const std::size_t first = begin + key.size();
  return view.substr(first, view.find('\n', first) - first);
}

PetscErrorCode insert_options(PetscOptions all, const std::string &options, Defaults defaults)
{
  const std::string backend = backend_under_test();
  std::vector<std::pair<const char *, const char *>> values;

  PetscFunctionBeginUser;
  if (!backend.empty()) values.emplace_back("backend", backend.c_str());
  if (defaults == Defaults::pinned)
    values.insert(values.end(), {{"schedule", "color"},
                                 {"its", "1"},
                                 {"offdiag_precision", "fp32"},
                                 {"gather_precision", "fp32"}});
  for (const std::string prefix : {"", "mg_levels_", "mg_coarse_", "sub_", "fieldsplit_"})
    for (const auto &[name, value] : values)
      PetscCall(PetscOptionsSetValue(all, ("-" + prefix + "pc_mcpi_" + name).c_str(), value));
  PetscCall(PetscOptionsInsertString(all, options.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_pc(Mat mat, const std::string &options, Preconditioner *pc, Defaults defaults)
{
  PetscFunctionBeginUser;
  pc->pc.reset();
  PetscCall(PetscOptionsCreate(pc->options.out()));
  PetscCall(insert_options(pc->options, options, defaults));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)mat), pc->pc.out()));
  PetscCall(PetscObjectSetOptions((PetscObject)(PC)pc->pc, pc->options));
  PetscCall(PCSetOperators(*pc, mat, mat));
  PetscCall(PCSetType(*pc, PCMCPI));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_options(PC pc, const std::string &options)
{
  PetscOptions before;
  OwnedOptions given;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectGetOptions((PetscObject)pc, &before));
  PetscCall(PetscOptionsCreate(given.out()));
  PetscCall(PetscOptionsInsertString(given, options.c_str()));
  PetscCall(PetscObjectSetOptions((PetscObject)pc, given));
  const PetscErrorCode error = PCSetFromOptions(pc);
  PetscCall(PetscObjectSetOptions((PetscObject)pc, before));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

namespace {

// x starts as NaN, so that numbers that are not written show.
PetscErrorCode apply_with(PC pc, PetscErrorCode (*operation)(PC, Vec, Vec), const Vector &b,
                          Vector *x)
{
  Mat pmat;
  OwnedVec in, out;

  PetscFunctionBeginUser;
  PetscCall(PCGetOperators(pc, nullptr, &pmat));
  PetscCall(create_vec(pmat, b, &in));
  PetscCall(create_vec(pmat, Vector(b.size(), std::numeric_limits<double>::quiet_NaN()), &out));
  PetscCall(operation(pc, in, out));
  PetscCall(gather(out, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode view(PC pc, std::string *text)
{
  PetscViewer viewer;
  char *memory = nullptr;
  std::size_t size = 0;
  std::FILE *file = open_memstream(&memory, &size);

  PetscFunctionBeginUser;
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, file, &viewer));
  PetscCall(PCView(pc, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  (void)std::fclose(file);
  unsigned long count = size;
  PetscCallMPI(MPI_Bcast(&count, 1, MPI_UNSIGNED_LONG, 0, PETSC_COMM_WORLD));
  text->assign(memory, world_rank() == 0 ? size : 0);
  std::free(memory);
  text->resize(count);
  PetscCallMPI(MPI_Bcast(text->data(), static_cast<int>(count), MPI_CHAR, 0, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode apply(PC pc, const Vector &b, Vector *x)
{
  return apply_with(pc, PCApply, b, x);
}

PetscErrorCode apply_transpose(PC pc, const Vector &b, Vector *x)
{
  return apply_with(pc, PCApplyTranspose, b, x);
}

PetscErrorCode apply_richardson(PC pc, const Vector &b, bool guess_zero, PetscInt max_it, Vector *x)
{
  Mat pmat;
  OwnedVec in, out, work;
  PetscInt its = -1;
  PCRichardsonConvergedReason reason = static_cast<PCRichardsonConvergedReason>(0);

  PetscFunctionBeginUser;
  PetscCall(PCGetOperators(pc, nullptr, &pmat));
  PetscCall(create_vec(pmat, b, &in));
  PetscCall(create_vec(
      pmat, guess_zero ? Vector(b.size(), std::numeric_limits<double>::quiet_NaN()) : *x, &out));
  PetscCall(VecDuplicate(in, work.out()));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApplyRichardson(pc, in, out, work, 0.0, 0.0, 1e9, max_it,
                              guess_zero ? PETSC_TRUE : PETSC_FALSE, &its, &reason));
  EXPECT_EQ(its, max_it);
  EXPECT_EQ(static_cast<int>(reason), static_cast<int>(PCRICHARDSON_CONVERGED_ITS));
  PetscCall(gather(out, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_ksp(Mat amat, Mat pmat, const std::string &options, OwnedSolver *solver,
                          Defaults defaults)
{
  PC pc;

  PetscFunctionBeginUser;
  solver->ksp.reset();
  PetscCall(PetscOptionsCreate(solver->options.out()));
  PetscCall(insert_options(solver->options, options, defaults));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)pmat), solver->ksp.out()));
  PetscCall(PetscObjectSetOptions((PetscObject)(KSP)solver->ksp, solver->options));
  PetscCall(KSPGetPC(*solver, &pc));
  PetscCall(PetscObjectSetOptions((PetscObject)pc, solver->options));
  PetscCall(KSPSetOperators(*solver, amat, pmat));
  PetscCall(PCSetType(pc, PCMCPI));
  PetscCall(KSPSetFromOptions(*solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode solve(KSP ksp, const Vector &b, Vector *x, KSPConvergedReason *reason, PetscInt *its)
{
  Mat amat;
  OwnedVec in, out;

  PetscFunctionBeginUser;
  PetscCall(KSPGetOperators(ksp, &amat, nullptr));
  PetscCall(create_vec(amat, b, &in));
  PetscCall(VecDuplicate(in, out.out()));
  PetscCall(KSPSolve(ksp, in, out));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  if (its) PetscCall(KSPGetIterationNumber(ksp, its));
  if (x) PetscCall(gather(out, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_interpolation(Mat mat, PetscInt bs, OwnedMat *interpolation)
{
  PetscInt fine, coarse, begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(mat, &fine, nullptr));
  PetscCall(MatGetOwnershipRange(mat, &begin, &end));
  coarse = (fine / bs + 3) / 4 * bs;
  PetscInt first = 0;
  PetscCallMPI(MPI_Exscan(&coarse, &first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (world_rank() == 0) first = 0;
  PetscCall(MatCreate(PETSC_COMM_WORLD, interpolation->out()));
  PetscCall(MatSetSizes(*interpolation, fine, coarse, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*interpolation, bs));
  PetscCall(MatSetType(*interpolation, MATAIJ));
  PetscCall(MatSetUp(*interpolation));
  for (PetscInt i = 0; i < fine; ++i)
    PetscCall(MatSetValue(*interpolation, begin + i, first + i / bs / 4 * bs + i % bs, 1.0,
                          INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*interpolation, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*interpolation, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::test
