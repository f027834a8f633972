#include "backend/host/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/host/simd_product_float.cxx"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "backend/host/simd_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mcpi {
namespace HWY_NAMESPACE {
ProductFn select_float(PCMCPIPrecision storage, int bs)
{
#if MCPI_PLAIN_ONLY
  return plain_kernels().product(storage, false, bs);
#else
  return select_product<float>(storage, bs);
#endif
}
} // namespace HWY_NAMESPACE
} // namespace mcpi
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mcpi {
HWY_EXPORT(select_float);

ProductFn simd_product_float(PCMCPIPrecision storage, int bs)
{
  return HWY_DYNAMIC_DISPATCH(select_float)(storage, bs);
}
} // namespace mcpi
#endif
