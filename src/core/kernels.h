// The inner loops of the CPU backends. Each has a plain version, which defines the result
// (core/plain_kernels.cxx), and a SIMD version (backend/host).
#pragma once

#include <cstddef>

#include "core/plan.h"
#include "petscmcpitypes.h"

namespace mcpi {

// The blocks of one triangle in storage precision; ptr and col are those of Triangle.
struct StoredTriangle {
  const Offset *ptr = nullptr;
  const Row *col = nullptr;
  // Record k holds block k (core/codec.h). kReadPadding bytes past the end are readable.
  const std::byte *records = nullptr;
};

constexpr std::size_t kReadPadding = 128; // bytes that kernels may read past the end of an array

// Arguments of a product of off-diagonal blocks with x, for the plan rows [begin, end). The sum is
// over the blocks of the row in triangles[0..count), and over their columns j:
//   sums[((row - begin)*nrhs + r)*bs + i] = sum of block(i,j) * x[(col*nrhs + r)*bs + j]
// x and sums are arrays of float or of double, as asked for when the function was selected.
struct ProductArgs {
  StoredTriangle triangles[2];
  int count = 0;
  int bs = 0;
  int nrhs = 1;
  Row begin = 0, end = 0;
  // Whether x is larger than the caches near a core, so that prefetching pays. The sums do not
  // depend on it.
  bool far = false;
  const void *x = nullptr; // kReadPadding bytes past the end are readable
  void *sums = nullptr;
};
using ProductFn = void (*)(const ProductArgs &);

struct CpuKernels {
  const char *name;
  // Selects the product for this storage precision, vector precision and block size. Returns null
  // for fp64 storage with float vectors.
  ProductFn (*product)(PCMCPIPrecision storage, bool x_is_double, int bs);
  // Computes out_k = left * in_k * diag(right) for count column-major blocks. The results are
  // contiguous in out, which does not overlap the blocks of in. left is a column-major block.
  // Raises max_abs[p + q*bs] to at least |out_k(p,q)|. Returns false if a product is not finite.
  bool (*premultiply)(int bs, const double *left, const double *right, const double *const *in,
                      int count, double *out, double *max_abs);
  // Encodes count contiguous column-major blocks. Returns the index of the first block that the
  // storage precision cannot hold, or -1.
  int (*encode)(PCMCPIPrecision storage, int bs, const double *blocks, int count,
                std::byte *records);
};

const CpuKernels &plain_kernels(); // the loops that define the results

} // namespace mcpi
