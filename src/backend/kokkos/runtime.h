// The life of Kokkos, and what a caller must know of it before there is a backend. No Kokkos header is needed to read this.
#pragma once

#include <string>

namespace mcpi::kokkos {

// Kokkos cannot start again in a process; an empty string if it has not ended.
std::string has_ended();
// Starts Kokkos unless somebody has; an empty string, or what is in the way. What started it here ends with finish().
std::string start();
// Ends Kokkos if start() began it and nobody else has ended it.
void finish();

bool        on_device();  // does the default execution space work in memory that the host cannot reach?
bool        is_cuda();    // is that memory CUDA's?
bool        auto_takes(); // HIP and SYCL, for which there is no backend of their own
const char *space_name();

} // namespace mcpi::kokkos
