// The yardstick of sweeps on CPUs: a read of memory by SIMD instructions
#include "backend/host/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host_read.cxx"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include "host_read.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

std::uint64_t read_words(const std::uint64_t *words)
{
  // The hardware prefetcher stops at the end of each page.
  constexpr std::size_t kPrefetchAhead = 4096 / sizeof(std::uint64_t);
  constexpr std::size_t kLineWords = 64 / sizeof(std::uint64_t);
  using D = hn::ScalableTag<std::uint64_t>;
  const D d;
  auto sum = hn::Zero(d), other = sum; // two, so that no load waits
  for (std::size_t i = 0; i < kReadWords; i += 2 * kLineWords) {
    hwy::Prefetch(words + i + kPrefetchAhead);
    hwy::Prefetch(words + i + kPrefetchAhead + kLineWords);
    for (std::size_t k = 0; k < kLineWords; k += hn::Lanes(d)) {
      sum = hn::Add(sum, hn::LoadU(d, words + i + k));
      other = hn::Add(other, hn::LoadU(d, words + i + kLineWords + k));
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, other)));
}

} // namespace HWY_NAMESPACE
} // namespace bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bench {

HWY_EXPORT(read_words);

std::uint64_t ReadWords(const std::uint64_t *words)
{
  return HWY_DYNAMIC_DISPATCH(read_words)(words);
}

} // namespace bench
#endif
