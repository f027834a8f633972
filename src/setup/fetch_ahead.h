// Loops over rows that lie far apart in memory
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tuning.h"

namespace mcpi {

// For a loop over rows[k] up to end that reads their neighbors col[ptr[row], ptr[row + 1]): asks
// the caches for rows that come soon, so that the loop does not wait for each. Without
// always_inline GCC 12 drops the call, because it returns nothing and stores nothing.
template <class Offset>
[[gnu::always_inline]] inline void fetch_ahead(const Offset *ptr, const std::int32_t *col,
                                               const std::int32_t *rows, std::size_t k,
                                               std::size_t end)
{
  constexpr std::size_t soon = CommonTuning::kNeighborsAhead, later = CommonTuning::kRowsAhead,
                        line = 64 / sizeof(std::int32_t);
  if (k + later >= end) return;
  const std::int32_t *neighbors = col + ptr[rows[k + soon]];
  __builtin_prefetch(ptr + rows[k + later]);
  __builtin_prefetch(neighbors);
  __builtin_prefetch(neighbors + line);
}

} // namespace mcpi
