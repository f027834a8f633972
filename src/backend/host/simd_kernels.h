// The SIMD version of the inner loops in core/kernels.h. It uses Google Highway.
#pragma once

#include "core/kernels.h"

namespace mcpi {

// Returns kernels for the best instruction set of this CPU.
const CpuKernels &simd_kernels();

} // namespace mcpi
