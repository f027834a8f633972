// The table of the SIMD kernels.
#include "backend/host/simd_kernels.h"

#include "backend/host/simd.h"

namespace mcpi {
namespace {

ProductFn product(PCMCPIPrecision storage, bool x_is_double, int bs)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return simd_product<PC_MCPI_PRECISION_FP64>(x_is_double, bs);
  case PC_MCPI_PRECISION_FP32:
    return simd_product<PC_MCPI_PRECISION_FP32>(x_is_double, bs);
  case PC_MCPI_PRECISION_FP16:
    return simd_product<PC_MCPI_PRECISION_FP16>(x_is_double, bs);
  case PC_MCPI_PRECISION_BF16:
    return simd_product<PC_MCPI_PRECISION_BF16>(x_is_double, bs);
  case PC_MCPI_PRECISION_INT8:
    return simd_product<PC_MCPI_PRECISION_INT8>(x_is_double, bs);
  case PC_MCPI_PRECISION_INT4:
    return simd_product<PC_MCPI_PRECISION_INT4>(x_is_double, bs);
  }
  return nullptr;
}

} // namespace

const CpuKernels &simd_kernels()
{
  static constexpr CpuKernels kernels = {"simd", product, simd_premultiply, simd_encode};
  return kernels;
}

} // namespace mcpi
