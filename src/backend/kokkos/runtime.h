// The life of Kokkos, and what a caller must know of it before there is a backend. No Kokkos header
// is needed to read this.
#pragma once

#include <functional>
#include <string>

namespace mcpi::kokkos {

// Kokkos cannot start again in a process; an empty string if it has not ended.
std::string has_ended();
// Starts Kokkos unless somebody has; an empty string, or what is in the way. What started it here
// ends with finish(). chosen: the process's device is the one that it is to take; else Kokkos gives
// each rank of a node another one.
std::string start(bool chosen);
// Ends Kokkos if start() began it and nobody else has ended it.
void finish();

// What Kokkos must not outlive, since a program may end it before PETSc: release is called once if
// Kokkos ends and the owner has not been forgotten.
void release_at_end(const void *owner, std::function<void()> release);
void drop_release(const void *owner);

bool on_device();  // does the default execution space work in memory that the host cannot reach?
bool is_cuda();    // is that memory CUDA's?
bool auto_takes(); // HIP and SYCL, for which there is no backend of their own
const char *space_name();

} // namespace mcpi::kokkos
