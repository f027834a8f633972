#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/codec.h"
#include "core/dispatch.h"
#include "core/kernels.h"

namespace mcpi {
namespace {

template <PCMCPIPrecision storage, typename T> void product(const ProductArgs &args)
{
  const std::size_t size = static_cast<std::size_t>(args.bs),
                    record = record_bytes(storage, args.bs);
  const T *x = static_cast<const T *>(args.x);
  T *sums = static_cast<T *>(args.sums);
  std::vector<double> block(size * size), sum(size * args.nrhs);
  for (Row row = args.begin; row < args.end; ++row) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (int t = 0; t < args.count; ++t) {
      const StoredTriangle &triangle = args.triangles[t];
      for (Offset k = triangle.ptr[row]; k < triangle.ptr[row + 1]; ++k) {
        decode_block(storage, args.bs, triangle.records + k * record, block.data());
        const T *xk = x + triangle.col[k] * args.nrhs * size;
        for (int r = 0; r < args.nrhs; ++r)
          for (std::size_t j = 0; j < size; ++j)
            for (std::size_t i = 0; i < size; ++i)
              sum[r * size + i] += block[j * size + i] * xk[r * size + j];
      }
    }
    for (const double value : sum) *sums++ = static_cast<T>(value);
  }
}

ProductKernel product_for(PCMCPIPrecision storage, bool x_is_double, int)
{
  return with_precision(storage, [&]<PCMCPIPrecision of> {
    if (of == PC_MCPI_PRECISION_FP64 && !x_is_double) return ProductKernel();
    return with_vectors<of>(x_is_double, []<class T> { return ProductKernel{product<of, T>}; });
  });
}

bool premultiply(int bs, const double *left, const double *right, const double *const *in,
                 int count, double *out, double *max_abs)
{
  bool good = true;
  const std::size_t size = static_cast<std::size_t>(bs);
  for (int k = 0; k < count; ++k)
    for (std::size_t q = 0; q < size; ++q)
      for (std::size_t p = 0; p < size; ++p) {
        double sum = 0;
        for (std::size_t l = 0; l < size; ++l) sum += left[p + l * size] * in[k][l + q * size];
        const double value = sum * right[q];
        *out++ = value;
        good &= std::isfinite(value);
        max_abs[p + q * size] = std::max(max_abs[p + q * size], std::abs(value));
      }
  return good;
}

int encode(PCMCPIPrecision storage, int bs, const double *blocks, int count, std::byte *records)
{
  const std::size_t n = static_cast<std::size_t>(bs) * bs, record = record_bytes(storage, bs);
  int bad = -1;
  for (int k = 0; k < count; ++k)
    if (!encode_block(storage, bs, blocks + k * n, records + k * record) && bad < 0) bad = k;
  return bad;
}

} // namespace

const CpuKernels &plain_kernels()
{
  static constexpr CpuKernels kernels = {"plain", product_for, premultiply, encode};
  return kernels;
}

} // namespace mcpi
