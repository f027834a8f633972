// The inner loops of a CPU backend. Each has one plain definition (core/plain_kernels.cxx) and one
// SIMD version (backend/host).
#pragma once

#include <cstddef>

#include "core/plan.h"
#include "petscmcpitypes.h"

namespace mcpi {

// Blocks of one triangle in storage precision: record k holds block k (core/codec.h).
struct StoredTriangle {
  const Offset *ptr = nullptr;
  const Row *col = nullptr;
  const std::byte *records = nullptr; // readable for kReadPadding bytes past the end
};

constexpr std::size_t kReadPadding = 128; // bytes that kernels may read past an array's end

// sums[(row - begin)*nrhs*bs + r*bs + i] = sum over the blocks of the row in triangles[0..count) of
// block * x[col] x[(col*nrhs + r)*bs + j]; x and sums are float or double as the function was
// selected; x is readable for kReadPadding bytes past its end.
struct ProductArgs {
  StoredTriangle triangles[2];
  int count = 0;
  int bs = 0;
  int nrhs = 1;
  Row begin = 0, end = 0;
  // x outgrows the caches near a core and is worth fetching ahead; sums stay the same
  bool far = false;
  const void *x = nullptr;
  void *sums = nullptr;
};
using ProductFn = void (*)(const ProductArgs &);

struct CpuKernels {
  const char *name;
  // The product for this storage, vectors in double or float, and block size
  ProductFn (*product)(PCMCPIPrecision storage, bool x_is_double, int bs);
  // out_k = left * in_k * diag(right) for count column-major blocks; out contiguous. left has
  // leading dimension bs. max_abs[p + q*bs] is raised to |out_k(p,q)|; a product that is not finite
  // makes the function return false. in and out never overlap.
  bool (*premultiply)(int bs, const double *left, const double *right, const double *const *in,
                      int count, double *out, double *max_abs);
  // count contiguous column-major blocks into records; returns the index of the first block that
  // the precision cannot hold, or -1
  int (*encode)(PCMCPIPrecision storage, int bs, const double *blocks, int count,
                std::byte *records);
};

const CpuKernels &plain_kernels(); // loops that define what is meant

} // namespace mcpi
