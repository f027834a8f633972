// The yardstick of sweeps on CPUs: a read of memory by SIMD instructions
#include "backend/host/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "host_read.cxx"
#include "hwy/foreach_target.h" // IWYU pragma: keep

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "host_read.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "timing.h"

HWY_BEFORE_NAMESPACE();
namespace bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The result depends on all words, so none is left out.
std::uint64_t read_words(const std::vector<std::uint64_t> &data)
{
  // The hardware prefetcher stops at the end of each page.
  constexpr std::size_t kPrefetchAhead = 4096 / sizeof(std::uint64_t);
  constexpr std::size_t kLineWords = 64 / sizeof(std::uint64_t);
  using D = hn::ScalableTag<std::uint64_t>;
  const D d;
  const std::uint64_t *words = data.data();
  auto sum = hn::Zero(d), other = sum; // two, so that no load waits
  for (std::size_t i = 0; i < data.size(); i += 2 * kLineWords) {
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

PetscErrorCode HostReadBandwidth(PetscInt threads, PetscInt repeat, double *rate)
{
  static const std::vector<std::uint64_t> data(std::size_t(1) << 25U, 3); // 256 MB
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads));
  double milliseconds = 0.0;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  const auto read = [&sums](std::size_t thread) {
    sums[thread] += HWY_DYNAMIC_DISPATCH(read_words)(data);
  };
  PetscCall(TimeMedian(
      0, repeat,
      [&]() -> PetscErrorCode {
        std::vector<std::thread> others;
        for (PetscInt t = 1; t < threads; ++t)
          others.emplace_back(read, static_cast<std::size_t>(t));
        read(0);
        for (std::thread &other : others) other.join();
        return PETSC_SUCCESS;
      },
      &milliseconds));
  *rate = static_cast<double>(data.size() * sizeof data[0]) * static_cast<double>(size * threads) /
          (1e-3 * milliseconds);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace bench
#endif
