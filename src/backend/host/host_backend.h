// The backend for CPUs.
#pragma once

#include <memory>

#include "core/kernels.h"
#include "sweep/backend.h"

namespace mcpi {

std::unique_ptr<Backend> make_host_backend(const ColorPlan &plan, const BackendConfig &config,
                                           const CpuKernels &kernels);

} // namespace mcpi
