#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

constexpr std::size_t kReadWords = std::size_t(1) << 25U; // 256 MB: no cache holds them

// Reads kReadWords words by the widest vectors of this CPU, as fast as one core can. The result
// depends on all of them.
std::uint64_t ReadWords(const std::uint64_t *words);

} // namespace bench
