// The arguments of a backend's functions as kernels take them: flags of relaxations, and what
// copies between a user's arrays (matrix order, double) and the vectors of a sweep (plan order,
// vector precision) multiply by.
#pragma once

#include <cstddef>

#include "backend/device/relax_update.h"
#include "core/plan.h"
#include "sweep/backend.h"

namespace mcpi::device {

// Returns the flags of a relaxation, except kReadLater. That flag depends on whether products read
// x or its rounded copy, which the backend knows.
inline unsigned relax_flags(const ApplyArgs &apply, const RelaxStep &step, bool prescaled)
{
  unsigned flags = 0;
  const auto flag = [&](bool on, RelaxFlag bit) { flags |= on ? bit : 0U; };
  flag(step.lower, kLower);
  flag(step.upper, kUpper);
  flag(step.from_zero, kFromZero);
  flag(step.use_kept, kUseKept);
  flag(step.keep == Keep::sum, kKeepSum);
  flag(step.keep == Keep::zero, kKeepZero);
  flag(step.keep_lower, kLowerIsNear);
  flag(!prescaled, kFactored);
  flag(apply.transposed, kTransposed);
  return flags;
}

// The arguments of a copy. Arrays are columns with leading dimension ld. Exactly one of diagonal
// and scale is given.
struct VectorTerms {
  const Row *row_of = nullptr;    // matrix row of a plan row
  const void *diagonal = nullptr; // inverse diagonal blocks by which a vector is multiplied
  const double *scale = nullptr;  // for each component
  bool transposed = false;        // multiply by transposed blocks
  bool divide = false;            // divide by the scale instead of multiplying
  double factor = 1.0;            // multiplies all that is read or written
  Row rows = 0;
  int bs = 0, nrhs = 1;
  long long ld = 0;
};

// What a numeric set-up gives to copies
struct VectorScales {
  const void *diagonal;
  const double *left, *right; // scales of rows and of columns
  bool prescaled;             // the form of the stored blocks
};

inline VectorTerms vector_terms(const ColorPlan &plan, const Row *row_of, const ApplyArgs &apply,
                                std::ptrdiff_t ld)
{
  VectorTerms terms;
  terms.row_of = row_of;
  terms.rows = plan.rows;
  terms.bs = plan.bs;
  terms.nrhs = apply.nrhs;
  terms.ld = ld;
  return terms;
}
// Sets what a right-hand side, a guess or a solution is multiplied by.
inline void set_rhs(VectorTerms &terms, const ApplyArgs &apply, const VectorScales &of)
{
  terms.factor = apply.scale;
  if (of.prescaled && !apply.transposed)
    terms.diagonal = of.diagonal;
  else
    terms.scale = apply.transposed ? of.right : of.left;
}
inline void set_guess(VectorTerms &terms, const ApplyArgs &apply, const VectorScales &of)
{
  terms.factor = apply.scale;
  terms.scale = of.right;
  terms.divide = true;
}
inline void set_solution(VectorTerms &terms, const ApplyArgs &apply, const VectorScales &of)
{
  terms.factor = 1.0 / apply.scale;
  terms.transposed = of.prescaled && apply.transposed;
  if (terms.transposed)
    terms.diagonal = of.diagonal;
  else
    terms.scale = apply.transposed ? of.left : of.right;
}

MCPI_HD double scaled(const VectorTerms &terms, int i, double value)
{
  return terms.divide ? value / terms.scale[i] : value * terms.scale[i];
}

} // namespace mcpi::device
