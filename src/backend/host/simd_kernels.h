// The SIMD version of the inner loops in core/kernels.h.
#pragma once

#include "core/kernels.h"

namespace mcpi {

// By Google Highway, for the best instruction set of this CPU
const CpuKernels &simd_kernels();

} // namespace mcpi
