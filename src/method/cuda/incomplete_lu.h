// Incomplete factorizations on a CUDA device.
#pragma once

#include "method/method.h"

namespace mcpi {

// plan and ghosts must outlive the result. Values in device memory are read in place. May throw
std::unique_ptr<Method> make_cuda_method(PCMCPIMethod method, const ColorPlan &plan,
                                         const GhostRows &ghosts);

} // namespace mcpi
