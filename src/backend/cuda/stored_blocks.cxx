// Builds the stored blocks of a matrix on the device: launches the set-up kernels and reads their
// results. Copies records, and multiplies by the blocks.
#include "backend/cuda/stored_blocks.h"

#include "core/plan_parts.h"

#include <algorithm>
#include <bit>

#include "core/dispatch.h"

namespace mcpi::cuda {

StoredBlocks::StoredBlocks(const ColorPlan &plan, const BackendConfig &config)
    : plan_(plan), config_(config), square_(static_cast<std::size_t>(plan.bs) * plan.bs),
      forward_(plan, config), row_of_(plan.row_of), plan_row_(inverse_order(plan.row_of)),
      narrow_diagonal_(narrow_diagonal(plan.bs, config.double_vectors, prescaled())),
      kernel_(with_precision(config.numeric.storage,
                             [&]<PCMCPIPrecision storage> {
                               return setup_kernel<storage>(plan.bs, forward_.packed());
                             })),
      updater_(config.numeric, plan.bs, Operator::may_pack(plan.bs, config))
{
  int resident = 0;
  if (kernel_.shared > 0) allow_shared(kernel_.function, static_cast<int>(kernel_.shared));
  MCPI_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel_.function,
                                                          kernel_.threads, kernel_.shared));
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount),
            groups = (plan_.rows + least_rows() - 1) / least_rows(),
            scratches =
                static_cast<int>(Tuning::kMostScratch / std::max<std::size_t>(1, kernel_.scratch));
  most_blocks_ = static_cast<unsigned>(
      std::max(1, std::min({std::max(1, resident) * multiprocessors, groups,
                            kernel_.scratch > 0 ? std::max(1, scratches) : groups})));
  scratch_.resize(kernel_.scratch / sizeof(double) * most_blocks_);
  diagonal_map_.resize(static_cast<std::size_t>(plan_.rows) *
                           diagonal_bytes(plan_.bs, narrow_diagonal_) +
                       kPiece); // Bulk copies read whole pieces.
  scales_.resize(2 * static_cast<std::size_t>(plan_.bs));
  maxima_.resize(square_ + kRangeWords);
  bad_.resize(1);
}

std::size_t StoredBlocks::bytes() const
{
  return forward_.bytes() + (transposed_ ? transposed_->bytes() : 0) + row_of_.bytes() +
         plan_row_.bytes() + (feed_ ? feed_->bytes() : 0) + tile_of_.bytes() + place_[0].bytes() +
         place_[1].bytes() + empty_.bytes() + maxima_.bytes() + diagonal_map_.bytes() +
         scales_.bytes() + scratch_.bytes() + bad_.bytes() + sources_.bytes() + received_.bytes() +
         zeros_.bytes();
}

// Computes where each block of the matrix is stored, unless that is known for this source.
void StoredBlocks::prepare(BlockRows &source)
{
  if (feed_ && feed_->serves(source)) return;
  const auto size = static_cast<std::size_t>(plan_.rows);
  feed_ = std::make_unique<ValueUpload>(source, plan_);
  std::vector<std::uint32_t> tile_of(size), place[2];
  for (int p = 0; p < 2; ++p)
    if (feed_->has(p)) place[p].resize(static_cast<std::size_t>(feed_->portion(p).ptr.back()));
  forward_.for_blocks(
      [&](Row row, const Triangle &triangle, Offset k, std::uint32_t tile, std::uint32_t at) {
        const Row matrix_row = plan_.row_of[static_cast<std::size_t>(row)];
        tile_of[static_cast<std::size_t>(matrix_row)] = tile;
        const SourcePlace from = source_place(feed_->portion(0), feed_->portion(1), matrix_row,
                                              triangle.source[static_cast<std::size_t>(k)]);
        place[from.portion][from.block] = at;
      });
  tile_of_.upload(tile_of);
  for (int p = 0; p < 2; ++p) place_[p].upload(place[p]);
}

int StoredBlocks::refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status,
                          cudaStream_t stream)
{
  const auto pass = [&](ScaleUpdater::Pass kind) {
    try {
      prepare(source);
      convert(source, kind == ScaleUpdater::Pass::store, status, stream);
    } catch (...) {
      feed_.reset(); // The upload may be incomplete.
      throw;
    }
  };
  return updater_.refresh(pass, reduce, status);
}

void StoredBlocks::upload_scales(cudaStream_t stream)
{
  MCPI_CUDA(cudaStreamSynchronize(stream)); // The previous copy may still read the array.
  sent_scales_ = scales().left;
  sent_scales_.insert(sent_scales_.end(), scales().right.begin(), scales().right.end());
  MCPI_CUDA(cudaMemcpyAsync(scales_.data(), sent_scales_.data(),
                            sent_scales_.size() * sizeof(double), cudaMemcpyHostToDevice, stream));
}

void StoredBlocks::convert(BlockRows &source, bool store, NumericStatus &status,
                           cudaStream_t stream)
{
  if (store) forward_.set_largest(updater_.largest());
  const StoredNumbers to = forward_.numbers();
  SetupArgs args{};
  args.plan_row = plan_row_.data();
  args.diagonal = feed_->diagonal();
  args.tile_of = tile_of_.data();
  args.tiles = to.tiles;
  args.blocks = to.blocks;
  args.heads = to.heads;
  args.diagonal_map = diagonal_map_.data();
  args.empty = upload_empty(source, plan_, empty_);
  args.scales = scales_.data();
  args.maxima = maxima_.data();
  args.bad = bad_.data();
  args.scratch = scratch_.data();
  args.bs = plan_.bs;
  args.head = to.head;
  args.prescaled = prescaled();
  args.store = store;

  args.narrow_diagonal = narrow_diagonal_;
  upload_scales(stream);
  MCPI_CUDA(
      cudaMemsetAsync(maxima_.data(), 0, (square_ + kRangeWords) * sizeof(std::uint32_t), stream));
  MCPI_CUDA(cudaMemsetAsync(bad_.data(), 0xff, sizeof(unsigned long long), stream));
  feed_->run(source, stream, [&](const Batch &batch) { launch(batch, args, stream); });

  unsigned long long bad = kNoBadRow;
  std::vector<std::uint32_t> maxima(square_ + kRangeWords);
  MCPI_CUDA(cudaMemcpyAsync(&bad, bad_.data(), sizeof(bad), cudaMemcpyDeviceToHost, stream));
  MCPI_CUDA(cudaMemcpyAsync(maxima.data(), maxima_.data(), maxima.size() * sizeof(std::uint32_t),
                            cudaMemcpyDeviceToHost, stream));
  MCPI_CUDA(cudaStreamSynchronize(stream));
  status.set(bad);
  const auto number = [](std::uint32_t upper) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(upper) << 32U);
  };
  inverse_range_ = {number(maxima[square_]), number(maxima[square_ + 1]),
                    number(maxima[square_ + 2])};
  maxima.resize(square_);
  std::transform(maxima.begin(), maxima.end(), updater_.maxima().begin(), number);
}

void StoredBlocks::launch(const Batch &batch, SetupArgs args, cudaStream_t stream)
{
  for (int p = 0; p < 2; ++p)
    args.portion[p] = {feed_->has(p) ? batch.values[p] : nullptr, feed_->ptr(p), place_[p].data(),
                       batch.first[p]};
  args.begin = batch.begin;
  args.end = batch.end;
  args.scalar_rows = batch.scalar_rows;
  // in plan order, so that neighboring threads write neighboring memory
  args.order = batch.whole ? row_of_.data() : nullptr;
  const Row rows = batch.end - batch.begin;
  // Few rows are divided among all multiprocessors.
  args.rows = kernel_.rows;
  while (args.rows > least_rows() && static_cast<unsigned>(rows / args.rows) < most_blocks_)
    args.rows /= 2;
  const auto groups = static_cast<unsigned>((rows + args.rows - 1) / args.rows);
  void *list[1] = {&args};
  MCPI_CUDA(cudaLaunchKernel(kernel_.function, dim3(std::min(groups, most_blocks_)),
                             dim3(static_cast<unsigned>(kernel_.threads)), list, kernel_.shared,
                             stream));
}

void StoredBlocks::pack_records(const std::vector<Offset> &stored, std::byte *records,
                                cudaStream_t stream)
{
  if (stored.empty()) return; // With one rank, the map of all blocks is not made.
  const std::vector<Location> all = locations();
  std::vector<Location> wanted(stored.size());
  std::transform(stored.begin(), stored.end(), wanted.begin(),
                 [&](Offset block) { return all[static_cast<std::size_t>(block)]; });
  DeviceArray<Location> from;
  DeviceArray<std::byte> to(wanted.size() * record_size());
  from.upload(wanted);
  read_records(forward_.numbers(), from.data(), wanted.size(), to.data(), stream);
  MCPI_CUDA(cudaMemcpyAsync(records, to.data(), wanted.size() * record_size(),
                            cudaMemcpyDeviceToHost, stream));
  MCPI_CUDA(cudaStreamSynchronize(stream));
}

void StoredBlocks::build_transposed(const ColorPlan &plan, const std::byte *received,
                                    cudaStream_t stream)
{
  if (!transposed_) {
    auto made = std::make_unique<Operator>(plan, config_);
    received_blocks_ = 0;
    sources_.upload(sources_of(*made, [&](const Triangle &triangle, Offset k) {
      const Offset block = triangle.source[static_cast<std::size_t>(k)];
      if (block >= plan_.blocks())
        received_blocks_ =
            std::max(received_blocks_, static_cast<std::size_t>(block - plan_.blocks()) + 1);
      return block;
    }));
    transposed_ = std::move(made); // Only a complete operator is kept, if memory runs out.
  }
  transposed_->set_largest(largest());
  received_.upload(received, received_blocks_ * record_size());
  fill(transposed_->numbers(), forward_.numbers(), sources_.data(), transposed_->tile_count(),
       static_cast<std::size_t>(plan.blocks()), received_.data(), true, stream);
}

void StoredBlocks::copy(StoredBlocks &from, cudaStream_t stream)
{
  updater_.take(from.updater_);
  inverse_range_ = from.inverse_range_;
  upload_scales(stream);
  forward_.set_largest(largest());
  DeviceArray<Location> sources;
  sources.upload(from.sources_of(
      forward_, [&](const Triangle &triangle, Offset k) { return stored_number(triangle, k); }));
  fill(forward_.numbers(), from.forward_.numbers(), sources.data(), forward_.tile_count(),
       static_cast<std::size_t>(plan_.blocks()), nullptr, false, stream);
  if (narrow_diagonal_ == from.narrow_diagonal_)
    MCPI_CUDA(cudaMemcpyAsync(diagonal_map_.data(), from.diagonal_map_.data(),
                              diagonal_map_.bytes(), cudaMemcpyDeviceToDevice, stream));
  else
    widen_diagonals(from.diagonal_map_.data(), plan_.rows, plan_.bs, diagonal_map_.data(), stream);
  MCPI_CUDA(cudaStreamSynchronize(stream)); // The sources end now.
}

// Blocks of the plan are numbered from the lower to the upper triangle.
Offset StoredBlocks::stored_number(const Triangle &triangle, Offset k) const
{
  return &triangle == &plan_.lower ? k : static_cast<Offset>(plan_.lower.col.size()) + k;
}

void StoredBlocks::multiply(const void *x, void *y, cudaStream_t stream)
{
  const std::size_t number = config_.double_vectors ? sizeof(double) : sizeof(float),
                    size = static_cast<std::size_t>(plan_.rows) * plan_.bs * number;
  if (zeros_.bytes() < size) {
    zeros_.resize(size);
    MCPI_CUDA(cudaMemsetAsync(zeros_.data(), 0, size, stream));
  }
  Relaxation product;
  product.terms = product_terms(x, y, zeros_.data());
  const std::vector<Row> parts = part_begins(plan_);
  for (std::size_t part = 0; part + 1 < parts.size(); ++part)
    forward_.relax(parts[part], parts[part + 1], product, stream);
}

// Locations of all blocks of the plan, by their stored number (lower triangle, then upper)
std::vector<Location> StoredBlocks::locations() const
{
  std::vector<Location> result(static_cast<std::size_t>(plan_.blocks()));
  forward_.for_blocks(
      [&](Row, const Triangle &triangle, Offset k, std::uint32_t tile, std::uint32_t place) {
        result[static_cast<std::size_t>(stored_number(triangle, k))] = location(tile, place);
      });
  return result;
}

// For each slice of `to`, finds the block whose numbers it takes. stored(triangle, k): the stored
// number of that block. Numbers behind those of this rank's blocks are records that were received.
template <class Stored>
std::vector<Location> StoredBlocks::sources_of(const Operator &to, const Stored &stored) const
{
  const std::vector<Location> all = locations();
  const std::size_t slices = to.slices();
  std::vector<Location> sources(to.slice_count());
  to.for_blocks([&](Row, const Triangle &triangle, Offset k, std::uint32_t tile,
                    std::uint32_t place) {
    const Offset block = stored(triangle, k), received = block - plan_.blocks();
    std::fill_n(sources.begin() + static_cast<std::ptrdiff_t>(to.slice_number(tile, place)), slices,
                received >= 0 ? kReceived | static_cast<Location>(received)
                              : all[static_cast<std::size_t>(block)]);
  });
  return sources;
}

} // namespace mcpi::cuda
