// Reads and writes single stored numbers on the device: column indices, records for other ranks,
// and transposed blocks.
#include "backend/cuda/operator.h"

#include "core/dispatch.h"
#include "cuda/launch.cuh"

namespace mcpi::cuda {
namespace {

constexpr unsigned kThreads = Tuning::kNumbersThreads;

// The place of a block that begins with a slice of a tile
__device__ Slot slot_in(const StoredNumbers &numbers, std::uint32_t tile, std::uint32_t slice)
{
  const Tile at = numbers.tiles[tile];
  return {std::uint64_t{at.offset} * kPiece, stored_slices(at), slice};
}
// The number of a tile's first slice among those of all tiles
__device__ std::size_t first_slice(const StoredNumbers &numbers, const Tile &tile)
{
  return std::size_t{tile.offset} * kPiece / static_cast<std::size_t>(numbers.shape.slice.bytes);
}

// Copies the columns [begin, end) of the block at a location, or of the transposed block. The
// location is in `from`, or the number of a received record.
template <PCMCPIPrecision storage>
__device__ void copy_from(const StoredNumbers &from, const std::byte *received, Location at,
                          bool transposed, const BlockMemory &to, const Slot &place, int begin,
                          int end)
{
  if (at & kReceived) {
    const BlockMemory records{make_shape(LayoutKind::records, storage, to.shape.bs),
                              const_cast<std::byte *>(received)};
    copy_columns<storage>(records, slot_of(records.shape, nullptr, at & ~kReceived), transposed, to,
                          place, begin, end);
  } else {
    const Slot slot =
        from.shape.kind == LayoutKind::slices
            ? slot_in(from, static_cast<std::uint32_t>(at >> 32U), static_cast<std::uint32_t>(at))
            : slot_of(from.shape, nullptr, at);
    copy_columns<storage>(from, slot, transposed, to, place, begin, end);
  }
}

// Each thread block takes a tile. Writes the head words of its slices.
__global__ void columns_kernel(StoredNumbers to, const Row *columns)
{
  const Tile tile = to.tiles[blockIdx.x];
  columns += first_slice(to, tile);
  for (std::uint32_t k = threadIdx.x; k < stored_slices(tile); k += kThreads)
    *head_word(to, slot_in(to, blockIdx.x, k), 0) = static_cast<std::uint32_t>(columns[k])
                                                    << to.shape.slice.shift;
}

// Each thread block takes a tile of `to`, each thread some of its blocks. Writes their numbers and
// exponents; the column indices stay.
template <PCMCPIPrecision storage>
__global__ void fill_kernel(StoredNumbers to, StoredNumbers from, const Location *sources,
                            const std::byte *received, bool transposed)
{
  const Tile tile = to.tiles[blockIdx.x];
  sources += first_slice(to, tile);
  const auto slices = static_cast<std::uint32_t>(to.shape.slice.slices);
  for (std::uint32_t k = threadIdx.x * slices; k < slices_of(tile); k += kThreads * slices)
    copy_from<storage>(from, received, sources[k], transposed, to, slot_in(to, blockIdx.x, k), 0,
                       to.shape.bs);
}

// Each thread takes a number of a block.
__global__ void widen_kernel(const float *narrow, std::size_t numbers, int square, double *wide)
{
  const std::size_t n = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (n >= numbers) return;
  const auto size = static_cast<std::size_t>(square), row = n / size, first = row * (size + 1);
  wide[n] = static_cast<double>(narrow[first + n % size]) *
            power_of_two<double>(std::bit_cast<int>(narrow[first + size]));
}

// Writes records or large blocks, one after the other. Each thread takes `columns` columns of a
// block.
template <PCMCPIPrecision storage>
__global__ void copy_kernel(BlockMemory to, StoredNumbers from, const Location *sources,
                            std::size_t blocks, const std::byte *received, bool transposed,
                            int columns)
{
  const std::size_t n = std::size_t{blockIdx.x} * kThreads + threadIdx.x,
                    threads = static_cast<unsigned>(to.shape.bs / columns), block = n / threads;
  if (block >= blocks) return;
  const int begin = static_cast<int>(n % threads) * columns;
  copy_from<storage>(from, received, sources[block], transposed, to,
                     slot_of(to.shape, nullptr, block), begin, begin + columns);
}

// Columns of int4 begin at whole bytes in large blocks only, so a thread takes a whole small block.
void copy_blocks(const BlockMemory &to, const StoredNumbers &from, const Location *sources,
                 std::size_t blocks, const std::byte *received, bool transposed,
                 cudaStream_t stream)
{
  const int columns = from.tiles ? to.shape.bs : 1;
  const std::size_t threads = blocks * static_cast<unsigned>(to.shape.bs / columns);
  with_precision(to.shape.storage, [&]<PCMCPIPrecision storage> {
    launch(copy_kernel<storage>, grid_of(threads, kThreads), kThreads, stream, to, from, sources,
           blocks, received, transposed, columns);
  });
}

} // namespace

void set_columns(const StoredNumbers &to, std::uint32_t tiles, const Row *columns)
{
  launch(columns_kernel, tiles, kThreads, cudaStreamLegacy, to, columns);
}

void read_records(const StoredNumbers &from, const Location *locations, std::size_t count,
                  std::byte *records, cudaStream_t stream)
{
  const Shape shape = make_shape(LayoutKind::records, from.shape.storage, from.shape.bs);
  MCPI_CUDA(cudaMemsetAsync(records, 0, count * shape.record, stream)); // unused nibbles
  copy_blocks({shape, records}, from, locations, count, nullptr, false, stream);
}

void fill(const StoredNumbers &to, const StoredNumbers &from, const Location *sources,
          std::uint32_t tiles, std::size_t blocks, const std::byte *received, bool transposed,
          cudaStream_t stream)
{
  if (to.shape.kind == LayoutKind::pieces)
    return copy_blocks(to, from, sources, blocks, received, transposed, stream);
  with_precision(to.shape.storage, [&]<PCMCPIPrecision storage> {
    launch(fill_kernel<storage>, tiles, kThreads, stream, to, from, sources, received, transposed);
  });
}

void widen_diagonals(const std::byte *narrow, Row rows, int bs, std::byte *wide,
                     cudaStream_t stream)
{
  const int square = bs * bs;
  const std::size_t numbers = static_cast<std::size_t>(rows) * static_cast<std::size_t>(square);
  launch(widen_kernel, grid_of(numbers, kThreads), kThreads, stream,
         reinterpret_cast<const float *>(narrow), numbers, square,
         reinterpret_cast<double *>(wide));
}

} // namespace mcpi::cuda
