// Loads for data that a sweep reads once, such as blocks.
#pragma once

#include "backend/cuda/decode.cuh"

namespace mcpi::cuda {

// Such loads do not allocate lines in the first-level cache, so they do not evict x.
__device__ __forceinline__ uint4 load_once(const uint4 *from)
{
  uint4 v;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(from));
  return v;
}
__device__ __forceinline__ uint2 load_once(const uint2 *from)
{
  uint2 v;
  asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(from));
  return v;
}
__device__ __forceinline__ std::uint32_t load_once(const std::uint32_t *from)
{
  std::uint32_t v;
  asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(from));
  return v;
}

} // namespace mcpi::cuda
