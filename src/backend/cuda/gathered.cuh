// The entries of x by which a thread multiplies its block slices: in vector precision, or from the
// bfp16 copy of x, the rounded numbers of core/gather.h stored as mantissas and an exponent for
// each block row and right-hand side.
#pragma once

#include "backend/cuda/relax.h"
#include "backend/device/block_slice.h"
#include "core/gather.h"

namespace mcpi::cuda {

// The copy of x

// The bits of |value|, which compare like the values
__device__ __forceinline__ std::uint32_t magnitude(float value)
{
  return __float_as_uint(value) & 0x7fffffffU;
}

// The power of two by which a mantissa is multiplied
__device__ __forceinline__ float gather_quantum(int e)
{
  return __int_as_float((e + 112) << 23);
}

// How the values of one block row are rounded. largest: the bits of their largest magnitude.
struct Mantissas {
  bool finite;
  int exponent;

  __device__ __forceinline__ explicit Mantissas(std::uint32_t largest)
      : finite(largest < 0x7f800000U),
        exponent(finite ? max(static_cast<int>(largest >> 23) - 126, kMinGatherExponent)
                        : kGatherExponentNaN)
  {
  }
  // The mantissa of a value
  __device__ __forceinline__ int of(float value) const
  {
    return finite ? min(max(__float2int_rn(value * __int_as_float((142 - exponent) << 23)),
                            -kGatherLimit),
                        kGatherLimit)
                  : 0;
  }
};

__device__ __forceinline__ Mantissas mantissas_of(const float *x, int bs)
{
  std::uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < bs; ++i) largest = max(largest, magnitude(x[i]));
  return Mantissas(largest);
}

// Returns word w of the copy of one block row.
__device__ __forceinline__ std::uint32_t gathered_word(const Mantissas &mantissas, const float *x,
                                                       int bs, int w)
{
  const auto half = [&](int i) {
    return i > bs ? 0U
                  : static_cast<std::uint32_t>(i == bs ? mantissas.exponent
                                                       : mantissas.of(x[i < bs ? i : 0])) &
                        0xffffU;
  };
  return half(2 * w) | half(2 * w + 1) << 16U;
}

// Stores the copy of one block row, by one thread. size: bs if it is known at compile time,
// otherwise 0.
template <int size = 0>
__device__ __forceinline__ void store_gathered(std::uint32_t *gathered, std::size_t entry,
                                               int any_bs, const float *x)
{
  const int bs = size > 0 ? size : any_bs;
  const Mantissas mantissas = mantissas_of(x, bs);
  std::uint32_t *out = gathered + entry * static_cast<std::size_t>(gather_words(bs));
#pragma unroll
  for (int w = 0; w < gather_words(bs); ++w) out[w] = gathered_word(mantissas, x, bs, w);
}

// The words of the copy of one block row, made by bs neighboring threads of a warp, each with its
// component i. Thread i has word i / 2 if i is even. If bs is even, thread 1 has the last word. All
// threads of the warp must call it.
template <int bs>
__device__ __forceinline__ std::uint32_t gathered_word_together(unsigned i, float x)
{
  const unsigned lane = threadIdx.x % kWarpSize;
  std::uint32_t largest = 0;
#pragma unroll
  for (unsigned j = 0; j < bs; ++j)
    largest = max(largest, __shfl_sync(~0U, magnitude(x), static_cast<int>(lane - i + j)));
  const Mantissas mantissas(largest);
  const std::uint32_t low = static_cast<std::uint32_t>(mantissas.of(x)) & 0xffffU,
                      next = __shfl_down_sync(~0U, low, 1),
                      exponent = static_cast<std::uint32_t>(mantissas.exponent) & 0xffffU;
  return bs % 2 == 0 && i == 1 ? exponent : low | (i + 1 < bs ? next : exponent) << 16U;
}
// The thread that has word w
constexpr int gathered_holder(int w, int bs)
{
  return bs % 2 == 0 && w == bs / 2 ? 1 : 2 * w;
}
// Stores the word that a thread has got. Threads without a component pass mine = false.
template <int bs>
__device__ __forceinline__ void store_gathered_word(std::uint32_t *gathered, std::size_t entry,
                                                    unsigned i, std::uint32_t word, bool mine)
{
  std::uint32_t *out = gathered + entry * static_cast<std::size_t>(gather_words(bs));
  if (mine && i % 2 == 0) out[i / 2] = word;
  if (bs % 2 == 0 && mine && i == 1) out[bs / 2] = word;
}

// The signed half of a word
__device__ __forceinline__ int low_half(std::uint32_t word)
{
  return static_cast<short>(word & 0xffffU);
}
__device__ __forceinline__ int high_half(std::uint32_t word)
{
  return static_cast<int>(word) >> 16;
}

// Converts a signed half to a float, exactly. As a float, 2^23 + (q + 2^15) has q + 2^15 in its
// last bits.
__device__ __forceinline__ float mantissa_to_float(std::uint32_t word, int half)
{
  return __uint_as_float(__byte_perm(word ^ 0x80008000U, 0x4b000000U, half ? 0x7632U : 0x7610U)) -
         (8388608.0f + 32768.0f);
}

// Entries for a slice

// Entries of x in vector precision, for the columns of a thread's slice.
template <class T, int columns> struct PlainX {
  T value[columns];

  // Loads them from args.read. entry: block row and right-hand side. first: the slice's first
  // column in its block. whole: all slices of a block have the same number of columns.
  template <bool whole, int bs>
  __device__ __forceinline__ void load(const SmallArgs &args, std::size_t entry, int first)
  {
    if constexpr (columns == bs && sizeof(T) == sizeof(float)) {
      load_run(static_cast<const float *>(args.read) + entry * bs, value);
    } else {
      const T *x = static_cast<const T *>(args.read) + entry * static_cast<std::size_t>(bs) + first;
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
        if (part == i) value[j] = i * columns + j < bs ? number_at(numbers, i * columns + j) : T(0);
  }
  __device__ __forceinline__ T operator()(int j) const
  {
    return value[j];
  }

private:
  template <class Numbers>
  static __device__ __forceinline__ T number_at(const Numbers &numbers, int k)
  {
    if constexpr (sizeof(T) == sizeof(float))
      return __uint_as_float(numbers[k]);
    else
      return __hiloint2double(static_cast<int>(numbers[2 * k + 1]),
                              static_cast<int>(numbers[2 * k]));
  }
};

// The same from the bfp16 copy of x. The slice's first column must be even.
template <int columns> struct RoundedX {
  static constexpr int words = (columns + 1) / 2;
  std::uint32_t mantissa[words];
  int exponent;

  template <bool, int bs>
  __device__ __forceinline__ void load(const SmallArgs &args, std::size_t entry, int first)
  {
    if constexpr (columns == bs) {
      std::uint32_t word[gather_words(bs)];
      load_run(args.gathered + entry * gather_words(bs), word);
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
    return mantissa_to_float(mantissa[j / 2], j % 2) * gather_quantum(exponent);
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

// The product of a slice with the bfp16 copy in integer arithmetic. It is exact, except for one
// rounding of each sum to a float.
template <PCMCPIPrecision storage, int bs, bool packed> struct IntegerProduct {
  const BlockSlice<storage, bs, packed> &slice;

  __device__ __forceinline__ void operator()(const RoundedX<bs> &x, const HeadBits &head,
                                             float (&y)[bs]) const
  {
    constexpr int quads = bs / 4;
    // Sums of int4 are below 2^22. As the last bits of 1.5 * 2^23 they are floats already, so no
    // conversion is needed.
    constexpr bool few = storage == PC_MCPI_PRECISION_INT4;
    constexpr float kFew = 12582912.0f;
    const float scale = power_of_two<float>(slice.exponent(head)) * gather_quantum(x.exponent);
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
    if constexpr (storage == PC_MCPI_PRECISION_INT8) return slice.word[k / 4];
    return slice.word[k / 8] >> (4 * (k % 2)) & 0x0f0f0f0fU;
  }
  static __device__ __forceinline__ constexpr int byte_of(int k)
  {
    return storage == PC_MCPI_PRECISION_INT8 ? k % 4 : k % 8 / 2;
  }
};

} // namespace mcpi::cuda
