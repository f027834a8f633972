// The arguments of a relaxation in the form in which the CUDA and Kokkos kernels take them.
// Yes-or-no choices are bits of one word. Factors are given in both precisions, so that no thread
// converts them.
#pragma once

namespace mcpi {

struct ApplyArgs;
struct RelaxStep;

// Bits of RelaxArgs::flags. They restate ApplyArgs and RelaxStep (sweep/backend.h). The near
// triangle is the one whose sum may be kept for the next pass.
enum RelaxFlag : unsigned {
  kLower = 1,        // products read the lower triangle
  kUpper = 2,        // products read the upper triangle
  kFromZero = 4,     // x of these rows counts as zero, whatever memory holds
  kUseKept = 8,      // add the sum that the previous pass kept
  kKeepSum = 16,     // keep the sum over the near triangle
  kKeepZero = 32,    // keep zero
  kLowerIsNear = 64, // the near triangle is the lower one, not the upper one
  kFactored = 128,   // factored form: multiply residuals by inverse diagonal blocks
  kTransposed = 256, // the inverse diagonal blocks are transposed
  kReadLater = 512,  // store x itself: more than off-diagonal products read it
};

// A factor in double and in single precision.
struct Scalar {
  double wide;
  float narrow;

  Scalar(double value) : wide(value), narrow(static_cast<float>(value)) {}
  template <class T> constexpr T as() const
  {
    if constexpr (sizeof(T) == sizeof(double))
      return wide;
    else
      return narrow;
  }
};

// Returns the flags of a relaxation, except kReadLater. That flag depends on whether products read
// x or its rounded copy, which the backend knows.
unsigned relax_flags(const ApplyArgs &apply, const RelaxStep &step, bool prescaled);

} // namespace mcpi
