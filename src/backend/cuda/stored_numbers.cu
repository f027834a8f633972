// Reads and writes single stored numbers on the device: column indices, records for other ranks,
// and transposed blocks.
#include "backend/cuda/operator.h"

#include "cuda/launch.cuh"

namespace mcpi::cuda {
namespace {

constexpr int kThreads = 128;

// Returns a word of a block. Small blocks: of the block's slice `slice`. Large blocks: of the
// block's record.
__device__ std::uint32_t *word_at(const StoredNumbers &matrix, Location at, int slice, int word)
{
  if (matrix.small) {
    const Tile tile = matrix.tiles[at >> 32U];
    return reinterpret_cast<std::uint32_t *>(
        matrix.blocks + static_cast<std::size_t>(tile.offset) * kPiece +
        slice_byte(matrix.shape, stored_slices(tile), static_cast<std::uint32_t>(at) + slice,
                   4 * word));
  }
  return reinterpret_cast<std::uint32_t *>(matrix.blocks) +
         at * (static_cast<std::size_t>(record_pieces(matrix.storage, matrix.bs)) * 4) + word;
}

// Place of number (i, j) of a block: slice, word of the slice, lowest bit in the word
struct NumberPlace {
  int slice, word, shift;
};
__device__ NumberPlace number_place(const StoredNumbers &matrix, int i, int j)
{
  const int bits = value_bits(matrix.storage);
  int slice = 0, number;
  if (matrix.small) {
    slice = j / matrix.shape.columns;
    number = number_slot(matrix.storage, matrix.bs, i, j - slice * matrix.shape.columns);
  } else {
    number = j * leading_dimension(matrix.storage, matrix.bs) + i;
  }
  return {slice, number * bits / 32, number * bits % 32};
}

// Returns the bits of number (i, j) of the block at a location.
__device__ std::uint64_t number_of(const StoredNumbers &matrix, Location at, int i, int j)
{
  const int bits = value_bits(matrix.storage);
  const NumberPlace place = number_place(matrix, i, j);
  std::uint64_t value = *word_at(matrix, at, place.slice, place.word) >> place.shift;
  if (bits == 64)
    return value | static_cast<std::uint64_t>(*word_at(matrix, at, place.slice, place.word + 1))
                       << 32U;
  return value & ((std::uint64_t{1} << bits) - 1);
}

// Returns the exponent of the block at a location; 0 if the storage precision has none.
__device__ int exponent_of(const StoredNumbers &matrix, Location at)
{
  if (!has_exponent(matrix.storage)) return 0;
  if (!matrix.small) return matrix.heads[at].exponent;
  if (matrix.shape.packed)
    return matrix.head.exponent_base +
           static_cast<int>(*word_at(matrix, at, 0, matrix.shape.head_at() / 4) >>
                            (matrix.shape.shift + matrix.head.column_bits));
  const int byte = matrix.shape.numbers;
  return static_cast<signed char>(*word_at(matrix, at, 0, byte / 4) >> (8 * (byte % 4)));
}

// Returns the bits of number (i, j) of a record (core/codec.h). The record is read byte by byte.
__device__ std::uint64_t record_number(PCMCPIPrecision storage, int bs, const std::byte *record,
                                       int i, int j)
{
  const int bits = value_bits(storage);
  const std::size_t number = static_cast<std::size_t>(j) * leading_dimension(storage, bs) + i;
  const std::byte *from = record + (has_exponent(storage) ? 1 : 0) + number * bits / 8;
  if (bits == 4) return std::to_integer<unsigned>(*from) >> (4 * (number % 2)) & 15U;
  std::uint64_t value = 0;
  for (int b = 0; b < bits / 8; ++b) value |= static_cast<std::uint64_t>(from[b]) << (8 * b);
  return value;
}

// Each thread block takes a tile. Writes the head words of its slices.
__global__ void columns_kernel(StoredNumbers to, const Row *columns)
{
  const Tile tile = to.tiles[blockIdx.x];
  const std::uint32_t count = stored_slices(tile);
  const std::size_t first =
      static_cast<std::size_t>(tile.offset) * kPiece / static_cast<std::size_t>(to.shape.bytes);
  for (std::uint32_t k = threadIdx.x; k < count; k += kThreads)
    *word_at(to, location(blockIdx.x, k), 0, to.shape.head_at() / 4) =
        static_cast<std::uint32_t>(columns[first + k]) << to.shape.shift;
}

// Each thread takes a block and writes its record.
__global__ void records_kernel(StoredNumbers from, const Location *locations, std::size_t count,
                               std::byte *records)
{
  const std::size_t n = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (n >= count) return;
  const int bits = value_bits(from.storage);
  const std::size_t size = record_bytes(from.storage, from.bs),
                    column = static_cast<std::size_t>(leading_dimension(from.storage, from.bs));
  std::byte *out = records + n * size;
  for (std::size_t b = 0; b < size; ++b) out[b] = std::byte{0};
  if (has_exponent(from.storage)) *out++ = static_cast<std::byte>(exponent_of(from, locations[n]));
  for (int j = 0; j < from.bs; ++j)
    for (int i = 0; i < from.bs; ++i) {
      const std::uint64_t value = number_of(from, locations[n], i, j);
      if (bits == 4) {
        const std::size_t number = j * column + i;
        out[number / 2] |= static_cast<std::byte>(value << (4 * (number % 2)));
      } else {
        for (int b = 0; b < bits / 8; ++b)
          out[(static_cast<std::size_t>(j) * from.bs + i) * (bits / 8) + b] =
              static_cast<std::byte>(value >> (8 * b));
      }
    }
}

// The block whose transposed numbers a slice takes: a block of this rank, or a received record
struct Source {
  StoredNumbers from;
  const std::byte *received;
  Location at;

  __device__ std::uint64_t number(int i, int j) const
  {
    return at & kReceived ? record_number(from.storage, from.bs, record(), i, j)
                          : number_of(from, at, i, j);
  }
  __device__ int exponent() const
  {
    return at & kReceived ? static_cast<signed char>(*record()) : exponent_of(from, at);
  }
  __device__ const std::byte *record() const
  {
    return received + (at & ~kReceived) * record_bytes(from.storage, from.bs);
  }
};

// Each thread block takes a tile of `to`, each thread some of its slices. Writes their numbers and
// exponents; the column indices stay.
__global__ void transposed_small(StoredNumbers to, StoredNumbers from, const Location *sources,
                                 const std::byte *received)
{
  const Tile tile = to.tiles[blockIdx.x];
  const std::uint32_t count = slices_of(tile);
  const std::size_t slice =
      static_cast<std::size_t>(tile.offset) * kPiece / static_cast<std::size_t>(to.shape.bytes);
  const int bits = value_bits(to.storage), last = to.shape.head_at() / 4;
  for (std::uint32_t k = threadIdx.x; k < count; k += kThreads) {
    const Source source{from, received, sources[slice + k]};
    const Location at = location(blockIdx.x, k);
    const int first =
        static_cast<int>(k % static_cast<unsigned>(to.shape.slices)) * to.shape.columns;
    std::uint32_t &head = *word_at(to, at, 0, last);
    const int column_bits = to.shape.packed ? to.head.column_bits : 32;
    const std::uint32_t column =
        head &
        static_cast<std::uint32_t>(((std::uint64_t{1} << column_bits) - 1) << to.shape.shift);
    // Another rank may have more bits for exponents than this one. A block with an exponent below
    // this rank's range may count as zero.
    const int e = source.exponent();
    const bool zero = to.shape.packed && e < to.head.exponent_base;
    for (int w = 0; w < last; ++w) *word_at(to, at, 0, w) = 0;
    head = column;
    for (int j = 0; j < to.shape.columns && first + j < to.bs; ++j)
      for (int i = 0; i < to.bs; ++i) {
        const std::uint64_t value = !zero ? source.number(first + j, i)
                                    : to.storage == PC_MCPI_PRECISION_INT4 ? kNibbleShift
                                                                           : 0;
        const int number = number_slot(to.storage, to.bs, i, j) * bits;
        *word_at(to, at, 0, number / 32) |= static_cast<std::uint32_t>(value) << (number % 32);
        if (bits == 64)
          *word_at(to, at, 0, number / 32 + 1) = static_cast<std::uint32_t>(value >> 32U);
      }
    if (!has_exponent(to.storage)) continue;
    if (to.shape.packed)
      head |= static_cast<std::uint32_t>(max(e - to.head.exponent_base, 0))
              << (to.shape.shift + column_bits);
    else
      *word_at(to, at, 0, to.shape.numbers / 4) |=
          static_cast<std::uint32_t>(static_cast<std::uint8_t>(e)) << (8 * (to.shape.numbers % 4));
  }
}

// Each thread takes one word of a large block's record. The first thread of a block writes its
// exponent as well.
__global__ void transposed_large(StoredNumbers to, StoredNumbers from, const Location *sources,
                                 std::size_t blocks, const std::byte *received)
{
  const std::size_t words = static_cast<std::size_t>(record_pieces(to.storage, to.bs)) * 4;
  const std::size_t n = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::size_t block = n / words;
  if (block >= blocks) return;
  const int w = static_cast<int>(n - block * words), bits = value_bits(to.storage),
            ld = leading_dimension(to.storage, to.bs);
  const Source source{from, received, sources[block]};
  std::uint32_t word = 0;
  for (int k = 0; k < (bits == 64 ? 1 : 32 / bits); ++k) {
    const int number = 32 * w / bits + k, j = number / ld, i = number - j * ld;
    if (j >= to.bs || i >= to.bs) continue;
    const std::uint64_t value = source.number(j, i);
    word |= static_cast<std::uint32_t>(bits == 64 && w % 2 == 1 ? value >> 32U : value)
            << (bits % 32 * k);
  }
  *word_at(to, block, 0, w) = word;
  if (w == 0) to.heads[block].exponent = has_exponent(to.storage) ? source.exponent() : 0;
}

} // namespace

void set_columns(const StoredNumbers &to, std::uint32_t tiles, const Row *columns)
{
  launch(columns_kernel, tiles, kThreads, cudaStreamLegacy, to, columns);
}

void read_records(const StoredNumbers &from, const Location *locations, std::size_t count,
                  std::byte *records, cudaStream_t stream)
{
  launch(records_kernel, grid_of(count, kThreads), kThreads, stream, from, locations, count,
         records);
}

void fill_transposed(const StoredNumbers &to, const StoredNumbers &from, const Location *sources,
                     std::uint32_t tiles, std::size_t blocks, const std::byte *received,
                     cudaStream_t stream)
{
  if (to.small)
    launch(transposed_small, tiles, kThreads, stream, to, from, sources, received);
  else
    launch(transposed_large, grid_of(blocks * record_pieces(to.storage, to.bs) * 4, kThreads),
           kThreads, stream, to, from, sources, blocks, received);
}

} // namespace mcpi::cuda
