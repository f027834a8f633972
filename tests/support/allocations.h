#pragma once

#include <cstddef>

namespace mcpi::test {

// What operator new has allocated since the program's start
struct Allocations {
  std::size_t calls, bytes;
};
Allocations allocations();

} // namespace mcpi::test
