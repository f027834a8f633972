// Numeric set-up of small blocks: a thread block takes some matrix rows, inverts their diagonal blocks by teams of threads, then each thread
// multiplies and rounds one item at a time.
#pragma once

#include "backend/cuda/diagonal.cuh"
#include "backend/cuda/encode.cuh"
#include "backend/cuda/setup.h"
#include "backend/cuda/setup_invert.cuh"

namespace mcpi::cuda {

constexpr int kSetupThreads = 128;
constexpr int kSetupRows    = 32;

__device__ __forceinline__ void report(const SetupArgs &args, Row row, Defect defect)
{
  atomicMin(args.bad, bad_key(row, defect));
}

// The k-th matrix row to be taken
__device__ __forceinline__ Row matrix_row(const SetupArgs &args, Row k)
{
  return args.order ? args.order[k] : k;
}

// Where the numbers of a block lie: number (i, j) at data[i * row + j * column]
struct BlockView {
  const double *data;
  std::size_t   row, column;
};
__device__ __forceinline__ BlockView block_view(const SetupArgs &args, const SetupPiece &piece, std::uint32_t block,
                                                std::uint32_t row_begin, std::uint32_t row_end)
{
  const std::size_t bs = static_cast<std::size_t>(args.bs);
  if (!args.scalar_rows) return {piece.values + (block - piece.first) * bs * bs, 1, bs};
  return {piece.values + (row_begin - piece.first) * bs * bs + (block - row_begin) * bs, (row_end - row_begin) * bs, 1};
}

// A team's threads store the columns of an inverse block, those without a column (not mine) zeros nowhere. Called by all threads of a warp
template <int bs>
__device__ __forceinline__ void store_diagonal(const SetupArgs &args, std::size_t row, bool mine, int lane, const double (&column)[bs])
{
  if (!args.narrow_diagonal) {
    double *map = static_cast<double *>(args.diagonal_map) + (row * bs + static_cast<std::size_t>(lane)) * bs;
#pragma unroll
    for (int i = 0; i < bs; ++i)
      if (mine) map[i] = column[i];
    return;
  }
  constexpr int kMost   = 1000; // its inverse is a normal number, too
  double        largest = 0.0;
#pragma unroll
  for (int i = 0; i < bs; ++i) largest = fmax(largest, fabs(column[i]));
  const int    e     = min(max(ilogb(team_max(largest)), -kMost), kMost);
  const double scale = power_of_two<double>(-e);
  float       *map   = static_cast<float *>(args.diagonal_map) + row * (bs * bs + 1);
#pragma unroll
  for (int i = 0; i < bs; ++i)
    if (mine) map[lane * bs + i] = static_cast<float>(column[i] * scale);
  if (mine && lane == 0) map[bs * bs] = __int_as_float(e);
}

// The inverse of one row's diagonal block into the diagonal map, and what multiplies its off-diagonal blocks from the left, row by row, into left.
template <int bs> __device__ __forceinline__ bool prepare_row(const SetupArgs &args, Row row, bool exists, double *left)
{
  const int lane = static_cast<int>(threadIdx.x) % kTeam;
  double    a[bs];
#pragma unroll
  for (int i = 0; i < bs; ++i) a[i] = lane == i ? 1.0 : 0.0;
  if (exists && lane < bs) {
    const std::uint32_t begin = args.piece[0].ptr[row], end = args.piece[0].ptr[row + 1];
    const BlockView     block = block_view(args, args.piece[0], begin + static_cast<std::uint32_t>(args.diagonal[row]), begin, end);
#pragma unroll
    for (int i = 0; i < bs; ++i) a[i] = block.data[static_cast<std::size_t>(i) * block.row + static_cast<std::size_t>(lane) * block.column];
  }
  const Inversion verdict = team_invert(a, lane);
  if (exists && lane == 0 && verdict != Inversion::done)
    report(args, row, verdict == Inversion::singular ? Defect::singular : Defect::nonfinite_diagonal);
  const bool    mine       = exists && lane < bs;
  const double *left_scale = args.scales, *right_scale = args.scales + bs;
#pragma unroll
  for (int i = 0; i < bs; ++i) {
    if (mine) left[i * bs + lane] = args.prescaled ? left_scale[i] * a[i] : (i == lane ? left_scale[i] : 0.0);
    a[i] = mine ? a[i] / right_scale[i] / (args.prescaled ? 1.0 : left_scale[lane]) : 0.0;
  }
  store_diagonal(args, static_cast<std::size_t>(args.plan_row[row]), mine, lane, a);
  return verdict == Inversion::done;
}

// Item k of a tile of count stored items: replaces its numbers and exponent; its column stays.
template <class Setup>
__device__ __forceinline__ void store_item(const HeadBits &bits, std::byte *tile, std::uint32_t count, std::uint32_t k, int e,
                                           std::uint32_t *word)
{
  constexpr ItemShape shape  = Setup::shape;
  constexpr int       pieces = shape.pieces(), words = shape.bytes / 4;
  std::uint32_t      *head = reinterpret_cast<std::uint32_t *>(tile + item_byte(shape, count, k, shape.head_at()));
  if constexpr (shape.packed) {
    const std::uint32_t column = *head >> shape.shift & ((1U << bits.column_bits) - 1U);
    word[words - 1] |= column << shape.shift | static_cast<std::uint32_t>(e - bits.exponent_base) << (shape.shift + bits.column_bits);
  } else {
    word[words - 1] = *head;
    if constexpr (has_exponent(Setup::storage))
      word[shape.numbers / 4] |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(e)) << (8 * (shape.numbers % 4));
  }
#pragma unroll
  for (int q = 0; q < pieces; ++q)
    *reinterpret_cast<uint4 *>(tile + item_byte(shape, count, k, q * kPiece)) =
        make_uint4(word[4 * q], word[4 * q + 1], word[4 * q + 2], word[4 * q + 3]);
  if constexpr ((shape.bytes & 8) != 0)
    *reinterpret_cast<uint2 *>(tile + item_byte(shape, count, k, pieces * kPiece)) = make_uint2(word[4 * pieces], word[4 * pieces + 1]);
  if constexpr ((shape.bytes & 4) != 0) *head = word[words - 1];
}

// What one thread does with one item: left * block * diag(right), its maxima, its numbers
template <PCMCPIPrecision storage_, int bs, bool packed> struct ItemSetup {
  static constexpr PCMCPIPrecision storage = storage_;
  static constexpr ItemShape       shape   = item_shape(storage, bs, packed);
  static constexpr int             columns = shape.columns, words = shape.bytes / 4;
  static constexpr int             passes = has_exponent(storage) ? 2 : 1; // the exponent comes before the integers
  static constexpr bool            whole  = shape.items * columns == bs;

  double in[columns * bs]; // times right

  template <bool scalar_rows> __device__ __forceinline__ void load(const BlockView &block, int first, const double *right)
  {
    const double *data = block.data + (scalar_rows ? first : first * bs);
#pragma unroll
    for (int i = 0; i < bs; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j) in[j * bs + i] = whole || first + j < bs ? data[scalar_rows ? i * block.row + j : i + j * bs] : 0.0;
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      const double scale = whole || first + j < bs ? right[first + j] : 0.0;
#pragma unroll
      for (int i = 0; i < bs; ++i) in[j * bs + i] *= scale;
    }
  }

  // Returns what is wrong with the block. left: row by row; most: of the whole thread block, by the block's columns
  __device__ __forceinline__ Defect convert(const HeadBits &head, int first, const double *left, std::uint32_t *most, std::uint32_t *word,
                                            int &e) const
  {
    std::uint32_t largest = 0; // upper word
#pragma unroll
    for (int w = 0; w < words; ++w) word[w] = 0;
    e = 0;
#pragma unroll 1
    for (int pass = 0; pass < passes; ++pass) {
#pragma unroll
      for (int i = 0; i < bs; ++i) {
        double l[bs];
#pragma unroll
        for (int k = 0; k < bs; ++k) l[k] = left[i * bs + k];
#pragma unroll
        for (int j = 0; j < columns; ++j) {
          double out = 0.0;
#pragma unroll
          for (int k = 0; k < bs; ++k) out += l[k] * in[j * bs + k];
          if (pass == 0) {
            const std::uint32_t upper = static_cast<std::uint32_t>(__double2hiint(out)) & 0x7fffffffU;
            largest                   = max(largest, upper);
            if ((whole || first + j < bs) && upper > most[(first + j) * bs + i]) atomicMax(most + (first + j) * bs + i, upper); // rare
          }
          if (pass == passes - 1) put_number<storage>(word, number_slot(storage, bs, i, j), number_bits<storage>(out, e));
        }
      }
      if (pass == 0 && largest >= overflow_from<storage>()) return overflow_defect();
      if (has_exponent(storage) && pass == 0) {
        e = shared_exponent(__hiloint2double(static_cast<int>(largest), 0), integer_limit<storage>());
        // what outgrows the exponents' bits will be stored again, see ScaleKeeper
        if constexpr (packed) e = min(max(e, head.exponent_base), head.exponent_base + (1 << (32 - shape.shift - head.column_bits)) - 1);
      }
    }
    return Defect::none;
  }

private:
  __device__ __forceinline__ Defect overflow_defect() const
  {
    bool finite = true;
#pragma unroll
    for (int n = 0; n < columns * bs; ++n) finite = finite && isfinite(in[n]);
    return finite ? Defect::unrepresentable : Defect::nonfinite_offdiagonal;
  }
};

template <PCMCPIPrecision storage, int bs, bool packed>
__global__ void __launch_bounds__(kSetupThreads, bs <= 5 ? 4 : 2) setup_small(SetupArgs args)
{
  using Setup             = ItemSetup<storage, bs, packed>;
  constexpr int     items = Setup::shape.items, lanes = kSetupThreads / items * items; // a thread keeps to its columns
  __shared__ double left[kSetupRows * bs * bs];
  __shared__ std::uint32_t from[kSetupRows], before[kSetupRows + 1]; // a row's first block in a piece, and how many the rows before it have
  __shared__ std::uint32_t most[bs * bs];
  __shared__ double        right[bs];
  __shared__ Row           row_of[kSetupRows];
  __shared__ bool          good[kSetupRows];

  const int t = static_cast<int>(threadIdx.x), slice = t % items, first = slice * Setup::columns;
  if (t < bs * bs) most[t] = 0;
  if (t < bs) right[t] = args.scales[bs + t];
  for (Row row0 = args.begin + static_cast<Row>(blockIdx.x) * kSetupRows; row0 < args.end;
       row0 += static_cast<Row>(gridDim.x) * kSetupRows) {
    const int rows = min(kSetupRows, args.end - row0);
    __syncthreads(); // left is free
    if (t < kSetupRows) row_of[t] = t < rows ? matrix_row(args, row0 + t) : 0;
    __syncthreads();
#pragma unroll 1
    for (int r = t / kTeam; r < kSetupRows; r += kSetupThreads / kTeam) {
      const bool inverted = prepare_row<bs>(args, row_of[r], r < rows, left + r * bs * bs);
      if (t % kTeam == 0) good[r] = inverted;
    }
#pragma unroll 1
    for (int p = 0; p < 2; ++p) {
      const SetupPiece &piece = args.piece[p];
      if (!piece.values) continue;
      __syncthreads(); // from and before are free
      if (t < kSetupRows) {
        const std::uint32_t begin = piece.ptr[row_of[t]];
        std::uint32_t       sum   = t < rows ? piece.ptr[row_of[t] + 1] - begin : 0;
        from[t]                   = begin;
#pragma unroll
        for (int step = 1; step < kSetupRows; step *= 2)
          if (const std::uint32_t other = __shfl_up_sync(kWarp, sum, step); t >= step) sum += other;
        before[t + 1] = sum;
        if (t == 0) before[0] = 0;
      }
      __syncthreads(); // left is there, too
      if (t >= lanes) continue;
      for (std::uint32_t m = static_cast<std::uint32_t>(t); m < before[rows] * items; m += lanes) {
        const std::uint32_t in_group = m / items;
        int                 r        = 0;
#pragma unroll
        for (int step = kSetupRows / 2; step > 0; step /= 2)
          if (r + step < rows && before[r + step] <= in_group) r += step;
        const Row           row    = row_of[r];
        const std::uint32_t in_row = in_group - before[r], k = from[r] + in_row;
        if (!good[r] || (p == 0 && in_row == static_cast<std::uint32_t>(args.diagonal[row]))) continue;
        std::uint32_t   word[Setup::words];
        int             e;
        const BlockView block = block_view(args, piece, k, from[r], from[r] + before[r + 1] - before[r]);
        Setup           item;
        if (args.scalar_rows)
          item.template load<true>(block, first, right);
        else
          item.template load<false>(block, first, right);
        const Defect defect = item.convert(args.head, first, left + r * bs * bs, most, word, e);
        if (defect != Defect::none) {
          report(args, row, defect);
          continue;
        }
        if (!args.store) continue;
        const Tile tile = args.tiles[args.tile_of[row]];
        store_item<Setup>(args.head, args.blocks + static_cast<std::size_t>(tile.offset) * kPiece, stored_items(tile),
                          piece.place[k] + static_cast<std::uint32_t>(slice), e, word);
      }
    }
  }
  __syncthreads();
  if (t < bs * bs) atomicMax(args.maxima + t, most[t]);
}

} // namespace mcpi::cuda
