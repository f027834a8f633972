// What the relaxation kernels for large blocks share. A team of threads takes a row; it is a warp
// or the whole thread block.
#pragma once

#include "backend/cuda/decode.cuh"

namespace mcpi::cuda {

template <bool warp> __device__ __forceinline__ void team_sync()
{
  if constexpr (warp)
    __syncwarp();
  else
    __syncthreads();
}

// Neighboring numbers that one instruction loads or stores
template <class T, int width> struct alignas(sizeof(T) * width) Vector {
  T v[width];
};

// Stored numbers of one column, as words in a thread's registers
template <PCMCPIPrecision storage, int vector> struct Numbers {
  static constexpr int bits = vector * value_bits(storage);
  std::uint32_t word[(bits + 31) / 32];

  __device__ __forceinline__ void load(const std::byte *from)
  {
    if constexpr (bits == 128) {
      const uint4 v = *reinterpret_cast<const uint4 *>(from);
      word[0] = v.x;
      word[1] = v.y;
      word[2] = v.z;
      word[3] = v.w;
    } else if constexpr (bits == 64) {
      const uint2 v = *reinterpret_cast<const uint2 *>(from);
      word[0] = v.x;
      word[1] = v.y;
    } else if constexpr (bits == 32) {
      word[0] = *reinterpret_cast<const std::uint32_t *>(from);
    } else if constexpr (bits == 16) {
      word[0] = *reinterpret_cast<const std::uint16_t *>(from);
    } else {
      word[0] = *reinterpret_cast<const std::uint8_t *>(from);
    }
  }

  // Adds x times each number to the sums.
  template <class T> __device__ __forceinline__ void add_times(T x, T *sum) const
  {
#pragma unroll
    for (int i = 0; i < vector; ++i) sum[i] += number<storage, T>(word, i) * x;
  }
};

} // namespace mcpi::cuda
