// Rows of a vector, side by side.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "core/plan.h"

namespace mcpi::cuda {

// entry: bytes of a row, a multiple of 4
void pack_rows(const void *vector, std::size_t entry, const Row *rows, std::size_t count,
               void *packed, cudaStream_t stream);

} // namespace mcpi::cuda
