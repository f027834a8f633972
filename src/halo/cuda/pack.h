// A kernel that copies some rows of a vector to contiguous memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "core/plan.h"

namespace mcpi::cuda {

// Launches the kernel. entry: bytes of a row, a multiple of 4
void pack_rows(const void *vector, std::size_t entry, const Row *rows, std::size_t count,
               void *packed, cudaStream_t stream);

} // namespace mcpi::cuda
