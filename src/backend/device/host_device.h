// How functions are declared that host and device code share: with nvcc, with Kokkos' compilers for
// devices, and with a compiler for hosts.
#pragma once

// MCPI_HD: a function for hosts and devices. MCPI_UNROLL stands before loops whose indices must be
// constants, so that arrays of a device's thread stay in registers. A host's arrays are in memory
// anyway. MCPI_UNROLL_BY(n): n rounds of the loop together, on a device.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define MCPI_HD __host__ __device__ __forceinline__
#else
#define MCPI_HD inline __attribute__((always_inline))
#endif
// MCPI_HD_FOR_ALL stands before templates of such functions that call functions of their arguments'
// types, which may be for devices only.
#if defined(__CUDACC__)
#define MCPI_HD_FOR_ALL _Pragma("nv_exec_check_disable")
#else
#define MCPI_HD_FOR_ALL
#endif
#define MCPI_PRAGMA(text) _Pragma(#text)
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define MCPI_UNROLL _Pragma("unroll")
#define MCPI_UNROLL_BY(n) MCPI_PRAGMA(unroll n)
#elif defined(__clang__)
#define MCPI_UNROLL _Pragma("unroll")
#define MCPI_UNROLL_BY(n)
#else
#define MCPI_UNROLL
#define MCPI_UNROLL_BY(n)
#endif
