// Products of a row's blocks with x; included once per instruction set. The order of a row's sum depends on the row alone.
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

#if !MCPI_PLAIN_ONLY
HWY_BEFORE_NAMESPACE();
namespace mcpi {
namespace HWY_NAMESPACE {

// A small block: as many whole columns in a vector as fit, x spread over them.
template <PCMCPIPrecision storage, typename T, int bs> class FlatProduct {
  static constexpr int         kLanes   = static_cast<int>(std::min<std::size_t>(std::bit_ceil(unsigned(bs * bs)), HWY_LANES(T)));
  static constexpr int         kColumns = std::min(bs, kLanes / bs);                // per vector
  static constexpr int         kVectors = (bs + kColumns - 1) / kColumns;           // per block
  static constexpr int         kLast    = bs - (kVectors - 1) * kColumns;           // columns in the last vector
  static constexpr int         kChains  = kVectors >= 4 ? 1 : kVectors > 1 ? 2 : 4; // independent sums hide the latency of multiply-add
  static constexpr int         kEntry   = static_cast<int>(std::bit_ceil(unsigned(bs))); // lanes to load and store an entry of x
  static constexpr std::size_t kNumbers = has_exponent(storage) ? 1 : 0;
  using D                               = hn::FixedTag<T, kLanes>;
  using Entry                           = hn::FixedTag<T, kEntry>;
  using V                               = hn::VFromD<D>;
  using Bits                            = hwy::MakeUnsigned<T>;

  struct Spread {
    Bits lane[kVectors][kLanes];
  };
  static constexpr Spread make_spread()
  {
    Spread spread{};
    for (int v = 0; v < kVectors; ++v)
      for (int l = 0; l < kLanes; ++l) spread.lane[v][l] = static_cast<Bits>(std::min(v * kColumns + l / bs, bs - 1));
    return spread;
  }
  alignas(64) static constexpr Spread kSpread = make_spread();

  struct Sums {
    V chain[kChains][kVectors];
  };

  static HWY_INLINE void add_block(const std::byte *record, const T *x, Sums &sums)
  {
    const D d;
    V       xv = extend(d, hn::LoadU(Entry(), x));
    if constexpr (has_exponent(storage)) xv = hn::Mul(xv, hn::Set(d, record_scale<T>(record)));
    unroll<kVectors>([&](auto v) HWY_ATTR {
      const V a      = load_stored<storage, v() * kColumns * bs>(d, record + kNumbers);
      const V mine   = hn::TableLookupLanes(xv, hn::SetTableIndices(d, kSpread.lane[v()]));
      const V oldest = sums.chain[0][v()];
      unroll<kChains - 1>([&](auto c) HWY_ATTR { sums.chain[c()][v()] = sums.chain[c() + 1][v()]; });
      sums.chain[kChains - 1][v()] = hn::MulAdd(a, mine, oldest);
    });
  }

  // sum + (the lanes from column first + half on, moved to column first): adds the upper columns onto the lower ones
  template <int columns> static HWY_INLINE V fold(V v)
  {
    if constexpr (columns == 1) {
      return v;
    } else {
      constexpr int half = (columns + 1) / 2;
      struct Shift {
        Bits lane[kLanes];
      };
      alignas(64) static constexpr Shift kShift = [] {
        Shift shift{};
        for (int l = 0; l < kLanes; ++l) shift.lane[l] = static_cast<Bits>(std::min(l + half * bs, kLanes - 1));
        return shift;
      }();
      const D d;
      V       upper = hn::TableLookupLanes(v, hn::SetTableIndices(d, kShift.lane));
      if constexpr (columns % 2 != 0) upper = hn::IfThenElseZero(hn::FirstN(d, (columns - half) * bs), upper);
      return fold<half>(hn::Add(v, upper));
    }
  }

  static HWY_INLINE hn::VFromD<Entry> reduce(const Sums &sums)
  {
    V total[kVectors];
    unroll<kVectors>([&](auto v) HWY_ATTR {
      total[v()] = sums.chain[0][v()];
      unroll<kChains - 1>([&](auto c) HWY_ATTR { total[v()] = hn::Add(total[v()], sums.chain[c() + 1][v()]); });
    });
    if constexpr (kLast < kColumns) total[kVectors - 1] = hn::IfThenElseZero(hn::FirstN(D(), kLast * bs), total[kVectors - 1]);
    unroll<kVectors - 1>([&](auto v) HWY_ATTR { total[0] = hn::Add(total[0], total[v() + 1]); });
    return low_lanes(Entry(), fold<kColumns>(total[0]));
  }

public:
  static void run(const ProductArgs &args)
  {
    constexpr std::size_t record = record_bytes(storage, bs);
    const std::size_t     stride = static_cast<std::size_t>(args.nrhs) * bs;
    T                    *out    = static_cast<T *>(args.sums);
    for (Row row = args.begin; row < args.end; ++row)
      for (int r = 0; r < args.nrhs; ++r, out += bs) {
        const T *x = static_cast<const T *>(args.x) + r * bs;
        Sums     sums;
        unroll<kChains * kVectors>([&](auto i) HWY_ATTR { sums.chain[i() / kVectors][i() % kVectors] = hn::Zero(D()); });
        for (int t = 0; t < args.count; ++t) {
          const StoredTriangle &triangle = args.triangles[t];
          const Offset          end      = triangle.ptr[row + 1];
          const std::byte      *numbers  = triangle.records + triangle.ptr[row] * record;
          for (Offset k = triangle.ptr[row]; k < end; ++k, numbers += record) {
            HWY_UNROLL(8)
            for (std::size_t line = 0; line < record; line += 64) __builtin_prefetch(numbers + kPrefetchAhead + line);
            add_block(numbers, x + triangle.col[k] * stride, sums);
          }
        }
        store_entry(reduce(sums), out, row + 1 == args.end && r + 1 == args.nrhs);
      }
  }

private:
  // Whole vectors run into the next entry, which is written later, but not past the array's end.
  static HWY_INLINE void store_entry(hn::VFromD<Entry> v, T *out, bool last)
  {
    if (!last) {
      hn::StoreU(v, Entry(), out);
    } else {
      T entry[kEntry];
      hn::StoreU(v, Entry(), entry);
      std::copy_n(entry, bs, out);
    }
  }
};

template <PCMCPIPrecision storage, typename T, int bs> constexpr ProductFn select_flat()
{
  if constexpr (bs <= static_cast<int>(HWY_LANES(T)))
    return FlatProduct<storage, T, bs>::run;
  else
    return ColumnProduct<storage, T>::run;
}

template <PCMCPIPrecision storage, typename T> ProductFn select_block_size(int bs)
{
  static constexpr ProductFn kSmall[kMaxFlatBlock + 1] = {nullptr,
                                                          ScalarProduct<storage, T>::run,
                                                          select_flat<storage, T, 2>(),
                                                          select_flat<storage, T, 3>(),
                                                          select_flat<storage, T, 4>(),
                                                          select_flat<storage, T, 5>(),
                                                          select_flat<storage, T, 6>(),
                                                          select_flat<storage, T, 7>(),
                                                          select_flat<storage, T, 8>()};
  if (bs <= kMaxFlatBlock) return kSmall[bs];
  return bs <= kMaxOwnBlock ? ColumnProduct<storage, T>::run : LibraryProduct<storage, T>::run;
}

template <typename T> ProductFn select_product(PCMCPIPrecision storage, int bs)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    if constexpr (sizeof(T) < sizeof(double))
      return nullptr;
    else
      return select_block_size<PC_MCPI_PRECISION_FP64, T>(bs);
  case PC_MCPI_PRECISION_FP32:
    return select_block_size<PC_MCPI_PRECISION_FP32, T>(bs);
  case PC_MCPI_PRECISION_FP16:
    return select_block_size<PC_MCPI_PRECISION_FP16, T>(bs);
  case PC_MCPI_PRECISION_BF16:
    return select_block_size<PC_MCPI_PRECISION_BF16, T>(bs);
  case PC_MCPI_PRECISION_INT8:
    return select_block_size<PC_MCPI_PRECISION_INT8, T>(bs);
  case PC_MCPI_PRECISION_INT4:
    return select_block_size<PC_MCPI_PRECISION_INT4, T>(bs);
  }
  return nullptr;
}

} // namespace HWY_NAMESPACE
} // namespace mcpi
HWY_AFTER_NAMESPACE();
#endif
#endif
