// The access policy window of a relaxation: what a launch tells the second-level (L2) cache to keep
// and what to evict first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cuda_runtime.h>

namespace mcpi::cuda {

// How a relaxation uses the L2 cache.
struct CacheUse {
  // bytes of a row's right-hand side, if the next sweep will not find it in the cache; 0 if it will
  std::size_t passing;
  std::size_t kept; // bytes of blocks that the next sweep shall find in the cache
};

// Computes the use of a cache of so many bytes. vectors: bytes of the vectors that a sweep reads.
// row_rhs: bytes of one row's right-hand side. Each half of the device caches what it reads in its
// half of the L2 cache. If vectors do not fit that half, right-hand sides are marked to be evicted
// first. Otherwise blocks may use four fifths of the half, less the vectors, and stay there from
// sweep to sweep. The last fifth is for everything else: ghosts, kept sums, ends of rows. Loads of
// small blocks bypass the first-level cache, and blocks outside the window are the first to leave
// the L2 cache.
constexpr CacheUse cache_use(std::size_t cache, std::size_t vectors, std::size_t row_rhs)
{
  const std::size_t half = cache / 2, most = half / 5 * 4;
  return {vectors > half ? row_rhs : 0, vectors < most ? most - vectors : 0};
}

struct Bytes {
  const void *begin;
  std::size_t size;
};

// Returns the window of at most `largest` bytes. An empty window means that there is nothing to
// tell.
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
