#include "backend/host/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/host/simd_product_double.cxx"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "backend/host/simd_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mcpi {
namespace HWY_NAMESPACE {
ProductFn select_double(PCMCPIPrecision storage, int bs)
{
#if MCPI_PLAIN_ONLY
  return plain_kernels().product(storage, true, bs);
#else
  return select_product<double>(storage, bs);
#endif
}
} // namespace HWY_NAMESPACE
} // namespace mcpi
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mcpi {
HWY_EXPORT(select_double);

ProductFn simd_product_double(PCMCPIPrecision storage, int bs)
{
  return HWY_DYNAMIC_DISPATCH(select_double)(storage, bs);
}
} // namespace mcpi
#endif
