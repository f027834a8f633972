// What a launch says about the second-level cache: an access policy window.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cuda_runtime.h>

namespace mcpi::cuda {

struct CacheUse {
  std::size_t passing; // bytes of a row's right-hand side that the next sweep will not find there;
                       // 0: it will
  std::size_t kept;    // bytes of blocks that the next sweep shall find there
};

// Small blocks' loads pass by the first-level cache and leave the second first. Each half of the
// device has half of that cache for what it reads; what the vectors leave of four fifths of it
// holds some of the blocks from sweep to sweep. The last fifth is for all else: ghosts, sums kept,
// rows' ends.
constexpr CacheUse cache_use(std::size_t cache, std::size_t vectors, std::size_t row_rhs)
{
  const std::size_t half = cache / 2, most = half / 5 * 4;
  return {vectors > half ? row_rhs : 0, vectors < most ? most - vectors : 0};
}

struct Bytes {
  const void *begin;
  std::size_t size;
};

// Of at most `largest` bytes; none where there is nothing to say
inline cudaAccessPolicyWindow cache_window(const CacheUse &use, const Bytes &rhs,
                                           const Bytes &blocks, std::size_t largest)
{
  const bool passing = use.passing > 0;
  const Bytes &bytes = passing ? rhs : blocks;
  const std::size_t size = std::min(bytes.size, largest),
                    hits = passing ? size : std::min(size, use.kept);
  if (hits == 0) return {};
  return {const_cast<void *>(bytes.begin), size,
          static_cast<float>(hits) / static_cast<float>(size),
          passing ? cudaAccessPropertyStreaming : cudaAccessPropertyNormal,
          passing ? cudaAccessPropertyNormal : cudaAccessPropertyStreaming};
}

} // namespace mcpi::cuda
