// The backend for NVIDIA GPUs. It exists only if the library was built with CUDA.
#pragma once

#include <memory>

#include "sweep/backend.h"

namespace mcpi {

std::unique_ptr<Backend> make_cuda_backend(const ColorPlan &plan, const BackendConfig &config);
// Whether the library has code for the CUDA device in use
bool has_code_for_cuda_device();

} // namespace mcpi
