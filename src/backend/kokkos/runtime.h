// Starts and ends Kokkos, tells about its default execution space before there is a backend, and
// makes the backend. No Kokkos header is needed to include this file.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sweep/backend.h"

namespace mcpi {

// The backend for Kokkos' default execution space. It must be made after Kokkos is initialized and
// destroyed before Kokkos is finalized.
std::unique_ptr<Backend> make_kokkos_backend(const ColorPlan &plan, const BackendConfig &config);

namespace kokkos {

// Returns why Kokkos cannot be used, if it has ended: it cannot start again in a process. Returns
// an empty string if it has not ended.
std::string has_ended();
// Starts Kokkos, unless it has been started. Returns an empty string, or why Kokkos cannot start. A
// Kokkos that was started here ends with finish(). chosen: Kokkos takes the process's current
// device, even device 0. Otherwise a current device 0 counts as not chosen, and Kokkos gives each
// rank of a node another device.
std::string start(bool chosen);
// Ends Kokkos, if start() started it and nobody else has ended it.
void finish();

// For objects that must be released before Kokkos ends, since a program may end Kokkos before
// PETSc. release is called once if Kokkos ends before drop_release(owner) is called.
void release_at_end(const void *owner, std::function<void()> release);
void drop_release(const void *owner);

bool on_device(); // whether the default execution space works in memory that the host cannot reach
bool is_cuda();   // whether that memory is CUDA's
const char *space_name();

} // namespace kokkos
} // namespace mcpi
