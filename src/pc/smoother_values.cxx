// This file implements the numeric set-up of the smoother.
#include "pc/smoother.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "petsc/collective.h"
#include "petsc/compat.h"
#include "petsc/stream.h"

namespace mcpi {

// Whether vectors may get double precision although the method does not need it.
bool Smoother::may_widen(const Settings &settings)
{
  return settings.vector == PC_MCPI_VECTOR_PRECISION_AUTO &&
         settings.gather != PC_MCPI_GATHER_PRECISION_BFP16;
}

// Returns how many powers of two may lie between the largest entry of D^{-1}b that scale_for()
// expects and the largest entry that D^{-1}b has.
int Smoother::spread(PCMCPIForm form) const
{
  const auto of = [](const std::vector<double> &factors) {
    const auto [least, most] = std::minmax_element(factors.begin(), factors.end());
    return std::ilogb(*most) - std::ilogb(*least);
  };
  const int forward = inverse_spread_ + (form == PC_MCPI_FORM_FACTORED ? of(scales().left) : 0);
  return std::max(forward, of(scales().right));
}

// Makes the numeric set-up. Vectors get double precision if the units of the equations are too
// different for single precision. This choice depends on the present values alone.
PetscErrorCode Smoother::numeric_in_range(const Settings &settings, const MatrixParts &parts)
{
  PetscFunctionBegin;
  for (;;) {
    if (!backend_) {
      if (!halo_) PetscCall(create_halo(settings));
      PetscCall(create_backend(settings));
    }
    PetscCall(numeric(settings, parts));
    const bool outside = spread(settings.form) > kMaxSpread,
               needed = prepared_for_double_ || outside;
    if (failure_.defect != Defect::none || needed == double_vectors_) break;
    PetscCheck(may_widen(settings), graph_.comm, PETSC_ERR_ARG_OUTOFRANGE,
               "PCMCPI: the units of the equations differ by a factor of about 2^%d, more than "
               "vectors in single precision hold. Use -%spc_mcpi_vector_precision auto and "
               "-%spc_mcpi_gather_precision fp32, or scale the equations",
               spread(settings.form), settings.prefix.c_str(), settings.prefix.c_str());
    drop_backend();
    double_vectors_ = needed;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Opens the values on all ranks, or on none. open() may fail on one rank only: a device may have no
// memory for PETSc's own copy of the values.
PetscErrorCode Smoother::open_values(const MatrixParts &parts, void *stream,
                                     MatrixValues &values) const
{
  PetscFunctionBegin;
  const PetscErrorCode opened = values.open(parts, threads_, stream);
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
PetscErrorCode Smoother::factor(PCMCPIMethod method, const MatrixParts &parts, void *stream)
{
  std::unique_ptr<MatrixValues> on_host;

  PetscFunctionBegin;
  PetscCall(plan_factorization(method));
  if (!on_cuda()) on_host = make_matrix_values(parts, graph_, {});
  MatrixValues &values = on_cuda() ? *values_ : *on_host;
  PetscCall(open_values(parts, stream, values));
  const PetscErrorCode failed = RunTogether(graph_.comm, [&] { method_->read(values); });
  PetscCall(values.close());
  PetscCall(failed);
  PetscCall(static_cast<PetscErrorCode>(method_->factor(exchange_.get())));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Smoother::numeric(const Settings &settings, const MatrixParts &parts)
{
  // The factors take much memory. They are freed after an error, too.
  struct Release {
    const std::unique_ptr<Method> &method;
    ~Release()
    {
      if (method) method->release();
    }
  } const release{method_};
  const bool factors = settings.method != PC_MCPI_METHOD_POINT;
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
    PetscCall(factor(settings.method, parts, stream));
    PetscCall(RunTogether(graph_.comm, [&] { blocks = &method_->factors(); }));
  } else {
    drop_method();
    PetscCall(open_values(parts, stream, *values_));
    blocks = values_.get();
  }
  const int error = backend_->refresh(*blocks, reduce, status);
  if (!factors) PetscCall(values_->close());
  PetscCallMPI(error);
  PetscCall(agree(status));
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
  const InverseRange inverse = backend_->info().inverse;
  PetscInt64 least[3] = {kNone, exponent(inverse.largest), exponent(inverse.reciprocal)};
  PetscInt64 &first = least[0];

  PetscFunctionBegin;
  if (status.defect == Defect::backend)
    first = kDevice;
  else if (status.defect != Defect::none)
    first = static_cast<PetscInt64>(graph_.row_start + status.row) * kDigit +
            static_cast<int>(status.defect);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, least, 3, MPIU_INT64, MPI_MIN, graph_.comm));
  const bool known = least[1] != kNone && least[2] != kNone;
  inverse_exponent_ = known ? -static_cast<int>(least[1]) : 0;
  inverse_spread_ = known ? -static_cast<int>(least[1]) - static_cast<int>(least[2]) : 0;
  PetscCheck(first != kDevice, graph_.comm, PETSC_ERR_LIB, "PCMCPI: %s",
             status.problem.empty() ? "the numeric set-up failed on another rank"
                                    : status.problem.c_str());
  if (first != kNone)
    failure_ = {static_cast<Defect>(first % kDigit), static_cast<PetscInt>(first / kDigit)};
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
