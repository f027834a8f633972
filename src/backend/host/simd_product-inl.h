// Products of a row's blocks with x, for small block sizes, and the choice among all products.
// Included once for each instruction set. The order in which a row is summed depends on the row
// and on ProductArgs::descending alone.
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
#include "backend/host/simd_update-inl.h"
#include "backend/host/tuning.h"
#include "core/dispatch.h"

#if !MCPI_PLAIN_ONLY
HWY_BEFORE_NAMESPACE();
namespace mcpi {
namespace HWY_NAMESPACE {

template <int n> using Number = std::integral_constant<int, n>;

// Two classes sum a row of small blocks, for a group of right-hand sides at a time. Both have
// zero(), add_block(), and visit(), which passes the sum of a right-hand side vector by vector: its
// tag, the vector, and the numbers of components before it and in it.

// For blocks of which a column fits a SIMD vector. A vector holds as many whole columns as fit,
// side by side; the numbers of x are spread over the lanes of their columns.
template <PCMCPIPrecision storage, typename T, int bs, int group> class SpreadSums {
  static constexpr int kLanes =
      static_cast<int>(std::min<std::size_t>(std::bit_ceil(unsigned(bs * bs)), HWY_LANES(T)));
  static constexpr int kColumns = std::min(bs, kLanes / bs);      // columns in a vector
  static constexpr int kVectors = (bs + kColumns - 1) / kColumns; // vectors of a block
  static constexpr int kLast = bs - (kVectors - 1) * kColumns;    // columns in the last vector
  static constexpr int kChains = HostTuning::spread_chains(kVectors);
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

  // A vector of one column takes its number of x by a broadcast from memory, which is cheaper than
  // a permutation. In single precision with an exponent it is not always: docs/notes/host.md.
  static constexpr bool kBroadcast =
      kColumns == 1 && (!has_exponent(storage) || sizeof(T) == sizeof(double));

  // The numbers of x for the columns of vector v, each in the lanes of its column
  template <int v> static HWY_INLINE V spread(V entry, const T *x, T scale)
  {
    const D d;
    if constexpr (kBroadcast)
      return hn::Set(d, has_exponent(storage) ? x[v] * scale : x[v]);
    else
      return hn::TableLookupLanes(entry, hn::SetTableIndices(d, kSpread.lane[v]));
  }

  HWY_INLINE void add_block(const std::byte *record, const T *x)
  {
    const D d;
    T scale = 1;
    if constexpr (has_exponent(storage)) scale = record_scale<T>(record);
    V entry[group];
    unroll<group>([&](auto g) HWY_ATTR {
      if constexpr (!kBroadcast) entry[g()] = extend(d, hn::LoadU(Entry(), x + g() * bs));
      if constexpr (!kBroadcast && has_exponent(storage))
        entry[g()] = hn::Mul(entry[g()], hn::Set(d, scale));
    });
    unroll<kVectors>([&](auto v) HWY_ATTR {
      const V a = load_stored<storage, v() * kColumns * bs>(d, numbers<storage>(record));
      unroll<group>([&](auto g) HWY_ATTR {
        const V mine = spread<v()>(entry[g()], x + g() * bs, scale);
        const V newest = hn::MulAdd(a, mine, chain_[g()][0][v()]);
        // With BitCast, GCC 12 does not copy the struct of vectors through memory.
        unroll<kChains - 1>([&](auto c) HWY_ATTR {
          chain_[g()][c()][v()] = hn::BitCast(d, chain_[g()][c() + 1][v()]);
        });
        chain_[g()][kChains - 1][v()] = hn::BitCast(d, newest);
      });
    });
  }

  template <int g, class F> HWY_INLINE void visit(F &&f) const
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
    f(Entry(), low_lanes(Entry(), fold<kColumns>(sum[0])), Number<0>(), Number<bs>());
  }
};

// For blocks of which a column takes several SIMD vectors. A number of x is broadcast.
template <PCMCPIPrecision storage, typename T, int bs, int group> class BroadcastSums {
  using D = hn::ScalableTag<T>;
  static constexpr int kLanes = static_cast<int>(HWY_LANES(T));
  static constexpr int kVectors = (bs + kLanes - 1) / kLanes; // vectors of a column
  static constexpr int kChains = HostTuning::kBroadcastChains;

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

  template <int g, class F> HWY_INLINE void visit(F &&f) const
  {
    unroll<kVectors>([&](auto v) HWY_ATTR {
      constexpr int first = v() * kLanes;
      f(D(), hn::Add(chain_[g][0][v()], chain_[g][1][v()]), Number<first>(),
        Number<std::min(bs - first, kLanes)>());
    });
  }
};

// Prefetches all lines of these bytes, whose number the compiler knows. With unroll(), GCC 12 would
// drop prefetches: it takes a lambda that only prefetches for one without effects.
template <std::size_t bytes> HWY_INLINE void fetch_lines(std::uintptr_t address)
{
  constexpr std::size_t inner = (bytes - 1) / kLineBytes;
  HWY_UNROLL(8)
  for (std::size_t line = 0; line <= inner; ++line)
    __builtin_prefetch(reinterpret_cast<const void *>(address + line * kLineBytes));
  if constexpr ((bytes - 1) % kLineBytes != 0)
    __builtin_prefetch(reinterpret_cast<const void *>(address + bytes - 1));
}

// Products of rows with small blocks
template <template <PCMCPIPrecision, typename, int, int> class RowSums, PCMCPIPrecision storage,
          typename T, int bs>
class SmallProduct {
  static constexpr std::size_t kRecord = record_bytes(storage, bs);

  // Updates x.
  class ToUpdate {
    const RowUpdater<T> updater_;
    const int nrhs_;
    const bool keeps_first_;

  public:
    explicit ToUpdate(const ProductArgs &args)
        : updater_(*args.update), nrhs_(args.nrhs),
          keeps_first_(args.count == 2 && updater_.keeps_first())
    {
    }

    template <int group, class F>
    HWY_INLINE void visit(const RowSums<storage, T, bs, group> &sums, Row row, int r,
                          const F &f) const
    {
      const std::size_t at = (static_cast<std::size_t>(row) * nrhs_ + r) * bs;
      unroll<group>([&](auto g) HWY_ATTR {
        sums.template visit<g()>([&](auto d, auto v, auto first, auto count)
                                     HWY_ATTR { f(d, v, at + g() * bs + first(), count); });
      });
    }
    template <class Sums> HWY_INLINE bool between(const Sums &sums, Row row, int r) const
    {
      if (keeps_first_)
        visit(sums, row, r, [&](auto d, auto v, std::size_t at, auto count) HWY_ATTR {
          updater_.template keep<count()>(d, v, at);
        });
      return keeps_first_;
    }
    template <class Sums> HWY_INLINE void last(const Sums &sums, Row row, int r) const
    {
      visit(sums, row, r, [&](auto d, auto v, std::size_t at, auto count) HWY_ATTR {
        updater_.template update<count()>(d, v, at, keeps_first_);
      });
    }
  };

  const ProductArgs args_; // a copy, which no store to an array can change
  const std::size_t stride_;
  const bool descending_;
  // From a block to the next one. In double precision both passes of a symmetric sweep sum a
  // triangle in the same order.
  const Offset next_;
  const Offset onward_; // direction in which the pass goes through the blocks of all rows

  explicit SmallProduct(const ProductArgs &args)
      : args_(args), stride_(static_cast<std::size_t>(args.nrhs) * bs),
        descending_(args.update && args.descending),
        next_(descending_ && sizeof(T) == sizeof(float) ? -1 : 1), onward_(descending_ ? -1 : 1)
  {
  }

  template <int group>
  HWY_INLINE void add_blocks(const StoredTriangle &triangle, Row row, const T *x,
                             RowSums<storage, T, bs, group> &sums) const
  {
    const Offset begin = triangle.ptr[row], end = triangle.ptr[row + 1], next = next_,
                 first = next > 0 ? begin : std::max(begin, end - 1),
                 far = onward_ * HostTuning::kBlocksAhead;
    const std::ptrdiff_t bytes = next * static_cast<std::ptrdiff_t>(kRecord);
    const std::uintptr_t ahead =
        onward_ * HostTuning::kPrefetchAhead; // modulo 2^64, as addresses are
    const auto add = [&](auto fetches_x) HWY_ATTR {
      const std::byte *block = triangle.records + first * static_cast<std::ptrdiff_t>(kRecord);
      Offset k = first;
      for (Offset n = end - begin; n > 0; --n, k += next, block += bytes) {
        HWY_UNROLL(8)
        for (std::size_t line = 0; line < kRecord; line += kLineBytes)
          __builtin_prefetch(reinterpret_cast<const void *>(
              reinterpret_cast<std::uintptr_t>(block) + ahead + line));
        if constexpr (fetches_x)
          fetch_lines<group * bs * sizeof(T)>(
              reinterpret_cast<std::uintptr_t>(x + triangle.col[k + far] * stride_));
        sums.add_block(block, x + triangle.col[k] * stride_);
      }
    };
    if (args_.far && begin + far >= 0 && end + far <= triangle.blocks)
      add(std::true_type());
    else
      add(std::false_type());
  }

  // Computes the sums of one row for `group` right-hand sides from r on.
  template <int group> HWY_INLINE void add_row(Row row, int r, const ToUpdate &take) const
  {
    const T *x = static_cast<const T *>(args_.x) + static_cast<std::size_t>(r) * bs;
    RowSums<storage, T, bs, group> sums;
    sums.zero();
    for (int t = 0; t < args_.count; ++t) {
      add_blocks<group>(args_.triangles[t], row, x, sums);
      if (t == 0 && take.between(sums, row, r)) sums.zero();
    }
    take.last(sums, row, r);
  }

  static HWY_INLINE void run_rows(const ProductArgs &args, const ToUpdate &take)
  {
    // as many right-hand sides at a time as fit the registers
    constexpr int group =
        HWY_TARGET == HWY_AVX3 ? HostTuning::kTogetherAVX3 : HostTuning::kTogether;
    const SmallProduct product(args);
    for (Row n = args.begin; n < args.end; ++n) {
      const Row row = !product.descending_ ? n : args.end - 1 - (n - args.begin);
      int r = 0;
      for (; r + group <= args.nrhs; r += group) product.template add_row<group>(row, r, take);
      for (; r < args.nrhs; ++r) product.template add_row<1>(row, r, take);
    }
  }

public:
  static void run(const ProductArgs &args)
  {
    // Only the factored form, and products that read rounded vectors, need sums. They share the
    // code of larger blocks, because code for each block size would take long to compile.
    if (args.update)
      run_rows(args, ToUpdate(args));
    else if constexpr (storage == PC_MCPI_PRECISION_INT4) // columns may begin in mid-byte
      plain_kernels().product(storage, sizeof(T) == sizeof(double), bs)(args);
    else
      ColumnProduct<storage, T>::run(args);
  }
};

template <PCMCPIPrecision storage, typename T> ProductKernel select_block_size(int bs)
{
  return with_block_size<1, kMaxFlatBlock>(bs, [&]<int size> {
    if constexpr (size == 0)
      return bs <= HostTuning::kMaxOwnBlock ? ProductKernel{ColumnProduct<storage, T>::run}
                                            : ProductKernel{LibraryProduct<storage, T>::run};
    else if constexpr (size == 1)
      return ProductKernel{ScalarProduct<storage, T>::run};
    else if constexpr (size <= static_cast<int>(HWY_LANES(T)))
      return ProductKernel{SmallProduct<SpreadSums, storage, T, size>::run, true};
    else
      return ProductKernel{SmallProduct<BroadcastSums, storage, T, size>::run, true};
  });
}

template <PCMCPIPrecision storage> ProductKernel select_product(bool x_is_double, int bs)
{
  if (storage == PC_MCPI_PRECISION_FP64 && !x_is_double) return ProductKernel();
  return with_vectors<storage>(x_is_double,
                               [&]<class T> { return select_block_size<storage, T>(bs); });
}

} // namespace HWY_NAMESPACE
} // namespace mcpi
HWY_AFTER_NAMESPACE();
#endif
#endif
