#pragma once

#include <cstddef>

namespace mcpi::test {

// What operator new has allocated since the program's start. held: what has not been freed; peak:
// the most that was held since count_peak()
struct Allocations {
  std::size_t calls, bytes, held, peak;
};
Allocations allocations();
void count_peak();

} // namespace mcpi::test
