// A relaxation as the kernels of devices are told it: flags in one word, factors in both
// precisions, so that no thread converts them.
#pragma once

namespace mcpi {

struct ApplyArgs;
struct RelaxStep;

enum RelaxFlag : unsigned {
  kLower = 1, // triangles to read
  kUpper = 2,
  kFromZero = 4,  // x of these rows counts as zero
  kUseKept = 8,   // add the kept partial sum
  kKeepSum = 16,  // keep the sum over the near triangle,
  kKeepZero = 32, // or zero
  kLowerIsNear = 64,
  kFactored = 128,
  kTransposed = 256,
  kReadLater = 512, // x of these rows is read by others than products
};

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

// All but kReadLater, which depends on what products read
unsigned relax_flags(const ApplyArgs &apply, const RelaxStep &step, bool prescaled);

} // namespace mcpi
