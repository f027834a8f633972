// This file implements the numeric set-up of the smoother.
#include "pc/smoother.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "petsc/collective.h"
#include "petsc/compat.h"
#include "petsc/prefix.h"
#include "petsc/stream.h"
#include "setup/amplification.h"

namespace mcpi {

// Returns how many powers of two may lie between the largest entry of D^{-1}b that scale_for()
// expects and the largest entry that D^{-1}b has. In the factored form also counts how far b and
// D^{-1}b lie from 1, since scale_for() chooses their middle. alpha multiplies sums.
int Smoother::spread() const
{
  constexpr int kMiddle = 36; // exponent of this middle, with room for the sums of a block
  const auto of = [](const std::vector<double> &factors) {
    const auto [least, most] = std::minmax_element(factors.begin(), factors.end());
    return std::ilogb(*most) - std::ilogb(*least);
  };
  int spread = std::max({inverse_spread_, of(scales().right), std::ilogb(scales().alpha)});
  if (made_for_.form == PC_MCPI_FORM_FACTORED)
    spread = std::max(
        {spread, inverse_spread_ + of(scales().left), std::abs(inverse_exponent_) / 2 + kMiddle});
  return spread;
}

// Does collective work with the values in host memory, and gives PETSc's arrays back after an error
// of the work, too.
PetscErrorCode
Smoother::with_host_values(const MatrixPortions &portions,
                           const std::function<PetscErrorCode(MatrixValues &)> &work) const
{
  const std::unique_ptr<MatrixValues> values = make_matrix_values(portions, graph_, {});

  PetscFunctionBegin;
  PetscCall(open_values(portions, nullptr, *values));
  const PetscErrorCode failed = work(*values);
  PetscCall(values->close());
  PetscCall(failed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Smoother::find_empty(const MatrixPortions &portions)
{
  PetscFunctionBegin;
  PetscCall(with_host_values(
      portions, [&](MatrixValues &values) { return EmptyUnknownsFind(graph_, values, &empty_); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Makes the numeric set-up. Empty unknowns are looked for if the last set-up had some, or if a
// diagonal block is singular. The set-up is made again if the diagonal blocks turn out to need
// other precisions than those of the set-up before. The choice depends on the present values alone.
PetscErrorCode Smoother::numeric_in_range(const Settings &settings, const MatrixPortions &portions)
{
  bool searched = empty_.count > 0;

  PetscFunctionBegin;
  if (searched) PetscCall(find_empty(portions));
  for (bool stored = false;;) {
    const Precisions wanted = ChoosePrecisions(settings, wanted_, found_);
    bool fits = backend_ && wanted == made_for_;
    if (!fits) PetscCall(change_vectors(wanted, false, &fits));
    if (fits && stored) break;
    if (!fits) {
      drop_backend();
      made_for_ = wanted;
      if (!halo_) PetscCall(create_halo(settings));
      PetscCall(create_backend(settings));
    }
    PetscCall(numeric(settings, portions));
    if (failure_.defect == Defect::singular && !searched) {
      searched = true;
      PetscCall(find_empty(portions));
      if (empty_.count > 0) {
        failure_ = Failure();
        continue;
      }
    }
    if (failure_.defect != Defect::none) break;
    stored = true;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Makes the numeric set-up. ILU(0) breaks down on some matrices on which block Gauss-Seidel does
// not. If a trial has chosen ILU(0), Gauss-Seidel takes its place then.
PetscErrorCode Smoother::set_values(const Settings &settings, const MatrixPortions &portions)
{
  const auto in_range = [this] { return double_vectors() || UnitsFit(found_); };

  PetscFunctionBegin;
  PetscCall(numeric_in_range(settings, portions));
  if ((failure_.defect != Defect::none || !in_range()) && settings.method == PC_MCPI_METHOD_AUTO &&
      trials_.factors()) {
    trials_.set_factors(false);
    trials_.forget();
    failure_ = Failure();
    PetscCall(numeric_in_range(settings, portions));
  }
  PetscCheck(in_range() || failure_.defect != Defect::none, graph_.comm, PETSC_ERR_ARG_OUTOFRANGE,
             "PCMCPI: the units of the equations, or diagonal and other blocks, differ by a factor "
             "of about 2^%d, more than vectors in single precision hold. Use "
             "-%spc_mcpi_vector_precision auto, or scale the equations",
             found_.units, current_prefix());
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Opens the values on all ranks, or on none. open() may fail on one rank only: a device may have no
// memory for PETSc's own copy of the values.
PetscErrorCode Smoother::open_values(const MatrixPortions &portions, void *stream,
                                     MatrixValues &values) const
{
  PetscFunctionBegin;
  const PetscErrorCode opened = values.open(portions, threads_, stream);
  values.set_empty(empty_.data());
  PetscMPIInt closed = opened != PETSC_SUCCESS;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &closed, 1, MPI_INT, MPI_MAX, graph_.comm));
  PetscCall(opened);
  PetscCheck(!closed, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "PCMCPI: another rank cannot read the values of its matrix");
  PetscFunctionReturn(PETSC_SUCCESS);
}

void Smoother::drop_method()
{
  const DeviceGuard guard(choice_.device);
  method_.reset();
  exchange_.reset();
  ghost_rows_ = BuiltGhostRows();
}

// Makes the method, and finds what ranks exchange, once for each nonzero pattern.
PetscErrorCode Smoother::plan_factorization(PCMCPIMethod method)
{
  const bool fill = changes_offdiagonal(method);

  PetscFunctionBegin;
  if (method_ && ghost_rows_.fill == fill) PetscFunctionReturn(PETSC_SUCCESS);
  drop_method();
  PetscCall(GhostRowsBuild(graph_.comm, plan(), built_.ghost_owner,
                           {graph_.row_start, graph_.ghosts, built_.ghost_place}, fill,
                           &ghost_rows_));
  if (exchanges_)
    PetscCall(CreateBlockExchange(graph_.comm, ghost_rows_.parts, Events().halo, &exchange_));
  PetscCall(RunTogether(graph_.comm, [&] {
    method_ = MethodCreate(choice_.type, method, plan(), ghost_rows_.rows);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Lets the method factor the matrix. The CUDA backend's method reads values on a device in place.
PetscErrorCode Smoother::factor(PCMCPIMethod method, const MatrixPortions &portions, void *stream)
{
  std::unique_ptr<MatrixValues> on_host;

  PetscFunctionBegin;
  PetscCall(plan_factorization(method));
  if (!on_cuda()) on_host = make_matrix_values(portions, graph_, {});
  MatrixValues &values = on_cuda() ? *values_ : *on_host;
  PetscCall(open_values(portions, stream, values));
  const PetscErrorCode failed = RunTogether(graph_.comm, [&] { method_->read(values); });
  PetscCall(values.close());
  PetscCall(failed);
  PetscCall(static_cast<PetscErrorCode>(method_->factor(exchange_.get())));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Smoother::numeric(const Settings &settings, const MatrixPortions &portions)
{
  // The factors take much memory. They are freed after an error, too.
  struct Release {
    const std::unique_ptr<Method> &method;
    ~Release()
    {
      if (method) method->release();
    }
  } const release{method_};
  const bool factors = method(settings) != PC_MCPI_METHOD_POINT;
  BlockRows *blocks = nullptr;
  NumericStatus status;
  void *stream = nullptr;
  const auto reduce = [this](double *values, int count) {
    return static_cast<int>(
        MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, graph_.comm));
  };

  PetscFunctionBegin;
  transposed_current_ = false;
  if (on_device()) PetscCall(UserStream(&stream));
  if (factors) {
    PetscCall(factor(method(settings), portions, stream));
    PetscCall(RunTogether(graph_.comm, [&] { blocks = &method_->factors(); }));
  } else {
    drop_method();
    PetscCall(open_values(portions, stream, *values_));
    blocks = values_.get();
  }
  const int error = backend_->refresh(*blocks, reduce, status);
  const PetscErrorCode failed = error ? PETSC_SUCCESS : inspect(portions, *blocks, status);
  if (!factors) PetscCall(values_->close());
  PetscCallMPI(error);
  PetscCall(failed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Finds out what ChoosePrecisions() has to know.
PetscErrorCode Smoother::inspect(const MatrixPortions &portions, BlockRows &blocks,
                                 const NumericStatus &status)
{
  PetscFunctionBegin;
  PetscCall(agree(status));
  if (failure_.defect != Defect::none) PetscFunctionReturn(PETSC_SUCCESS);
  found_.units = spread();
  if (AmplificationMatters(wanted_, found_.condition))
    PetscCall(measure(portions, blocks));
  else
    found_.prescaled = found_.factored = std::max(0, found_.condition);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Measures amplifications. Values on a device are read through PETSc's copy on the host. Factors on
// a device cannot be read, so the bound takes the place of their amplifications.
PetscErrorCode Smoother::measure(const MatrixPortions &portions, BlockRows &blocks)
{
  const bool on_host = !blocks.arrays().device;
  double most[2] = {std::ldexp(1.0, found_.condition), std::ldexp(1.0, found_.condition)};
  Amplification mine;

  PetscFunctionBegin;
  const auto measure_matrix = [&](MatrixValues &values) {
    return RunTogether(graph_.comm,
                       [&] { mine = measure_amplification(graph_, values, threads_); });
  };
  if (on_host && method_)
    PetscCall(RunTogether(graph_.comm, [&] { mine = measure_amplification(graph_, blocks); }));
  else if (on_host)
    PetscCall(measure_matrix(*values_));
  else if (!method_)
    PetscCall(with_host_values(portions, measure_matrix));
  if (on_host || !method_) {
    most[0] = mine.prescaled;
    most[1] = mine.factored;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, graph_.comm));
  found_.prescaled = std::ilogb(most[0]);
  found_.factored = std::ilogb(most[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Makes all ranks agree on the first bad block row and on the largest exponents, by one reduction.
// The number of a bad row is its global row, with the defect as last digit in base kDigit. The
// number of a failed device is below that of any row. Exponents change their sign, so that the
// minimum finds the largest.
PetscErrorCode Smoother::agree(const NumericStatus &status)
{
  constexpr PetscInt64 kDigit = 8, kNone = std::numeric_limits<PetscInt64>::max(), kDevice = -1;
  const auto exponent = [](double value) {
    return std::isfinite(value) && value > 0.0 ? -static_cast<PetscInt64>(std::ilogb(value))
                                               : kNone;
  };
  const OperatorInfo info = backend_->info();
  const InverseRange &inverse = info.inverse;
  PetscInt64 least[4] = {kNone, exponent(inverse.largest), exponent(inverse.reciprocal),
                         exponent(inverse.condition)};
  PetscInt64 &first = least[0];

  PetscFunctionBegin;
  if (status.defect == Defect::backend)
    first = kDevice;
  else if (status.defect != Defect::none)
    first = static_cast<PetscInt64>(graph_.row_start + status.row) * kDigit +
            static_cast<int>(status.defect);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, least, 4, MPIU_INT64, MPI_MIN, graph_.comm));
  const bool entries = info.block_entries > 0.0;
  const double whole = static_cast<double>(graph_.bs) * static_cast<double>(graph_.bs);
  block_numbers_ = entries ? info.block_entries : whole;
  diagonal_numbers_ = entries ? info.factor_entries : whole;
  const bool known = least[1] != kNone && least[2] != kNone;
  inverse_exponent_ = known ? -static_cast<int>(least[1]) : 0;
  inverse_spread_ = known ? -static_cast<int>(least[1]) - static_cast<int>(least[2]) : 0;
  found_.condition = least[3] != kNone ? -static_cast<int>(least[3]) : 0;
  PetscCheck(first != kDevice, graph_.comm, PETSC_ERR_LIB, "PCMCPI: %s",
             status.problem.empty() ? "the numeric set-up failed on another rank"
                                    : status.problem.c_str());
  if (first != kNone)
    failure_ = {static_cast<Defect>(first % kDigit), static_cast<PetscInt>(first / kDigit)};
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
