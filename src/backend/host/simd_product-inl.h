// Products of a row's blocks with x, for small block sizes, and the choice among all products.
// Included once for each instruction set. The order in which a row is summed depends on the row
// alone.
#if defined(MCPI_SIMD_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MCPI_SIMD_PRODUCT_INL_H
#undef MCPI_SIMD_PRODUCT_INL_H
#else
#define MCPI_SIMD_PRODUCT_INL_H
#endif

#include <algorithm>
#include <bit>

#include "backend/host/simd_column-inl.h"
#include "backend/host/simd_stored-inl.h"
#include "core/dispatch.h"

#if !MCPI_PLAIN_ONLY
HWY_BEFORE_NAMESPACE();
namespace mcpi {
namespace HWY_NAMESPACE {

// Two classes sum a row of small blocks, for a group of right-hand sides at a time. Both have
// zero(), add_block(), and store(), which stores whole vectors.

// For blocks of which a column fits a SIMD vector. A vector holds as many whole columns as fit,
// side by side; the numbers of x are spread over the lanes of their columns.
template <PCMCPIPrecision storage, typename T, int bs, int group> class SpreadSums {
  static constexpr int kLanes =
      static_cast<int>(std::min<std::size_t>(std::bit_ceil(unsigned(bs * bs)), HWY_LANES(T)));
  static constexpr int kColumns = std::min(bs, kLanes / bs);      // columns in a vector
  static constexpr int kVectors = (bs + kColumns - 1) / kColumns; // vectors of a block
  static constexpr int kLast = bs - (kVectors - 1) * kColumns;    // columns in the last vector
  static constexpr int kChains = kVectors >= 4 ? 1
                                 : kVectors > 1
                                     ? 2
                                     : 4; // Independent sums hide the latency of multiply-add.
  using D = hn::FixedTag<T, kLanes>;
  using V = hn::VFromD<D>;
  using Entry = hn::FixedTag<T, static_cast<int>(std::bit_ceil(unsigned(bs)))>;
  using Lane = hwy::MakeUnsigned<T>;

  struct Spread {
    Lane lane[kVectors][kLanes];
  };
  static constexpr Spread make_spread()
  {
    Spread spread{};
    for (int v = 0; v < kVectors; ++v)
      for (int l = 0; l < kLanes; ++l)
        spread.lane[v][l] = static_cast<Lane>(std::min(v * kColumns + l / bs, bs - 1));
    return spread;
  }
  alignas(64) static constexpr Spread kSpread = make_spread();

  V chain_[group][kChains][kVectors];

  // Returns the sum of the columns in a vector, by halving.
  template <int columns> static HWY_INLINE V fold(V v)
  {
    if constexpr (columns == 1) {
      return v;
    } else {
      constexpr int half = (columns + 1) / 2;
      struct Shift {
        Lane lane[kLanes];
      };
      alignas(64) static constexpr Shift kShift = [] {
        Shift shift{};
        for (int l = 0; l < kLanes; ++l)
          shift.lane[l] = static_cast<Lane>(std::min(l + half * bs, kLanes - 1));
        return shift;
      }();
      const D d;
      V upper = hn::TableLookupLanes(v, hn::SetTableIndices(d, kShift.lane));
      if constexpr (columns % 2 != 0)
        upper = hn::IfThenElseZero(hn::FirstN(d, (columns - half) * bs), upper);
      return fold<half>(hn::Add(v, upper));
    }
  }

public:
  HWY_INLINE void zero()
  {
    unroll<group>([&](auto g) HWY_ATTR {
      unroll<kChains * kVectors>(
          [&](auto i) HWY_ATTR { chain_[g()][i() / kVectors][i() % kVectors] = hn::Zero(D()); });
    });
  }

  HWY_INLINE void add_block(const std::byte *record, const T *x)
  {
    const D d;
    V entry[group];
    unroll<group>([&](auto g)
                      HWY_ATTR { entry[g()] = extend(d, hn::LoadU(Entry(), x + g() * bs)); });
    if constexpr (has_exponent(storage)) {
      const V scale = hn::Set(d, record_scale<T>(record));
      unroll<group>([&](auto g) HWY_ATTR { entry[g()] = hn::Mul(entry[g()], scale); });
    }
    unroll<kVectors>([&](auto v) HWY_ATTR {
      const V a = load_stored<storage, v() * kColumns * bs>(d, numbers<storage>(record));
      unroll<group>([&](auto g) HWY_ATTR {
        const V mine = hn::TableLookupLanes(entry[g()], hn::SetTableIndices(d, kSpread.lane[v()]));
        const V newest = hn::MulAdd(a, mine, chain_[g()][0][v()]);
        // With BitCast, GCC 12 does not copy the struct of vectors through memory.
        unroll<kChains - 1>([&](auto c) HWY_ATTR {
          chain_[g()][c()][v()] = hn::BitCast(d, chain_[g()][c() + 1][v()]);
        });
        chain_[g()][kChains - 1][v()] = hn::BitCast(d, newest);
      });
    });
  }

  template <int g> HWY_INLINE void store(T *out) const
  {
    V sum[kVectors];
    unroll<kVectors>([&](auto v) HWY_ATTR {
      sum[v()] = chain_[g][0][v()];
      unroll<kChains - 1>([&](auto c)
                              HWY_ATTR { sum[v()] = hn::Add(sum[v()], chain_[g][c() + 1][v()]); });
    });
    if constexpr (kLast < kColumns)
      sum[kVectors - 1] = hn::IfThenElseZero(hn::FirstN(D(), kLast * bs), sum[kVectors - 1]);
    unroll<kVectors - 1>([&](auto v) HWY_ATTR { sum[0] = hn::Add(sum[0], sum[v() + 1]); });
    hn::StoreU(low_lanes(Entry(), fold<kColumns>(sum[0])), Entry(), out);
  }
};

// For blocks of which a column takes several SIMD vectors. A number of x is broadcast.
template <PCMCPIPrecision storage, typename T, int bs, int group> class BroadcastSums {
  using D = hn::ScalableTag<T>;
  static constexpr int kLanes = static_cast<int>(HWY_LANES(T));
  static constexpr int kVectors = (bs + kLanes - 1) / kLanes; // vectors of a column
  static constexpr int kChains = 2;

  hn::VFromD<D> chain_[group][kChains][kVectors];

public:
  HWY_INLINE void zero()
  {
    unroll<group>([&](auto g) HWY_ATTR {
      unroll<kChains * kVectors>(
          [&](auto i) HWY_ATTR { chain_[g()][i() / kVectors][i() % kVectors] = hn::Zero(D()); });
    });
  }

  HWY_INLINE void add_block(const std::byte *record, const T *x)
  {
    const D d;
    T scale = 1;
    if constexpr (has_exponent(storage)) scale = record_scale<T>(record);
    unroll<bs>([&](auto j) HWY_ATTR {
      hn::VFromD<D> xj[group];
      unroll<group>([&](auto g) HWY_ATTR {
        xj[g()] = hn::Set(d, has_exponent(storage) ? x[g() * bs + j()] * scale : x[g() * bs + j()]);
      });
      unroll<kVectors>([&](auto v) HWY_ATTR {
        const auto a = load_stored<storage, j() * bs + v() * kLanes>(d, numbers<storage>(record));
        unroll<group>([&](auto g) HWY_ATTR {
          auto &sum = chain_[g()][j() % kChains][v()];
          sum = hn::MulAdd(a, xj[g()], sum);
        });
      });
    });
  }

  template <int g> HWY_INLINE void store(T *out) const
  {
    unroll<kVectors>([&](auto v) HWY_ATTR {
      hn::StoreU(hn::Add(chain_[g][0][v()], chain_[g][1][v()]), D(), out + v() * kLanes);
    });
  }
};

// Computes the sums of one row for `group` right-hand sides from r on. last: out ends with these
// sums. If args.far is set, x of a later row is prefetched.
template <template <PCMCPIPrecision, typename, int, int> class RowSums, PCMCPIPrecision storage,
          typename T, int bs, int group>
HWY_INLINE void small_row(const ProductArgs &args, Row row, int r, T *out, bool last)
{
  constexpr std::size_t record = record_bytes(storage, bs);
  const std::size_t stride = static_cast<std::size_t>(args.nrhs) * bs;
  const T *x = static_cast<const T *>(args.x) + static_cast<std::size_t>(r) * bs;
  RowSums<storage, T, bs, group> sums;
  sums.zero();
  for (int t = 0; t < args.count; ++t) {
    const StoredTriangle &triangle = args.triangles[t];
    const Offset end = triangle.ptr[row + 1];
    const std::byte *block = triangle.records + triangle.ptr[row] * record;
    if (const Row ahead = row + kRowsAhead; args.far && ahead < args.end)
      for (Offset k = triangle.ptr[ahead]; k < triangle.ptr[ahead + 1]; ++k)
        __builtin_prefetch(x + triangle.col[k] * stride);
    for (Offset k = triangle.ptr[row]; k < end; ++k, block += record) {
      HWY_UNROLL(8)
      for (std::size_t line = 0; line < record; line += 64)
        __builtin_prefetch(block + kPrefetchAhead + line);
      sums.add_block(block, x + triangle.col[k] * stride);
    }
  }
  // Whole vectors are stored. They run into the next entry, which is written later. The last entry
  // must not run past the end of the array.
  unroll<group>([&](auto g) HWY_ATTR {
    if (g() + 1 < group || !last) {
      sums.template store<g()>(out + g() * bs);
    } else {
      T entry[2 * kMaxFlatBlock];
      sums.template store<g()>(entry);
      std::copy_n(entry, bs, out + g() * bs);
    }
  });
}

template <template <PCMCPIPrecision, typename, int, int> class RowSums, PCMCPIPrecision storage,
          typename T, int bs>
void small_product(const ProductArgs &args)
{
  // as many right-hand sides at a time as fit the registers
  constexpr int group = HWY_TARGET == HWY_AVX3 ? 4 : 2;
  T *out = static_cast<T *>(args.sums);
  for (Row row = args.begin; row < args.end; ++row) {
    const bool last = row + 1 == args.end;
    int r = 0;
    for (; r + group <= args.nrhs; r += group, out += group * bs)
      small_row<RowSums, storage, T, bs, group>(args, row, r, out, last && r + group == args.nrhs);
    for (; r < args.nrhs; ++r, out += bs)
      small_row<RowSums, storage, T, bs, 1>(args, row, r, out, last && r + 1 == args.nrhs);
  }
}

template <PCMCPIPrecision storage, typename T> ProductFn select_block_size(int bs)
{
  return with_block_size<1, kMaxFlatBlock>(bs, [&]<int size> {
    if constexpr (size == 0)
      return bs <= kMaxOwnBlock ? ProductFn(ColumnProduct<storage, T>::run)
                                : ProductFn(LibraryProduct<storage, T>::run);
    else if constexpr (size == 1)
      return ProductFn(ScalarProduct<storage, T>::run);
    else if constexpr (size <= static_cast<int>(HWY_LANES(T)))
      return ProductFn(small_product<SpreadSums, storage, T, size>);
    else
      return ProductFn(small_product<BroadcastSums, storage, T, size>);
  });
}

template <PCMCPIPrecision storage> ProductFn select_product(bool x_is_double, int bs)
{
  if (storage == PC_MCPI_PRECISION_FP64 && !x_is_double) return nullptr;
  return with_vectors<storage>(x_is_double,
                               [&]<class T> { return select_block_size<storage, T>(bs); });
}

} // namespace HWY_NAMESPACE
} // namespace mcpi
HWY_AFTER_NAMESPACE();
#endif
#endif
