// A block slice (device/shapes.h) in a thread's registers, and the entries of x by which the thread
// multiplies it.
#pragma once

#include "backend/cuda/decode.cuh"
#include "backend/cuda/gathered.cuh"
#include "backend/cuda/load_once.cuh"
#include "backend/cuda/relax.h"

namespace mcpi::cuda {

// Loads one entry of an array whose entries have `words` words, in the largest loads that the
// alignment of an entry allows.
template <int words>
__device__ __forceinline__ void load_words(const std::uint32_t *array, std::size_t entry,
                                           std::uint32_t (&word)[words])
{
  const std::uint32_t *from = array + entry * words;
  if constexpr (words % 4 == 0) {
#pragma unroll
    for (int w = 0; w < words; w += 4) {
      const uint4 four = *reinterpret_cast<const uint4 *>(from + w);
      word[w] = four.x;
      word[w + 1] = four.y;
      word[w + 2] = four.z;
      word[w + 3] = four.w;
    }
  } else if constexpr (words % 2 == 0) {
#pragma unroll
    for (int w = 0; w < words; w += 2) {
      const uint2 two = *reinterpret_cast<const uint2 *>(from + w);
      word[w] = two.x;
      word[w + 1] = two.y;
    }
  } else {
#pragma unroll
    for (int w = 0; w < words; ++w) word[w] = from[w];
  }
}

// Entries of x in vector precision, for the columns of a thread's slice.
template <class T, int columns> struct PlainX {
  T value[columns];

  // Loads them from args.x. entry: block row and right-hand side. first: the slice's first column
  // in its block. whole: all slices of a block have the same number of columns.
  template <bool whole, int bs>
  __device__ __forceinline__ void load(const RelaxArgs &args, std::size_t entry, int first)
  {
    if constexpr (columns == bs && sizeof(T) == sizeof(float)) {
      std::uint32_t word[bs];
      load_words(static_cast<const std::uint32_t *>(args.x), entry, word);
#pragma unroll
      for (int j = 0; j < bs; ++j) value[j] = __uint_as_float(word[j]);
    } else {
      const T *x = static_cast<const T *>(args.x) + entry * static_cast<std::size_t>(bs) + first;
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        value[j] = 0;
        if (whole || first + j < bs) value[j] = x[j];
      }
    }
  }
  // Takes them from the 32-bit numbers of a ghost packet. part: the slice's place among the slices
  // of its block.
  template <int bs, int slices, class Numbers>
  __device__ __forceinline__ void take(const Numbers &numbers, int part)
  {
#pragma unroll
    for (int i = 0; i < slices; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j)
        if (part == i)
          value[j] = i * columns + j < bs ? __uint_as_float(numbers[i * columns + j]) : 0.0f;
  }
  __device__ __forceinline__ T operator()(int j) const
  {
    return value[j];
  }
};

// The same from the bfp16 copy of x. The slice's first column must be even.
template <int columns> struct RoundedX {
  static constexpr int words = (columns + 1) / 2;
  std::uint32_t mantissa[words];
  int exponent;

  template <bool, int bs>
  __device__ __forceinline__ void load(const RelaxArgs &args, std::size_t entry, int first)
  {
    if constexpr (columns == bs) {
      std::uint32_t word[gather_words(bs)];
      load_words(args.gathered, entry, word);
#pragma unroll
      for (int w = 0; w < words; ++w) mantissa[w] = word[w];
      exponent = bs % 2 ? high_half(word[bs / 2]) : low_half(word[bs / 2]);
    } else {
      const std::uint32_t *x = args.gathered + entry * static_cast<std::size_t>(gather_words(bs));
#pragma unroll
      for (int w = 0; w < words; ++w) mantissa[w] = x[first / 2 + w];
      exponent = bs % 2 ? high_half(x[bs / 2]) : low_half(x[bs / 2]);
    }
  }
  template <int bs, int slices, class Numbers>
  __device__ __forceinline__ void take(const Numbers &numbers, int part)
  {
#pragma unroll
    for (int i = 0; i < slices; ++i)
#pragma unroll
      for (int w = 0; w < words; ++w)
        if (part == i) mantissa[w] = numbers[min(i * columns / 2 + w, gather_words(bs) - 1)];
    exponent = bs % 2 ? high_half(numbers[bs / 2]) : low_half(numbers[bs / 2]);
  }
  __device__ __forceinline__ float operator()(int j) const
  {
    return half_to_float(mantissa[j / 2], j % 2) * gather_quantum(exponent);
  }

  // Returns mantissa j in the low or the high half of a word. The other half is zero.
  __device__ __forceinline__ std::uint32_t half(int j, int high) const
  {
    if (high) return j % 2 ? mantissa[j / 2] & 0xffff0000U : mantissa[j / 2] << 16;
    return j % 2 ? mantissa[j / 2] >> 16 : mantissa[j / 2] & 0xffffU;
  }
};

// Return a . b + c. a is two signed halves; b contributes its low or its high two signed bytes.
__device__ __forceinline__ int dot_low(std::uint32_t a, std::uint32_t b, int c)
{
  int sum;
  asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
}
__device__ __forceinline__ int dot_high(std::uint32_t a, std::uint32_t b, int c)
{
  int sum;
  asm("dp2a.hi.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
}

// A slice as it is stored, in registers.
template <PCMCPIPrecision storage, int bs, bool packed> struct BlockSlice {
  static constexpr SliceShape shape = slice_shape(storage, bs, packed);
  static constexpr int words = shape.bytes / 4;
  std::uint32_t word[words];

  // Loads slice k of a tile that stores count slices. The head word is loaded first, because the
  // loads of x need its column; they start while the numbers are still on their way.
  __device__ __forceinline__ void load(const std::byte *tile, std::uint32_t count, std::uint32_t k)
  {
    constexpr int pieces = shape.pieces();
    const uint4 *piece = reinterpret_cast<const uint4 *>(tile) + k;
    const std::byte *rest = tile + static_cast<std::size_t>(pieces) * kPiece * count;
    if constexpr ((shape.bytes & 4) != 0) {
      const std::byte *last =
          rest + ((shape.bytes & 8) != 0 ? static_cast<std::size_t>(8) * count : 0);
      word[words - 1] = load_once(reinterpret_cast<const std::uint32_t *>(last) + k);
    }
    if constexpr ((shape.bytes & 8) != 0) {
      const uint2 v = load_once(reinterpret_cast<const uint2 *>(rest) + k);
      word[4 * pieces] = v.x;
      word[4 * pieces + 1] = v.y;
    }
#pragma unroll
    for (int q = pieces - 1; q >= 0; --q) {
      const uint4 v = load_once(piece + static_cast<std::size_t>(q) * count);
      word[4 * q] = v.x;
      word[4 * q + 1] = v.y;
      word[4 * q + 2] = v.z;
      word[4 * q + 3] = v.w;
    }
  }

  // The slice's column index, and the exponent of its block.
  __device__ __forceinline__ Row column(const HeadBits &head) const
  {
    if constexpr (packed)
      return static_cast<Row>(word[words - 1] >> shape.shift & ((1U << head.column_bits) - 1U));
    return static_cast<Row>(word[words - 1]);
  }
  __device__ __forceinline__ int exponent(const HeadBits &head) const
  {
    if constexpr (packed)
      return head.exponent_base +
             static_cast<int>(word[words - 1] >> (shape.shift + head.column_bits));
    constexpr int at = shape.numbers;
    return static_cast<signed char>(word[at / 4] >> (8 * (at % 4)));
  }

  // sum[i] = sum over the slice's columns j of number(i, j) * x(j)
  template <class T, class X>
  __device__ __forceinline__ void multiply(const X &x, const HeadBits &head, T (&sum)[bs]) const
  {
    T xj[shape.columns];
#pragma unroll
    for (int i = 0; i < bs; ++i) sum[i] = 0;
#pragma unroll
    for (int j = 0; j < shape.columns; ++j) xj[j] = x(j);
#pragma unroll
    for (int j = 0; j < shape.columns; ++j)
#pragma unroll
      for (int i = 0; i < bs; ++i)
        sum[i] += number<storage, T>(word, number_slot(storage, bs, i, j)) * xj[j];
    if constexpr (has_exponent(storage)) {
      const T scale = power_of_two<T>(exponent(head));
#pragma unroll
      for (int i = 0; i < bs; ++i) sum[i] *= scale;
    }
  }

  // The same in integer arithmetic. It is exact, except for one rounding of each sum to a float.
  __device__ __forceinline__ void multiply_integers(const RoundedX<bs> &x, const HeadBits &head,
                                                    float (&y)[bs]) const
  {
    constexpr int quads = bs / 4;
    // Sums of int4 are below 2^22. As the last bits of 1.5 * 2^23 they are floats already, so no
    // conversion is needed.
    constexpr bool few = storage == PC_MCPI_PRECISION_INT4;
    constexpr float kFew = 12582912.0f;
    const float scale = power_of_two<float>(exponent(head)) * gather_quantum(x.exponent);
    int start = few ? __float_as_int(kFew) : 0;
    // Stored nibbles are shifted by 8. The start value subtracts what these shifts add up to.
    if constexpr (few) {
      static_assert(kNibbleShift == 8 && bs * kNibbleShift * kGatherLimit < 1 << 22);
      constexpr std::uint32_t kMinusBias = 0xf8f8f8f8U;
#pragma unroll
      for (int w = 0; w < bs / 2; ++w) start = dot_low(x.mantissa[w], kMinusBias, start);
      if (bs % 2) start = dot_low(x.half(bs - 1, 0), kMinusBias, start);
    }
    int sum[bs];
#pragma unroll
    for (int i = 0; i < bs; ++i) {
      sum[i] = start;
#pragma unroll
      for (int q = 0; q < quads; ++q) {
        const std::uint32_t four = quad(number_slot(storage, bs, i, 4 * q));
        sum[i] = dot_high(x.mantissa[2 * q + 1], four, dot_low(x.mantissa[2 * q], four, sum[i]));
      }
    }
    // Columns left over: only one byte of four counts, so the other half of x is zero.
#pragma unroll
    for (int j = 4 * quads; j < bs; ++j)
#pragma unroll
      for (int i = 0; i < bs; ++i) {
        const int slot = number_slot(storage, bs, i, j), byte = byte_of(slot);
        const std::uint32_t four = quad(slot), half = x.half(j, byte % 2);
        sum[i] = byte < 2 ? dot_low(half, four, sum[i]) : dot_high(half, four, sum[i]);
      }
#pragma unroll
    for (int i = 0; i < bs; ++i)
      y[i] = few ? __fmaf_rn(__int_as_float(sum[i]), scale, -kFew * scale)
                 : static_cast<float>(sum[i]) * scale;
  }

private:
  // Returns four bytes among which stored number k is, and tells which of the four it is.
  __device__ __forceinline__ std::uint32_t quad(int k) const
  {
    if constexpr (storage == PC_MCPI_PRECISION_INT8) return word[k / 4];
    return word[k / 8] >> (4 * (k % 2)) & 0x0f0f0f0fU;
  }
  static __device__ __forceinline__ constexpr int byte_of(int k)
  {
    return storage == PC_MCPI_PRECISION_INT8 ? k % 4 : k % 8 / 2;
  }
};

} // namespace mcpi::cuda
