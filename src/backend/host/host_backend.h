// The backend for CPUs.
#pragma once

#include <memory>

#include "core/kernels.h"
#include "sweep/backend.h"

namespace mcpi {

// The SIMD version of the inner loops in core/kernels.h, for the best instruction set of this CPU.
// It uses Google Highway.
const CpuKernels &simd_kernels();

// Whether the host backend relaxes the rows of a step one after the other. If not, it relaxes part
// by part, and each part costs a call or more.
bool relaxes_in_sequence(const BackendConfig &config, int bs, const CpuKernels &kernels);

std::unique_ptr<Backend> make_host_backend(const ColorPlan &plan, const BackendConfig &config,
                                           const CpuKernels &kernels);

} // namespace mcpi
