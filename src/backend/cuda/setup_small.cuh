// Numeric set-up of small blocks. A thread block takes some matrix rows. Each thread inverts the
// diagonal block of one row. Then each thread multiplies, scales, rounds and stores one block slice
// at a time.
#pragma once

#include "backend/cuda/setup.h"
#include "backend/device/invert.h"

namespace mcpi::cuda {

constexpr int kSetupThreads = Tuning::kSetupThreads;

// Stores an inverse block in the diagonal map; a[j] is its column j. Raises the thread block's
// range of inverse blocks, the two words from `most` on.
template <int bs>
__device__ __forceinline__ void store_diagonal(const SetupArgs &args, std::size_t row,
                                               const double (&a)[bs][bs], std::uint32_t *most)
{
  constexpr int kMax = 1000; // 2^kMax and 2^-kMax are normal numbers
  double largest = 0.0, least = __longlong_as_double(0x7ff0000000000000LL);
#pragma unroll
  for (int j = 0; j < bs; ++j) {
    double column = 0.0;
#pragma unroll
    for (int i = 0; i < bs; ++i) column = fmax(column, fabs(a[j][i]));
    largest = fmax(largest, column);
    if (column > 0.0) least = fmin(least, column);
  }
  raise_inverse_range(most, largest, least);
  if (!args.narrow_diagonal) {
    double *map = static_cast<double *>(args.diagonal_map) + row * bs * bs;
#pragma unroll
    for (int n = 0; n < bs * bs; ++n) map[n] = a[n / bs][n % bs];
    return;
  }
  const int e = min(max(ilogb(largest), -kMax), kMax);
  const double scale = power_of_two<double>(-e);
  float *map = static_cast<float *>(args.diagonal_map) + row * (bs * bs + 1);
  const auto entry = [&](int n) {
    return n < bs * bs ? static_cast<float>(a[n / bs][n % bs] * scale) : __int_as_float(e);
  };
  if constexpr (bs % 2 == 1) { // the number of entries is even, so two are stored at a time
#pragma unroll
    for (int n = 0; n < bs * bs; n += 2)
      reinterpret_cast<float2 *>(map)[n / 2] = make_float2(entry(n), entry(n + 1));
  } else {
#pragma unroll
    for (int n = 0; n <= bs * bs; ++n) map[n] = entry(n);
  }
}

// What the threads of a thread block share about the rows that they take, in shared memory.
template <int bs> struct SetupRows {
  static constexpr int most = Tuning::setup_rows(bs);
  // The stride is odd, so that threads that each write a row use different banks.
  static constexpr int stride = bs * bs | 1;
  double left[most * stride];     // left factors of each row's off-diagonal blocks, row by row
  std::uint32_t from[most];       // first block of a row in the current portion
  std::uint32_t before[most + 1]; // blocks of the earlier rows in the current portion
  // place of a row's diagonal block among the row's blocks in the first portion
  std::uint32_t diagonal[most];
  Row row[most]; // matrix row
  // where the row's tile begins; slices that the tile stores
  std::uint32_t tile_offset[most], tile_slices[most];
  std::uint32_t in_warp[kSetupThreads / kWarpSize]; // sums of the warps

  // Writes to `before` the prefix sums of the threads' counts, one for each row.
  __device__ __forceinline__ void sum(std::uint32_t count)
  {
    const std::uint32_t t = threadIdx.x, lane = t % kWarpSize, warp = t / kWarpSize;
#pragma unroll
    for (int step = 1; step < kWarpSize; step *= 2)
      if (const std::uint32_t other = __shfl_up_sync(~0U, count, step); lane >= step)
        count += other;
    if (lane == kWarpSize - 1) in_warp[warp] = count;
    __syncthreads();
    for (std::uint32_t w = 0; w < warp; ++w) count += in_warp[w];
    if (t < most) before[t + 1] = count;
    if (t == 0) before[0] = 0;
  }

  // Returns the row of a block that is counted over all rows, by bisection of `before`.
  __device__ __forceinline__ int row_of(std::uint32_t block, int rows) const
  {
    int r = 0;
#pragma unroll
    for (int step = most / 2; step > 0; step /= 2)
      if (r + step < rows && before[r + step] <= block) r += step;
    return r;
  }
};

// Prepares a thread's row: inverts its diagonal block, stores the inverse in the diagonal map, and
// writes the left factor to shared memory. Returns whether there is an inverse. scales: left, then
// right; all are powers of two.
template <int bs>
__device__ __forceinline__ bool prepare_row(const SetupArgs &args, SetupRows<bs> &shared, int t,
                                            Row row, const double *scales, std::uint32_t *most)
{
  const BlockView block = diagonal_view(args, row, bs);
  const Tile tile = args.tiles[args.tile_of[row]];
  shared.row[t] = row;
  shared.diagonal[t] = static_cast<std::uint32_t>(args.diagonal[row]);
  shared.tile_offset[t] = tile.offset;
  shared.tile_slices[t] = stored_slices(tile);
  double a[bs][bs];
#pragma unroll
  for (int i = 0; i < bs; ++i)
#pragma unroll
    for (int j = 0; j < bs; ++j)
      a[j][i] = block.data[static_cast<std::size_t>(i) * block.row +
                           static_cast<std::size_t>(j) * block.column];
  double condition = 0.0;
  const Inversion verdict = invert_rest(a, empty_of(args, row), &condition);
  if (verdict != Inversion::done) report(args, row, defect_of(verdict));
  raise_condition(most + bs * bs, condition);
  double *left = shared.left + t * SetupRows<bs>::stride;
#pragma unroll
  for (int i = 0; i < bs; ++i) {
    const double left_scale = scales[i], back = 1.0 / scales[bs + i];
#pragma unroll
    for (int j = 0; j < bs; ++j) {
      left[i * bs + j] = args.prescaled ? left_scale * a[j][i] : (i == j ? left_scale : 0.0);
      a[j][i] *= back;
    }
  }
  if (!args.prescaled)
#pragma unroll
    for (int j = 0; j < bs; ++j) {
      const double back = 1.0 / scales[j];
#pragma unroll
      for (int i = 0; i < bs; ++i) a[j][i] *= back;
    }
  store_diagonal(args, static_cast<std::size_t>(args.plan_row[row]), a, most + bs * bs);
  return verdict == Inversion::done;
}

// Returns the head word of slice k of a tile that stores count slices.
template <class Setup>
__device__ __forceinline__ std::uint32_t *head_word(std::byte *tile, std::uint32_t count,
                                                    std::uint32_t k)
{
  constexpr SliceShape shape = Setup::shape;
  return reinterpret_cast<std::uint32_t *>(tile + slice_byte(shape, count, k, shape.head_at()));
}

// Stores the numbers and the exponent of slice k of a tile that stores count slices. The column
// index stays. head: the head word until now. word: the slice's words with the numbers, as encode()
// writes them.
template <class Setup>
__device__ __forceinline__ void store_slice(const HeadBits &bits, std::byte *tile,
                                            std::uint32_t count, std::uint32_t k,
                                            std::uint32_t head, int e, std::uint32_t *word)
{
  constexpr SliceShape shape = Setup::shape;
  constexpr int pieces = shape.pieces(), words = shape.bytes / 4;
  if constexpr (shape.packed) {
    const std::uint32_t column = head >> shape.shift & ((1U << bits.column_bits) - 1U);
    word[words - 1] |= column << shape.shift | static_cast<std::uint32_t>(e - bits.exponent_base)
                                                   << (shape.shift + bits.column_bits);
  } else {
    word[words - 1] = head;
    if constexpr (has_exponent(Setup::storage))
      word[shape.numbers / 4] |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(e))
                                 << (8 * (shape.numbers % 4));
  }
#pragma unroll
  for (int q = 0; q < pieces; ++q)
    *reinterpret_cast<uint4 *>(tile + slice_byte(shape, count, k, q * kPiece)) =
        make_uint4(word[4 * q], word[4 * q + 1], word[4 * q + 2], word[4 * q + 3]);
  if constexpr ((shape.bytes & 8) != 0)
    *reinterpret_cast<uint2 *>(tile + slice_byte(shape, count, k, pieces * kPiece)) =
        make_uint2(word[4 * pieces], word[4 * pieces + 1]);
  if constexpr ((shape.bytes & 4) != 0) *head_word<Setup>(tile, count, k) = word[words - 1];
}

// One slice in a thread's registers: left * block * diag(right) is computed, its maxima are found,
// its numbers are rounded.
template <PCMCPIPrecision storage_, int bs, bool packed> struct SliceSetup {
  static constexpr PCMCPIPrecision storage = storage_;
  static constexpr SliceShape shape = slice_shape(storage, bs, packed);
  static constexpr int columns = shape.columns, words = shape.bytes / 4;
  static constexpr bool whole = shape.slices * columns == bs;

  double number[columns][bs]; // in double precision, column by column

  // Loads the columns of the slice from a block. first: the slice's first column in its block.
  template <bool scalar_rows>
  __device__ __forceinline__ void load(const BlockView &block, int first)
  {
    const double *data = block.data + (scalar_rows ? first : first * bs);
#pragma unroll
    for (int i = 0; i < bs; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j)
        number[j][i] =
            whole || first + j < bs ? data[scalar_rows ? i * block.row + j : i + j * bs] : 0.0;
  }
  __device__ __forceinline__ void load(const SetupArgs &args, const BlockView &block, int first)
  {
    if (args.scalar_rows)
      load<true>(block, first);
    else
      load<false>(block, first);
  }

  __device__ __forceinline__ bool finite() const
  {
    bool all = true;
#pragma unroll
    for (int n = 0; n < columns * bs; ++n) all = all && isfinite(number[n / bs][n % bs]);
    return all;
  }

  // Multiplies by left, stored row by row, from the left, and by the scales of the slice's columns
  // from the right.
  __device__ __forceinline__ void scale(int first, const double *left, const double *right)
  {
    constexpr int kTogether = 2; // columns for which a number of left is read once
#pragma unroll
    for (int j0 = 0; j0 < columns; j0 += kTogether) {
      double out[kTogether][bs];
#pragma unroll
      for (int j = j0; j < j0 + kTogether && j < columns; ++j) {
        const double by = whole || first + j < bs ? right[first + j] : 0.0;
#pragma unroll
        for (int i = 0; i < bs; ++i) number[j][i] *= by;
      }
#pragma unroll
      for (int i = 0; i < bs; ++i) {
#pragma unroll
        for (int k = 0; k < bs; ++k) {
          const double l = left[i * bs + k];
#pragma unroll
          for (int j = j0; j < j0 + kTogether && j < columns; ++j)
            out[j - j0][i] = k == 0 ? l * number[j][k] : out[j - j0][i] + l * number[j][k];
        }
      }
#pragma unroll
      for (int j = j0; j < j0 + kTogether && j < columns; ++j)
#pragma unroll
        for (int i = 0; i < bs; ++i) number[j][i] = out[j - j0][i];
    }
  }

  // Raises the thread block's maxima, one for each component of a block, and returns the largest
  // magnitude of the slice. Both are upper 32 bits.
  __device__ __forceinline__ std::uint32_t maxima(int first, std::uint32_t *most) const
  {
    std::uint32_t largest = 0;
    bool more = false;
#pragma unroll
    for (int n = 0; n < columns * bs; ++n) {
      const std::uint32_t upper = upper_word(n);
      largest = max(largest, upper);
      more = more || ((whole || first + n / bs < bs) && upper > most[first * bs + n]);
    }
    if (more) // seldom true
#pragma unroll
      for (int n = 0; n < columns * bs; ++n)
        if (whole || first + n / bs < bs) atomicMax(most + first * bs + n, upper_word(n));
    return largest;
  }

  // Writes the numbers to the slice's words, leaves column index and exponent zero, and returns the
  // exponent. largest: upper 32 bits of the largest magnitude.
  __device__ __forceinline__ int encode(const HeadBits &head, std::uint32_t largest,
                                        std::uint32_t *word) const
  {
    int e = 0;
    if constexpr (has_exponent(storage)) {
      e = shared_exponent(__hiloint2double(static_cast<int>(largest), 0), integer_limit(storage));
      // An exponent that packed bits cannot hold is limited here. ScaleUpdater has the numbers
      // stored again.
      if constexpr (packed)
        e = min(max(e, head.exponent_base),
                head.exponent_base + (1 << (32 - shape.shift - head.column_bits)) - 1);
    }
#pragma unroll
    for (int w = 0; w < words; ++w) word[w] = 0;
#pragma unroll
    for (int n = 0; n < columns * bs; ++n)
      put_number<storage>(word, number_slot(storage, bs, n % bs, n / bs),
                          number_bits<storage>(number[n / bs][n % bs], e));
    return e;
  }

private:
  __device__ __forceinline__ std::uint32_t upper_word(int n) const
  {
    return static_cast<std::uint32_t>(__double2hiint(number[n / bs][n % bs])) & 0x7fffffffU;
  }
};

// Sets up the matrix rows [args.begin, args.end), args.rows of them at a time. At the end each
// thread block raises args.maxima to its own maxima.
template <PCMCPIPrecision storage, int bs, bool packed>
__global__ void __launch_bounds__(kSetupThreads, Tuning::setup_blocks(bs))
    setup_small(SetupArgs args)
{
  using Setup = SliceSetup<storage, bs, packed>;
  // lanes: threads that take slices. Each thread always takes the same columns of blocks.
  constexpr int slices = Setup::shape.slices, lanes = kSetupThreads / slices * slices;
  __shared__ SetupRows<bs> shared;
  __shared__ std::uint32_t most[bs * bs + kRangeWords];
  __shared__ double scales[2 * bs]; // left, then right

  const int t = static_cast<int>(threadIdx.x), slice = t % slices, first = slice * Setup::columns;
  if (t < bs * bs + kRangeWords) most[t] = 0;
  if (t < 2 * bs) scales[t] = args.scales[t];
  for (Row row0 = args.begin + static_cast<Row>(blockIdx.x) * args.rows; row0 < args.end;
       row0 += static_cast<Row>(gridDim.x) * args.rows) {
    const int rows = min(args.rows, args.end - row0);
    __syncthreads(); // all threads have finished the previous rows
    const bool good =
        t < rows && prepare_row<bs>(args, shared, t, matrix_row(args, row0 + t), scales, most);
#pragma unroll 1
    for (int p = 0; p < 2; ++p) {
      const SetupPortion &portion = args.portion[p];
      if (!portion.values) continue;
      if (p > 0) __syncthreads(); // all threads have read the numbers of the first portion
      std::uint32_t count = 0;
      if (good) {
        const Row row = shared.row[t];
        shared.from[t] = portion.ptr[row];
        count = portion.ptr[row + 1] - shared.from[t];
      }
      shared.sum(count);
      __syncthreads();
      if (t >= lanes) continue;
      for (std::uint32_t m = static_cast<std::uint32_t>(t); m < shared.before[rows] * slices;
           m += lanes) {
        const std::uint32_t in_group = m / slices;
        const int r = shared.row_of(in_group, rows);
        const std::uint32_t from = shared.from[r], in_row = in_group - shared.before[r],
                            k = from + in_row;
        if (p == 0 && in_row == shared.diagonal[r]) continue;
        // All loads are issued together, except for that of the head word, which needs the place.
        const std::uint32_t place = portion.place[k] + static_cast<std::uint32_t>(slice),
                            tile_slices = shared.tile_slices[r];
        const BlockView block =
            block_view(args, portion, k, from, from + shared.before[r + 1] - shared.before[r]);
        std::byte *tile = args.blocks + static_cast<std::size_t>(shared.tile_offset[r]) * kPiece;
        Setup slice;
        slice.load(args, block, first);
        const std::uint32_t head = *head_word<Setup>(tile, tile_slices, place);
        slice.scale(first, shared.left + r * SetupRows<bs>::stride, scales + bs);
        const std::uint32_t largest = slice.maxima(first, most);
        if (largest >= overflow_from<storage>(args.store)) {
          slice.load(args, block, first);
          report(args, shared.row[r],
                 slice.finite() ? Defect::unrepresentable : Defect::nonfinite_offdiagonal);
        } else if (args.store) {
          std::uint32_t word[Setup::words];
          const int e = slice.encode(args.head, largest, word);
          store_slice<Setup>(args.head, tile, tile_slices, place, head, e, word);
        }
      }
    }
  }
  __syncthreads();
  if (t < bs * bs + kRangeWords) atomicMax(args.maxima + t, most[t]);
}

} // namespace mcpi::cuda
