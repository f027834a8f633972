// Products for the block sizes that do not fill SIMD vectors evenly: 1, those above kMaxFlatBlock,
// and those for which BLAS is called. Included once for each instruction set.
#if defined(MCPI_SIMD_COLUMN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MCPI_SIMD_COLUMN_INL_H
#undef MCPI_SIMD_COLUMN_INL_H
#else
#define MCPI_SIMD_COLUMN_INL_H
#endif

#include <algorithm>

#include "backend/host/blas.h"
#include "backend/host/simd_stored-inl.h"
#include "backend/host/tuning.h"

#if !MCPI_PLAIN_ONLY
HWY_BEFORE_NAMESPACE();
namespace mcpi {
namespace HWY_NAMESPACE {

// Blocks above kMaxFlatBlock, and sums of smaller ones. A SIMD vector holds part of a column, and a
// number of x is broadcast. Where registers cannot hold the sums of a whole column, rows are taken
// in strips.
template <PCMCPIPrecision storage, typename T> class ColumnProduct {
  using D = hn::ScalableTag<T>;
  using V = hn::VFromD<D>;
  static constexpr int kLanes = static_cast<int>(HWY_LANES(T));
  static constexpr int kMaxStrip = HostTuning::kMaxStrip;

  template <int vectors> struct Sums {
    static constexpr int kChains = HostTuning::column_chains(vectors);
    V chain[kChains][vectors];

    HWY_INLINE void zero()
    {
      unroll<kChains * vectors>(
          [&](auto i) HWY_ATTR { chain[i() / vectors][i() % vectors] = hn::Zero(D()); });
    }
    HWY_INLINE V total(int v) const
    {
      V sum = chain[0][v];
      unroll<kChains - 1>([&](auto c) HWY_ATTR { sum = hn::Add(sum, chain[c() + 1][v]); });
      return sum;
    }
  };

  // Adds the rows of a strip in column j, times x, to the sums. column: the column's first number
  // in the strip.
  template <int vectors> static HWY_INLINE void add_column(const std::byte *column, T x, V *sums)
  {
    const V xj = hn::Set(D(), x);
    unroll<vectors>([&](auto v) HWY_ATTR {
      sums[v()] = hn::MulAdd(load_stored<storage, v() * kLanes>(D(), column), xj, sums[v()]);
    });
  }

  template <int vectors>
  static HWY_INLINE void add_block(const std::byte *strip, std::size_t column_bytes, int bs,
                                   const T *x, Sums<vectors> &sums)
  {
    constexpr int chains = Sums<vectors>::kChains;
    int j = 0;
    for (; j + chains <= bs; j += chains, strip += chains * column_bytes)
      unroll<chains>([&](auto c) HWY_ATTR {
        add_column<vectors>(strip + c() * column_bytes, x[j + c()], sums.chain[c()]);
      });
    for (; j < bs; ++j, strip += column_bytes) add_column<vectors>(strip, x[j], sums.chain[0]);
  }

  template <int vectors>
  static HWY_INLINE void add_row(const ProductArgs &args, Row row, int r, int first, T *out,
                                 std::ptrdiff_t room)
  {
    const int bs = args.bs;
    const std::size_t stride = static_cast<std::size_t>(args.nrhs) * bs,
                      record = record_bytes(storage, bs);
    const std::size_t column = byte_offset<storage>(leading_dimension(storage, bs));
    Sums<vectors> sums;
    sums.zero();
    for (int t = 0; t < args.count; ++t) {
      const StoredTriangle &triangle = args.triangles[t];
      const T *x = static_cast<const T *>(args.x) + static_cast<std::size_t>(r) * bs;
      for (Offset k = triangle.ptr[row]; k < triangle.ptr[row + 1]; ++k) {
        const std::byte *block = triangle.records + k * record;
        const T *xk = x + triangle.col[k] * stride;
        if constexpr (has_exponent(storage)) {
          Sums<vectors> integers;
          integers.zero();
          add_block<vectors>(numbers<storage>(block) + byte_offset<storage>(first), column, bs, xk,
                             integers);
          const V scale = hn::Set(D(), record_scale<T>(block));
          unroll<vectors>([&](auto v) HWY_ATTR {
            sums.chain[0][v()] = hn::MulAdd(integers.total(v()), scale, sums.chain[0][v()]);
          });
        } else {
          add_block<vectors>(block + byte_offset<storage>(first), column, bs, xk, sums);
        }
      }
    }
    // Whole vectors are stored. They run into the next entries, which are written later. They must
    // not run past the end of the array.
    if (first + vectors * kLanes <= room) {
      unroll<vectors>(
          [&](auto v) HWY_ATTR { hn::StoreU(sums.total(v()), D(), out + first + v() * kLanes); });
    } else {
      T strip[vectors * kLanes];
      unroll<vectors>([&](auto v)
                          HWY_ATTR { hn::StoreU(sums.total(v()), D(), strip + v() * kLanes); });
      std::copy_n(strip, bs - first, out + first);
    }
  }

public:
  static void run(const ProductArgs &args)
  {
    const int bs = args.bs;
    T *out = static_cast<T *>(args.sums);
    std::ptrdiff_t room = std::ptrdiff_t{args.end - args.begin} * args.nrhs * bs; // from out on
    for (Row row = args.begin; row < args.end; ++row)
      for (int r = 0; r < args.nrhs; ++r, out += bs, room -= bs) {
        for (int first = 0; first < bs; first += kMaxStrip * kLanes) {
          switch ((bs - first + kLanes - 1) / kLanes) {
          case 1:
            add_row<1>(args, row, r, first, out, room);
            break;
          case 2:
            add_row<2>(args, row, r, first, out, room);
            break;
          case 3:
            add_row<3>(args, row, r, first, out, room);
            break;
          default:
            add_row<kMaxStrip>(args, row, r, first, out, room);
          }
        }
      }
  }
};

// Large blocks are multiplied by BLAS. Blocks stored in the type of the vectors are passed as they
// are. Other blocks are decoded to that type in tiles.
template <PCMCPIPrecision storage, typename T> class LibraryProduct {
  using D = hn::ScalableTag<T>;
  static constexpr int kLanes = static_cast<int>(HWY_LANES(T));
  static constexpr int kRows = HostTuning::kDecodedRows, kTile = HostTuning::kDecodedTile;
  static constexpr bool kStored = (storage == PC_MCPI_PRECISION_FP64) ||
                                  (storage == PC_MCPI_PRECISION_FP32 && sizeof(T) == sizeof(float));

  // Adds a block's products to sums. x: the entries of x for the block's column, with bs numbers
  // for each right-hand side.
  static void add_block(const ProductArgs &args, const std::byte *record, const T *x, T *sums)
  {
    const int bs = args.bs;
    if constexpr (kStored) {
      for (int r = 0; r < args.nrhs; ++r, x += bs, sums += bs)
        blas_add_product(bs, bs, T(1), reinterpret_cast<const T *>(record), bs, x, sums);
    } else {
      alignas(64) T tile[kTile + HWY_LANES(T)];
      const std::size_t column = byte_offset<storage>(leading_dimension(storage, bs));
      const T scale = has_exponent(storage) ? record_scale<T>(record) : T(1);
      const int ld = std::min((bs + kLanes - 1) / kLanes * kLanes, kRows);
      for (int j0 = 0; j0 < bs; j0 += kTile / ld)
        for (int i0 = 0; i0 < bs; i0 += kRows) {
          const int rows = std::min(kRows, bs - i0), columns = std::min(kTile / ld, bs - j0);
          for (int j = 0; j < columns; ++j) {
            const std::byte *from =
                numbers<storage>(record) + (j0 + j) * column + byte_offset<storage>(i0);
            for (int i = 0; i < rows; i += kLanes)
              hn::StoreU(load_stored<storage, 0>(D(), from + byte_offset<storage>(i)), D(),
                         tile + j * ld + i);
          }
          for (int r = 0; r < args.nrhs; ++r)
            blas_add_product(rows, columns, scale, tile, ld,
                             x + static_cast<std::size_t>(r) * bs + j0,
                             sums + static_cast<std::size_t>(r) * bs + i0);
        }
    }
  }

public:
  static void run(const ProductArgs &args)
  {
    const std::size_t entry = static_cast<std::size_t>(args.nrhs) * args.bs,
                      record = record_bytes(storage, args.bs);
    T *sums = static_cast<T *>(args.sums);
    for (Row row = args.begin; row < args.end; ++row, sums += entry) {
      std::fill_n(sums, entry, T(0));
      for (int t = 0; t < args.count; ++t) {
        const StoredTriangle &triangle = args.triangles[t];
        for (Offset k = triangle.ptr[row]; k < triangle.ptr[row + 1]; ++k)
          add_block(args, triangle.records + k * record,
                    static_cast<const T *>(args.x) + triangle.col[k] * entry, sums);
      }
    }
  }
};

// Blocks of one number. Numbers are decoded in vectors, then summed in order.
template <PCMCPIPrecision storage, typename T> class ScalarProduct {
  using D = hn::ScalableTag<T>;
  static constexpr Offset kLanes = static_cast<Offset>(HWY_LANES(T));
  static constexpr Offset kBatch = HostTuning::kDecodedNumbers;
  static constexpr Row kRows = HostTuning::kScalarRows;
  static constexpr bool kStored = (storage == PC_MCPI_PRECISION_FP64) ||
                                  (storage == PC_MCPI_PRECISION_FP32 && sizeof(T) == sizeof(float));

  static HWY_INLINE hn::VFromD<D> load(const std::byte *records, Offset k)
  {
    const D d;
    const std::byte *at = records + k * record_bytes(storage, 1);
    if constexpr (has_exponent(storage)) {
      const hn::Rebind<std::int16_t, D> pairs;
      const hn::Rebind<std::int32_t, D> ints;
      const auto pair =
          hn::PromoteTo(ints, hn::LoadU(pairs, reinterpret_cast<const std::int16_t *>(at)));
      const auto exponent = hn::ShiftRight<24>(hn::ShiftLeft<24>(pair));
      const auto scale = hn::BitCast(hn::Rebind<float, D>(),
                                     hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(ints, 127))));
      auto q = hn::ShiftRight<8>(pair);
      if constexpr (storage == PC_MCPI_PRECISION_INT4)
        q = hn::Sub(hn::And(q, hn::Set(ints, 15)), hn::Set(ints, 8));
      return hn::Mul(from_int(d, q), from_float(d, scale));
    } else {
      return load_stored<storage, 0>(d, at);
    }
  }

  // Returns numbers k, ..., k + count - 1 of the triangle, not more than a batch holds. They are
  // decoded to the batch if they are not stored in the type of the vectors.
  static HWY_INLINE const T *decode(const std::byte *records, Offset k, Offset count, T *batch)
  {
    if constexpr (kStored) {
      return reinterpret_cast<const T *>(records) + k;
    } else {
      for (Offset i = 0; i < count; i += kLanes) hn::StoreU(load(records, k + i), D(), batch + i);
      return batch;
    }
  }

  static void add_rows(const StoredTriangle &triangle, const ProductArgs &args, Row begin, Row end,
                       T *out)
  {
    alignas(64) T batch[kBatch + kLanes];
    const T *x = static_cast<const T *>(args.x);
    Row row = begin;
    for (Offset k = triangle.ptr[begin]; k < triangle.ptr[end];) {
      const Offset stop = kStored ? triangle.ptr[end] : std::min(k + kBatch, triangle.ptr[end]);
      const T *number = decode(triangle.records, k, stop - k, batch) - k;
      while (k < stop) {
        while (triangle.ptr[row + 1] <= k) ++row;
        const Offset row_stop = std::min(stop, triangle.ptr[row + 1]);
        T *sum = out + static_cast<std::size_t>(row - begin) * args.nrhs;
        for (int r = 0; r < args.nrhs; ++r) {
          T s = sum[r];
          for (Offset i = k; i < row_stop; ++i)
            s += number[i] * x[static_cast<std::size_t>(triangle.col[i]) * args.nrhs + r];
          sum[r] = s;
        }
        k = row_stop;
      }
    }
  }

public:
  static void run(const ProductArgs &args)
  {
    T *out = static_cast<T *>(args.sums);
    for (Row row = args.begin; row < args.end; row += kRows) {
      const Row end = std::min(args.end, row + kRows);
      std::fill_n(out, static_cast<std::size_t>(end - row) * args.nrhs, T(0));
      for (int t = 0; t < args.count; ++t) add_rows(args.triangles[t], args, row, end, out);
      out += static_cast<std::size_t>(end - row) * args.nrhs;
    }
  }
};

} // namespace HWY_NAMESPACE
} // namespace mcpi
HWY_AFTER_NAMESPACE();
#endif
#endif
