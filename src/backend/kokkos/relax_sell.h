// Relaxation with small blocks on a CPU, stored in the layout sell. A thread takes a tile. SIMD
// instructions work on the rows of the tile, one row in each lane. The kernel reads sell_tiles,
// sell_rows, blocks, read, rhs, kept and diagonal; it writes x and kept. It begins after the
// previous launch has ended.
#pragma once

#include <cstring>
#include <utility>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "backend/kokkos/kernels.h"

namespace mcpi::kokkos {

// SimdVector: 64 bytes of numbers, one for each row of a tile. It consists of as many SIMD vectors
// as the CPU needs for 64 bytes. Uses the vector extensions of GCC, Clang and related compilers.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class Number, int count> struct VectorOf {
  typedef Number Type __attribute__((vector_size(count * sizeof(Number))));
};
template <class Number, int count> using Vector = typename VectorOf<Number, count>::Type;

template <class T> struct SimdVector {
  static constexpr int each = kVectorBytes / static_cast<int>(sizeof(T)), parts = 64 / kVectorBytes;
  Vector<T, each> part[parts] = {};
};

template <class To, int count, class From> MCPI_HD Vector<To, count> converted(const From &from)
{
  return __builtin_convertvector(from, Vector<To, count>);
}
template <class Number, int count> MCPI_HD Vector<Number, count> loaded(const Number *from)
{
  Vector<Number, count> v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
template <int count> MCPI_HD Vector<float, count> as_floats(Vector<std::uint32_t, count> bits)
{
  return reinterpret_cast<Vector<float, count>>(bits);
}

// Converts fp16 numbers as half_to_float() does. CPUs that have an instruction for it use that.
template <int count> MCPI_HD Vector<float, count> halves(const std::uint16_t *from)
{
#if defined(__AVX512F__)
  if constexpr (count == 16)
    return reinterpret_cast<Vector<float, count>>(
        _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from))));
#endif
#if defined(__F16C__)
  if constexpr (count == 8)
    return reinterpret_cast<Vector<float, count>>(
        _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from))));
#endif
  constexpr std::uint32_t kRebias = (127U - 15U) << 23, kNormal = 1U << 23;
  const Vector<std::uint32_t, count> bits = converted<std::uint32_t, count>(
                                         loaded<std::uint16_t, count>(from)),
                                     magnitude = (bits & 0x7fffU) << 13,
                                     sign = (bits & 0x8000U) << 16, normal = magnitude + kRebias;
  const auto denormal =
      reinterpret_cast<Vector<std::uint32_t, count>>(as_floats<count>(normal + kNormal) - 0x1p-14f);
  const auto small = reinterpret_cast<Vector<std::uint32_t, count>>(
      reinterpret_cast<Vector<std::int32_t, count>>(magnitude) <
      static_cast<std::int32_t>(kNormal));
  return as_floats<count>((small & denormal) | (~small & normal) | sign);
}

// Returns number n of the stored blocks of one step, for all lanes.
template <PCMCPIPrecision storage, class T>
MCPI_HD SimdVector<T> stored_numbers(const std::byte *numbers, int n)
{
  constexpr int lanes = kLanes<T>, each = SimdVector<T>::each;
  SimdVector<T> result;
#pragma GCC unroll 8
  for (int p = 0; p < SimdVector<T>::parts; ++p) {
    const std::byte *at = numbers + p * each * static_cast<int>(sizeof(Raw<storage>)) +
                          (storage == PC_MCPI_PRECISION_INT4 ? n / 2 : n) * lanes *
                              static_cast<int>(sizeof(Raw<storage>));
    const auto *raw = reinterpret_cast<const Raw<storage> *>(at);
    if constexpr (storage == PC_MCPI_PRECISION_FP64 || storage == PC_MCPI_PRECISION_FP32) {
      result.part[p] = converted<T, each>(loaded<Raw<storage>, each>(raw));
    } else if constexpr (storage == PC_MCPI_PRECISION_FP16) {
      result.part[p] = converted<T, each>(halves<each>(raw));
    } else if constexpr (storage == PC_MCPI_PRECISION_INT8) {
      result.part[p] = converted<T, each>(converted<std::int32_t, each>(
          loaded<std::int8_t, each>(reinterpret_cast<const std::int8_t *>(raw))));
    } else {
      const auto two = converted<std::int32_t, each>(loaded<std::uint8_t, each>(raw));
      result.part[p] = converted<T, each>((n % 2 ? two >> 4 : two & 15) - kNibbleShift);
    }
  }
  return result;
}

// Returns a vector with value(l) in lane l.
template <class T, class Value> MCPI_HD SimdVector<T> gathered(const Value &value)
{
  constexpr int each = SimdVector<T>::each;
  SimdVector<T> result;
#pragma GCC unroll 8
  for (int p = 0; p < SimdVector<T>::parts; ++p)
    result.part[p] = [&]<int... e>(std::integer_sequence<int, e...>)
    {
      return Vector<T, each>{value(p * each + e)...};
    }
  (std::make_integer_sequence<int, each>());
  return result;
}

template <class T>
MCPI_HD void multiply_add(SimdVector<T> &sum, const SimdVector<T> &a, const SimdVector<T> &b)
{
#pragma GCC unroll 8
  for (int p = 0; p < SimdVector<T>::parts; ++p) sum.part[p] += a.part[p] * b.part[p];
}

template <PCMCPIPrecision storage, class T, int bs> struct RelaxSell {
  static constexpr int lanes = kLanes<T>;
  using Sums = T[bs][lanes];

  RelaxArgs args;

  KOKKOS_FUNCTION void operator()(const std::uint32_t t) const
  {
    const SellTile &tile = args.sell_tiles[t];
    // The sums over the triangles are kept apart only if one of them is needed by itself.
    const bool lower = args.flags & kLower, upper = args.flags & kUpper,
               apart = args.flags & kKeepSum;
    for (int r = 0; r < args.nrhs; ++r) {
      Sums low = {}, up = {};
      if (lower && upper && !apart) {
        products<false>(tile, 0, tile.steps, true, r, low);
      } else {
        if (lower) products<true>(tile, 0, tile.lower_steps, true, r, low);
        if (upper) products<true>(tile, tile.upper_begin, tile.steps, false, r, up);
      }
      update(tile, r, low, up);
    }
  }

private:
  // Prefetches the blocks that come kPrefetchAhead bytes later. Steps lie one after the other in
  // memory, those of the next tiles as well. CPUs themselves prefetch no further than the end of a
  // page.
  static MCPI_HD void fetch_ahead(const std::byte *step, std::size_t bytes)
  {
    constexpr std::size_t kLine = 64;
    for (std::size_t line = 0; line < bytes; line += kLine)
      __builtin_prefetch(step + kPrefetchAhead + line);
  }
  // Computes the sums over the steps [from, to). masked: only the blocks of one triangle count, the
  // lower one or the upper one.
  template <bool masked>
  KOKKOS_FUNCTION void products(const SellTile &tile, int from, int to, bool lower, int r,
                                Sums &sums) const
  {
    const std::size_t entry = static_cast<std::size_t>(args.nrhs) * bs,
                      step_bytes = args.shape.step_bytes();
    const T *x = static_cast<const T *>(args.read) + static_cast<std::size_t>(r) * bs;
    int first[lanes], last[lanes];
    for (int l = 0; masked && l < lanes; ++l) {
      const SellRow row = args.sell_rows[tile.row + (l < tile.rows ? l : 0)];
      first[l] = lower ? 0 : row.lower;
      last[l] = l < tile.rows ? (lower ? row.lower : row.all) : 0;
    }
    SimdVector<T> sum[bs];
    const std::byte *step = args.blocks + tile.base + static_cast<std::size_t>(from) * step_bytes;
    for (int k = from; k < to; ++k, step += step_bytes) {
      const Row *column = reinterpret_cast<const Row *>(step);
      const auto *power = reinterpret_cast<const std::int8_t *>(step + lanes * sizeof(Row));
      const std::byte *numbers = step + args.shape.step_numbers();
      const T *at[lanes];
      fetch_ahead(step, step_bytes);
      for (int l = 0; l < lanes; ++l) at[l] = x + static_cast<std::size_t>(column[l]) * entry;
#pragma GCC unroll 8
      for (int j = 0; j < bs; ++j) {
        const SimdVector<T> xj = gathered<T>([&](int l) {
          T v = at[l][j];
          if constexpr (masked) v = k >= first[l] && k < last[l] ? v : T(0);
          if constexpr (has_exponent(storage)) v *= power_of_two<T>(power[l]);
          return v;
        });
#pragma GCC unroll 8
        for (int i = 0; i < bs; ++i)
          multiply_add(sum[i], stored_numbers<storage, T>(numbers, j * bs + i), xj);
      }
    }
    for (int i = 0; i < bs; ++i) std::memcpy(sums[i], &sum[i], sizeof(sum[i]));
  }

  // Updates x of the tile's rows from the sums over both triangles.
  MCPI_HD void update(const SellTile &tile, int r, const Sums &low, const Sums &up) const
  {
    const T *rhs = static_cast<const T *>(args.rhs);
    T value[lanes * bs]; // row by row
    for (int l = 0; l < tile.rows; ++l) {
      const std::size_t first =
          (static_cast<std::size_t>(tile.row + l) * static_cast<std::size_t>(args.nrhs) +
           static_cast<std::size_t>(r)) *
          bs;
      for (int i = 0; i < bs; ++i)
        value[l * bs + i] =
            residual<T>(args, rhs[first + static_cast<std::size_t>(i)], {low[i][l], up[i][l]},
                        kept_sum<T>(args, first + static_cast<std::size_t>(i)),
                        first + static_cast<std::size_t>(i));
      if (args.flags & kFactored) {
        T v[bs];
        for (int i = 0; i < bs; ++i)
          v[i] = apply_diagonal<bs, T>(args, static_cast<std::size_t>(tile.row + l), i,
                                       [&](int j) { return value[l * bs + j]; });
        for (int i = 0; i < bs; ++i) value[l * bs + i] = v[i];
      }
      for (int i = 0; i < bs; ++i)
        store_component<T>(args, value[l * bs + i], first + static_cast<std::size_t>(i));
    }
  }
};

template <class Space, PCMCPIPrecision storage, class T, int bs>
void relax_sell(const Space &space, const RelaxArgs &args)
{
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::uint32_t>>;
  Kokkos::parallel_for("mcpi relax", Policy(space, args.first_tile, args.last_tile),
                       RelaxSell<storage, T, bs>{args});
}

} // namespace mcpi::kokkos
