#include "backend/host/simd_kernels.h"

#include "backend/host/simd.h"

namespace mcpi {
namespace {

ProductFn product(PCMCPIPrecision storage, bool x_is_double, int bs)
{
  return x_is_double ? simd_product_double(storage, bs) : simd_product_float(storage, bs);
}

} // namespace

const CpuKernels &simd_kernels()
{
  static constexpr CpuKernels kernels = {"simd", product, simd_premultiply, simd_encode};
  return kernels;
}

} // namespace mcpi
