// Threads for the parts of a set-up that are limited by memory bandwidth. One core alone cannot use
// the full bandwidth. Sweeps on the host do not use threads; they use more ranks instead.
#pragma once

#include <cstddef>
#include <functional>

namespace mcpi {

// The number of cores that this process may use. It is 1 if each rank is bound to a core. Other
// processes may use the same cores.
int usable_cores();

// Calls work(part) for every part from 0 to parts - 1. The calls run on up to `threads` threads,
// including the caller's. work must not throw.
void share_among_threads(std::size_t parts, int threads,
                         const std::function<void(std::size_t)> &work);

} // namespace mcpi
