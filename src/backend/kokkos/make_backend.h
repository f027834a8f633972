// The backend for Kokkos' execution spaces. It exists only if the library was built with Kokkos.
#pragma once

#include <memory>

#include "sweep/backend.h"

namespace mcpi {

// The backend must be made after Kokkos is initialized and destroyed before it is finalized.
std::unique_ptr<Backend> make_kokkos_backend(const ColorPlan &plan, const BackendConfig &config);

} // namespace mcpi
