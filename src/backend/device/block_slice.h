// A block slice (shapes.h) in a thread's registers, and the partial products of a tile's slices.
#pragma once

#include <utility>

#include "backend/device/numbers.h"
#include "backend/device/relax_update.h"
#include "core/plan.h"

namespace mcpi::device {

// n neighboring numbers in an array of such runs. A device moves as many at once, a piece, as their
// alignment allows.
template <class T, int n> struct RunOf {
  static constexpr std::size_t bytes = n * sizeof(T);
  static constexpr int wide = bytes % 16 == 0 ? 16 / sizeof(T) : bytes % 8 == 0 ? 8 / sizeof(T) : 1;
  struct alignas(wide * sizeof(T)) Piece {
    T v[wide];
  };
};

// n neighboring words that one instruction loads: 1, 2 or 4
template <int n> using Words = typename RunOf<std::uint32_t, n>::Piece;

// Loads for data that a sweep reads once, such as blocks. On NVIDIA GPUs they do not allocate lines
// in the first-level cache, so they do not evict x.
template <int n> MCPI_HD Words<n> load_once(const Words<n> *from)
{
#if defined(__CUDA_ARCH__)
  Words<n> w;
  if constexpr (n == 4)
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(w.v[0]), "=r"(w.v[1]), "=r"(w.v[2]), "=r"(w.v[3])
        : "l"(from));
  else if constexpr (n == 2)
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
        : "=r"(w.v[0]), "=r"(w.v[1])
        : "l"(from));
  else
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(w.v[0]) : "l"(from));
  return w;
#else
  return *from;
#endif
}

template <class T, int n> MCPI_HD void load_run(const T *from, T (&to)[n])
{
  using Run = RunOf<T, n>;
  MCPI_UNROLL
  for (int q = 0; q < n / Run::wide; ++q) {
    const typename Run::Piece piece = reinterpret_cast<const typename Run::Piece *>(from)[q];
    MCPI_UNROLL
    for (int k = 0; k < Run::wide; ++k) to[q * Run::wide + k] = piece.v[k];
  }
}
template <class T, int n> MCPI_HD void store_run(const T (&from)[n], T *to)
{
  using Run = RunOf<T, n>;
  MCPI_UNROLL
  for (int q = 0; q < n / Run::wide; ++q) {
    typename Run::Piece piece;
    MCPI_UNROLL
    for (int k = 0; k < Run::wide; ++k) piece.v[k] = from[q * Run::wide + k];
    reinterpret_cast<typename Run::Piece *>(to)[q] = piece;
  }
}

// A slice as it is stored, in registers.
template <PCMCPIPrecision storage, int bs, bool packed> struct BlockSlice {
  static constexpr SliceShape shape = slice_shape(storage, bs, packed);
  static constexpr int words = shape.bytes / 4;
  std::uint32_t word[words];

  // Loads slice k of a tile that stores count slices. The head word is loaded first, because the
  // loads of x need its column; they start while the numbers are still on their way.
  MCPI_HD void load(const std::byte *tile, std::uint32_t count, std::uint32_t k)
  {
    constexpr int pieces = shape.pieces();
    const auto *piece = reinterpret_cast<const Words<4> *>(tile) + k;
    const std::byte *rest = tile + static_cast<std::size_t>(pieces) * kPiece * count;
    if constexpr ((shape.bytes & 4) != 0) {
      const std::byte *last =
          rest + ((shape.bytes & 8) != 0 ? static_cast<std::size_t>(8) * count : 0);
      word[words - 1] = load_once<1>(reinterpret_cast<const Words<1> *>(last) + k).v[0];
    }
    if constexpr ((shape.bytes & 8) != 0) {
      const Words<2> w = load_once<2>(reinterpret_cast<const Words<2> *>(rest) + k);
      MCPI_UNROLL
      for (int n = 0; n < 2; ++n) word[4 * pieces + n] = w.v[n];
    }
    MCPI_UNROLL
    for (int q = pieces - 1; q >= 0; --q) {
      const Words<4> w = load_once<4>(piece + static_cast<std::size_t>(q) * count);
      MCPI_UNROLL
      for (int n = 0; n < 4; ++n) word[4 * q + n] = w.v[n];
    }
  }

  // The slice's column index, and the exponent of its block.
  MCPI_HD Row column(const HeadBits &head) const
  {
    if constexpr (packed)
      return static_cast<Row>(word[words - 1] >> shape.shift & ((1U << head.column_bits) - 1U));
    return static_cast<Row>(word[words - 1]);
  }
  MCPI_HD int exponent(const HeadBits &head) const
  {
    if constexpr (packed)
      return head.exponent_base +
             static_cast<int>(word[words - 1] >> (shape.shift + head.column_bits));
    constexpr int at = shape.numbers;
    return static_cast<signed char>(word[at / 4] >> (8 * (at % 4)));
  }

  // sum[i] = sum over the slice's columns j of number(i, j) * x(j)
  MCPI_HD_FOR_ALL template <class T, class X>
  MCPI_HD void multiply(const X &x, const HeadBits &head, T (&sum)[bs]) const
  {
    T xj[shape.columns];
    MCPI_UNROLL
    for (int i = 0; i < bs; ++i) sum[i] = 0;
    MCPI_UNROLL
    for (int j = 0; j < shape.columns; ++j) xj[j] = x(j);
    MCPI_UNROLL
    for (int j = 0; j < shape.columns; ++j) {
      MCPI_UNROLL
      for (int i = 0; i < bs; ++i)
        sum[i] += number<storage, T>(word, number_slot(storage, bs, i, j)) * xj[j];
    }
    if constexpr (has_exponent(storage)) {
      const T scale = power_of_two<T>(exponent(head));
      MCPI_UNROLL
      for (int i = 0; i < bs; ++i) sum[i] *= scale;
    }
  }
};

// A range of slices, counted from the first one of a chunk.
struct Span {
  std::uint32_t first, size;
};

// Returns the part of a row's slices [begin, end) that lies in the chunk [from, from + count) of
// the tile. whole: all of them do.
template <bool whole>
MCPI_HD Span span_in(std::uint32_t begin, std::uint32_t end, std::uint32_t from,
                     std::uint32_t count)
{
  if (whole) return {begin - from, end - begin};
  const std::uint32_t first = begin > from ? begin : from,
                      last = end < from + count ? end : from + count;
  return {first - from, last > first ? last - first : 0};
}

// The partial products of a tile's slices in memory that a team of threads shares, and their sums.
// If a thread sums one component (by_row is false), each component is stored by itself, so that
// threads with different components of a row read different banks. If a thread sums a whole row, up
// to four components of a slice lie side by side. at_once: slices whose partial products are loaded
// together. The team synchronizes between store() and add().
template <class T, int bs, int capacity, bool by_row, int at_once> struct PartialProducts {
  // number of groups of four and of two components
  static constexpr int fours = by_row ? bs / 4 : 0, pairs = by_row ? bs % 4 / 2 : 0;
  static constexpr int groups = fours + pairs + (bs - 4 * fours - 2 * pairs);
  static constexpr int stride = by_row ? capacity : capacity + 1;
  static constexpr int size = bs * stride; // numbers in the memory

  T *value;

  static constexpr int size_of(int group)
  {
    return group < fours ? 4 : group < fours + pairs ? 2 : 1;
  }
  static constexpr int first_of(int group)
  {
    int first = 0;
    for (int g = 0; g < group; ++g) first += size_of(g);
    return first;
  }
  MCPI_HD void store(std::uint32_t k, const T (&y)[bs]) const
  {
    for_groups(k, [&](auto first, auto length, T *group) {
      T v[length];
      MCPI_UNROLL
      for (int n = 0; n < length; ++n) v[n] = y[first + n];
      store_run(v, group);
    });
  }
  // Adds component i of both triangles' slices in order. Partial products of both triangles, and of
  // several slices, are loaded together, so that their loads do not wait for each other.
  MCPI_HD void add(Span lower, Span upper, unsigned i, TriangleSums<T> (&sums)[1]) const
  {
    const T *low = value + i * stride + lower.first, *up = value + i * stride + upper.first;
    const std::uint32_t most = lower.size > upper.size ? lower.size : upper.size;
    MCPI_UNROLL_BY((at_once > 1 ? 1 : 4))
    for (std::uint32_t k = 0; k < most; k += at_once) {
      T l[at_once], u[at_once];
      MCPI_UNROLL
      for (int n = 0; n < at_once; ++n) {
        l[n] = k + n < lower.size ? low[k + n] : T(0);
        u[n] = k + n < upper.size ? up[k + n] : T(0);
      }
      MCPI_UNROLL
      for (int n = 0; n < at_once; ++n) {
        sums[0].lower += l[n];
        sums[0].upper += u[n];
      }
    }
  }
  // Returns the sum of component i of some slices, added in order.
  MCPI_HD T sum(Span span, unsigned i) const
  {
    const T *from = value + i * stride + span.first;
    T total = 0;
    MCPI_UNROLL_BY(1)
    for (std::uint32_t k = 0; k < span.size; k += at_once) {
      T v[at_once];
      MCPI_UNROLL
      for (int n = 0; n < at_once; ++n) v[n] = k + n < span.size ? from[k + n] : T(0);
      MCPI_UNROLL
      for (int n = 0; n < at_once; ++n) total += v[n];
    }
    return total;
  }
  // Adds all components of some slices in order.
  MCPI_HD void add(Span span, T (&sum)[bs]) const
  {
    add_span(span, [&](int i) -> T & { return sum[i]; });
  }
  // Adds all components of both triangles' slices in order.
  MCPI_HD void add(Span lower, Span upper, TriangleSums<T> (&sums)[bs]) const
  {
    add_span(lower, [&](int i) -> T & { return sums[i].lower; });
    add_span(upper, [&](int i) -> T & { return sums[i].upper; });
  }

private:
  // Calls visit(first component, number of components, their address for slice k) for all groups.
  template <class Visit> MCPI_HD void for_groups(std::uint32_t k, const Visit &visit) const
  {
    for_groups(k, visit, std::make_integer_sequence<int, groups>());
  }
  template <class Visit, int... g>
  MCPI_HD void for_groups(std::uint32_t k, const Visit &visit,
                          std::integer_sequence<int, g...>) const
  {
    (visit(std::integral_constant<int, first_of(g)>(), std::integral_constant<int, size_of(g)>(),
           value + first_of(g) * stride + size_of(g) * k),
     ...);
  }
  // Adds several slices at a time without a branch between them. With branches, threads whose rows
  // have other lengths would take turns.
  template <class Sum> MCPI_HD void add_span(Span span, const Sum &sum) const
  {
    const std::uint32_t last = span.first + span.size;
    MCPI_UNROLL_BY((at_once > 1 ? 1 : 4))
    for (std::uint32_t k = span.first; k < last; k += at_once) {
      T v[at_once][bs];
      MCPI_UNROLL
      for (int n = 0; n < at_once; ++n)
        if (k + n < last) load(k + n, v[n]);
      MCPI_UNROLL
      for (int n = 0; n < at_once; ++n)
        if (k + n < last) {
          MCPI_UNROLL
          for (int i = 0; i < bs; ++i) sum(i) += v[n][i];
        }
    }
  }
  MCPI_HD void load(std::uint32_t k, T (&y)[bs]) const
  {
    for_groups(k, [&](auto first, auto length, const T *group) {
      T v[length];
      load_run(group, v);
      MCPI_UNROLL
      for (int n = 0; n < length; ++n) y[first + n] = v[n];
    });
  }
};

} // namespace mcpi::device
