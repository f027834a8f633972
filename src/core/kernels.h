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
  Offset blocks = 0; // number of blocks
};

constexpr std::size_t kLineBytes = 64;    // of a line of the caches: what a prefetch brings
constexpr std::size_t kReadPadding = 128; // bytes that kernels may read past the end of an array

// What a relaxation keeps for the next pass. A symmetric sweep keeps the sum over one triangle of
// each row (Conrad & Wallach).
enum class Keep { no, sum, zero };

// What a product makes of the sum of a row, for all numbers of the row:
//   with add_kept  sum += kept
//   x = omega * (rhs - alpha * sum) + (1 - omega) * x
// x, rhs and kept are laid out as x of ProductArgs, from plan row 0. kReadPadding bytes past the
// end of each are readable. x may be the array that products read. Rows are then updated one after
// the other, and a row reads what the rows before it have stored.
struct RowUpdate {
  const void *rhs = nullptr;
  void *x = nullptr, *kept = nullptr;
  double alpha = 1.0, omega = 1.0;
  bool from_zero = false; // x counts as zero, whatever is in memory
  bool add_kept = false;  // not if the sum over one of two triangles is kept
  Keep keep = Keep::no;   // kept becomes the sum over triangles[0], or zero
};

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
  bool far = false; // x is not in the caches near a core, so it is worth a prefetch
  // Rows are updated from the last to the first. If x is in single precision, the blocks of a
  // triangle are then summed from the last to the first, too. Only with update.
  bool descending = false;
  const void *x = nullptr; // kReadPadding bytes past the end are readable
  void *sums = nullptr;
  const RowUpdate *update = nullptr; // if set, sums are not written (ProductKernel::updates)
};
struct ProductKernel {
  void (*run)(const ProductArgs &) = nullptr;
  bool updates = false; // whether it takes ProductArgs::update

  void operator()(const ProductArgs &args) const { run(args); }
};

struct CpuKernels {
  const char *name;
  // Selects the product for this storage precision, vector precision and block size. There is none
  // for fp64 storage with float vectors: `run` is then null.
  ProductKernel (*product)(PCMCPIPrecision storage, bool x_is_double, int bs);
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
