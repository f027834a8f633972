// The table of the SIMD kernels.
#include "backend/host/simd_kernels.h"

#include "backend/host/simd.h"
#include "core/dispatch.h"

namespace mcpi {
namespace {

ProductFn product(PCMCPIPrecision storage, bool x_is_double, int bs)
{
  return with_precision(storage,
                        [&]<PCMCPIPrecision of> { return simd_product<of>(x_is_double, bs); });
}

} // namespace

const CpuKernels &simd_kernels()
{
  static constexpr CpuKernels kernels = {"simd", product, simd_premultiply, simd_encode};
  return kernels;
}

} // namespace mcpi
