// Divides the values of a matrix into batches and brings them to the device.
#include "backend/cuda/value_upload.h"

#include <algorithm>

#include "core/threads.h"
#include "cuda/launch.cuh"

namespace mcpi::cuda {
namespace {

constexpr int kThreads = Tuning::kExpandThreads;

// Copies the entries of the block rows [begin, end), which are stored by scalar rows, to dense
// blocks. The blocks must be zero before. Each warp takes a scalar row. Reads values, entry_ptr
// (entries before a scalar row), slot (place of an entry in the blocks of its block row) and ptr
// (blocks before a block row); writes blocks, from block `first` on.
__global__ void expand_kernel(const double *values, const std::uint32_t *ptr,
                              const Offset *entry_ptr, const std::uint32_t *slot, double *blocks,
                              std::uint32_t first, Row begin, Row end, int bs)
{
  const long long warp = (static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x) / kWarpSize;
  const long long row = static_cast<long long>(begin) * bs + warp;
  if (row >= static_cast<long long>(end) * bs) return;
  double *out = blocks + static_cast<std::size_t>(ptr[row / bs] - first) * bs * bs;
  for (Offset k = entry_ptr[row] + threadIdx.x % kWarpSize; k < entry_ptr[row + 1]; k += kWarpSize)
    out[slot[k]] = values[k];
}

// Copies numbers by all threads of the team. A single thread does not copy as fast as the bus
// transfers.
void copy(mcpi::Team &team, const double *from, std::size_t count, double *to)
{
  const Slices slices(count, team.threads(), Tuning::kCopied);
  team.share(slices.parts, [&](std::size_t part) {
    std::copy(from + slices.begin(part), from + slices.begin(part + 1), to + slices.begin(part));
  });
}

std::vector<std::uint32_t> narrow(const std::vector<Offset> &wide)
{
  if (!wide.empty() && wide.back() > static_cast<Offset>(0xffffffffU))
    throw Error("the matrix is too large for the CUDA backend: use more ranks");
  return {wide.begin(), wide.end()};
}

} // namespace

ValueUpload::ValueUpload(BlockRows &source, const ColorPlan &plan)
    : rows_(plan.rows), bs_(plan.bs), square_(static_cast<std::size_t>(plan.bs) * plan.bs),
      layout_(source.arrays().layout), device_(source.arrays().device)
{
  if (layout_ == ValueLayout::none) {
    structure_[0].ptr = block_begins(plan);
    structure_[0].diagonal.assign(static_cast<std::size_t>(rows_), 0);
  } else {
    for (int p = 0; p < 2; ++p) structure_[p] = source.structure(p);
  }
  diagonal_.upload(structure_[0].diagonal);
  for (int p = 0; p < 2; ++p) {
    ptr_[p].upload(narrow(structure_[p].ptr));
    entry_ptr_[p].upload(structure_[p].entry_ptr);
    slot_[p].upload(structure_[p].slot);
    partial_ = partial_ || !structure_[p].entry_ptr.empty();
    structure_[p].slot = {};
    structure_[p].entry_ptr = {};
  }
}

std::size_t ValueUpload::bytes() const
{
  std::size_t sum = diagonal_.bytes();
  for (int p = 0; p < 2; ++p)
    sum += ptr_[p].bytes() + slot_[p].bytes() + entry_ptr_[p].bytes() + buffer_[p].device.bytes();
  return sum;
}

Row ValueUpload::batch_end(Row begin) const
{
  const Offset most =
      std::max<Offset>(1, static_cast<Offset>(Tuning::kBatchBytes / (square_ * sizeof(double))));
  Row low = begin + 1, high = rows_; // A batch has at least one row.
  while (low < high) {
    const Row middle = low + (high - low + 1) / 2;
    if (blocks(0, begin, middle) + blocks(1, begin, middle) <= most)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// Describes the batch of the matrix rows [begin, end). values: its blocks, those of the first
// portion before those of the second.
Batch ValueUpload::describe(Row begin, Row end, const double *values) const
{
  Batch batch;
  batch.begin = begin;
  batch.end = end;
  for (int p = 0; p < 2; ++p) {
    if (!has(p)) continue;
    batch.first[p] = static_cast<std::uint32_t>(structure_[p].ptr[static_cast<std::size_t>(begin)]);
    batch.values[p] = values;
    values += static_cast<std::size_t>(blocks(p, begin, end)) * square_;
  }
  return batch;
}

// Copies the values of a batch to a pinned buffer of the host.
void ValueUpload::fill(BlockRows &source, const ValueArrays &arrays, const Batch &batch,
                       mcpi::Team &copiers, double *out) const
{
  if (layout_ == ValueLayout::blocks) {
    for (int p = 0; p < 2; ++p) {
      if (!has(p)) continue;
      const std::size_t count =
          static_cast<std::size_t>(blocks(p, batch.begin, batch.end)) * square_;
      copy(copiers, arrays.portion[p] + static_cast<std::size_t>(batch.first[p]) * square_, count,
           out);
      out += count;
    }
    return;
  }
  const double *diagonal = nullptr;
  const double *const *offdiag = nullptr;
  for (Row row = batch.begin; row < batch.end; ++row) {
    source.row(row, diagonal, offdiag);
    out = std::copy_n(diagonal, square_, out);
    for (Offset k = 0; k + 1 < blocks(0, row, row + 1); ++k)
      out = std::copy_n(offdiag[k], square_, out);
  }
}

// Expands the entries of scalar rows to dense blocks, if some blocks are not full.
void ValueUpload::expand(const ValueArrays &arrays, const Batch &batch, double *blocks_out,
                         cudaStream_t stream) const
{
  const std::size_t count = static_cast<std::size_t>(blocks(0, batch.begin, batch.end) +
                                                     blocks(1, batch.begin, batch.end)) *
                            square_;
  MCPI_CUDA(cudaMemsetAsync(blocks_out, 0, count * sizeof(double), stream));
  for (int p = 0; p < 2; ++p) {
    if (blocks(p, batch.begin, batch.end) == 0) continue;
    launch(expand_kernel,
           grid_of(static_cast<std::size_t>(batch.end - batch.begin) * bs_, kThreads / kWarpSize),
           kThreads, stream, arrays.portion[p], ptr_[p].data(), entry_ptr_[p].data(),
           slot_[p].data(), blocks_out, batch.first[p], batch.begin, batch.end, bs_);
    blocks_out += static_cast<std::size_t>(blocks(p, batch.begin, batch.end)) * square_;
  }
}

void ValueUpload::run(BlockRows &source, cudaStream_t stream,
                      const std::function<void(const Batch &)> &use)
{
  const ValueArrays arrays = source.arrays();
  if (rows_ == 0) return;
  if (device_) {
    // PETSc's matrices work on PETSc's default stream, whatever the user's stream is now. The
    // legacy stream waits for that stream.
    for (const cudaStream_t made : {static_cast<cudaStream_t>(arrays.stream), cudaStreamLegacy}) {
      const Event ready;
      MCPI_CUDA(cudaEventRecord(ready, made));
      MCPI_CUDA(cudaStreamWaitEvent(stream, ready, 0));
    }
    if (!partial_) {
      Batch batch = describe(0, rows_, nullptr);
      batch.whole = true;
      batch.scalar_rows = layout_ == ValueLayout::scalar_rows;
      std::copy_n(arrays.portion, 2, batch.values);
      use(batch);
      return;
    }
  }
  mcpi::Team copiers(std::min(arrays.threads, Tuning::kMaxCopiers));
  int turn = 0;
  for (Row begin = 0; begin < rows_; turn = 1 - turn) {
    Buffer &buffer = buffer_[turn];
    const Row end = batch_end(begin);
    const std::size_t count =
        static_cast<std::size_t>(blocks(0, begin, end) + blocks(1, begin, end)) * square_;
    MCPI_CUDA(cudaEventSynchronize(buffer.read));
    buffer.device.resize(count);
    const Batch batch = describe(begin, end, buffer.device.data());
    if (device_) {
      expand(arrays, batch, buffer.device.data(), stream);
    } else {
      buffer.host.resize(count * sizeof(double));
      fill(source, arrays, batch, copiers, reinterpret_cast<double *>(buffer.host.data()));
      MCPI_CUDA(cudaMemcpyAsync(buffer.device.data(), buffer.host.data(), count * sizeof(double),
                                cudaMemcpyHostToDevice, stream));
    }
    use(batch);
    MCPI_CUDA(cudaEventRecord(buffer.read, stream));
    begin = end;
  }
}

} // namespace mcpi::cuda
