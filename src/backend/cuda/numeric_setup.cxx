// Numeric set-up on the device: prepares the map of blocks, launches the set-up kernels, and reads
// their results.
#include "backend/cuda/numeric_setup.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/dispatch.h"

namespace mcpi::cuda {
NumericSetup::NumericSetup(const NumericConfig &config, const VectorKind &vectors, Operator &target,
                           const Row *row_of, const Row *plan_row)
    : config_(config), target_(target), row_of_(row_of), plan_row_(plan_row), plan_(target.plan()),
      bs_(plan_.bs), square_(static_cast<std::size_t>(bs_) * bs_),
      narrow_diagonal_(
          narrow_diagonal(bs_, vectors.double_vectors, config_.form == PC_MCPI_FORM_PRESCALED)),
      kernel_(with_precision(config_.storage,
                             [&]<PCMCPIPrecision storage> {
                               return setup_kernel<storage>(plan_.bs, target.packed());
                             })),
      updater_(config_, bs_, Operator::may_pack(bs_, config, vectors))
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
                           diagonal_bytes(bs_, narrow_diagonal_) +
                       kPiece); // Bulk copies read whole pieces.
  scales_.resize(2 * static_cast<std::size_t>(bs_));
  maxima_.resize(square_ + 2);
  bad_.resize(1);
}

std::size_t NumericSetup::bytes() const
{
  return (feed_ ? feed_->bytes() : 0) + tile_of_.bytes() + place_[0].bytes() + place_[1].bytes() +
         maxima_.bytes() + diagonal_map_.bytes() + replaced_.bytes() + scales_.bytes() + scratch_.bytes() +
         bad_.bytes();
}

// Computes where each block of the matrix is stored, unless that is known for this source.
void NumericSetup::prepare(BlockRows &source)
{
  if (feed_ && feed_->serves(source)) return;
  const auto size = static_cast<std::size_t>(plan_.rows);
  std::vector<Row> count(size);
  for (Row row = 0; row < plan_.rows; ++row) {
    const auto at = static_cast<std::size_t>(plan_.row_of[static_cast<std::size_t>(row)]);
    for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
      count[at] += static_cast<Row>(triangle->ptr[row + 1] - triangle->ptr[row]);
  }
  feed_ = std::make_unique<ValueUpload>(
      source, plan_.rows, bs_, [&](Row row) { return count[static_cast<std::size_t>(row)]; });

  std::vector<std::uint32_t> tile_of(size), place[2];
  for (int p = 0; p < 2; ++p)
    if (feed_->has(p)) place[p].resize(static_cast<std::size_t>(feed_->piece(p).ptr.back()));
  target_.for_blocks([&](Row row, const Triangle &triangle, Offset k, std::uint32_t tile,
                         std::uint32_t at) {
    const auto matrix_row = static_cast<std::size_t>(plan_.row_of[static_cast<std::size_t>(row)]);
    const PieceStructure &first = feed_->piece(0);
    const Offset in_first = first.ptr[matrix_row + 1] - first.ptr[matrix_row] - 1,
                 number = triangle.source[static_cast<std::size_t>(k)];
    tile_of[matrix_row] = tile;
    if (number < in_first)
      place[0][static_cast<std::size_t>(first.ptr[matrix_row] + number +
                                        (number >= first.diagonal[matrix_row] ? 1 : 0))] = at;
    else
      place[1][static_cast<std::size_t>(feed_->piece(1).ptr[matrix_row] + number - in_first)] = at;
  });
  tile_of_.upload(tile_of);
  for (int p = 0; p < 2; ++p) place_[p].upload(place[p]);
}

int NumericSetup::refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status,
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

void NumericSetup::upload_scales(cudaStream_t stream)
{
  MCPI_CUDA(cudaStreamSynchronize(stream)); // The previous copy may still read the array.
  sent_scales_ = scales().left;
  sent_scales_.insert(sent_scales_.end(), scales().right.begin(), scales().right.end());
  MCPI_CUDA(cudaMemcpyAsync(scales_.data(), sent_scales_.data(),
                            sent_scales_.size() * sizeof(double), cudaMemcpyHostToDevice, stream));
}

void NumericSetup::convert(BlockRows &source, bool store, NumericStatus &status,
                           cudaStream_t stream)
{
  if (store) target_.set_largest(updater_.largest());
  const StoredNumbers to = target_.numbers();
  SetupArgs args{};
  args.plan_row = plan_row_;
  args.diagonal = feed_->diagonal();
  args.tile_of = tile_of_.data();
  args.tiles = to.tiles;
  args.blocks = to.blocks;
  args.heads = to.heads;
  args.diagonal_map = diagonal_map_.data();
  if (const double *replaced = source.arrays().diagonal) {
    replaced_.upload(replaced, static_cast<std::size_t>(plan_.rows) * square_);
    args.replaced = replaced_.data();
  }
  args.scales = scales_.data();
  args.maxima = maxima_.data();
  args.bad = bad_.data();
  args.scratch = scratch_.data();
  args.bs = bs_;
  args.head = to.head;
  args.prescaled = config_.form == PC_MCPI_FORM_PRESCALED;
  args.store = store;

  args.narrow_diagonal = narrow_diagonal_;
  upload_scales(stream);
  MCPI_CUDA(cudaMemsetAsync(maxima_.data(), 0, (square_ + 2) * sizeof(std::uint32_t), stream));
  MCPI_CUDA(cudaMemsetAsync(bad_.data(), 0xff, sizeof(unsigned long long), stream));
  feed_->run(source, stream, [&](const Chunk &chunk) { launch(chunk, args, stream); });

  unsigned long long bad = kNoBadRow;
  std::vector<std::uint32_t> maxima(square_ + 2);
  MCPI_CUDA(cudaMemcpyAsync(&bad, bad_.data(), sizeof(bad), cudaMemcpyDeviceToHost, stream));
  MCPI_CUDA(cudaMemcpyAsync(maxima.data(), maxima_.data(), maxima.size() * sizeof(std::uint32_t),
                            cudaMemcpyDeviceToHost, stream));
  MCPI_CUDA(cudaStreamSynchronize(stream));
  status.set(bad);
  const auto number = [](std::uint32_t upper) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(upper) << 32U);
  };
  inverse_range_ = {number(maxima[square_]), number(maxima[square_ + 1])};
  maxima.resize(square_);
  std::transform(maxima.begin(), maxima.end(), updater_.maxima().begin(), number);
}

void NumericSetup::launch(const Chunk &chunk, SetupArgs args, cudaStream_t stream)
{
  for (int p = 0; p < 2; ++p)
    args.piece[p] = {feed_->has(p) ? chunk.values[p] : nullptr, feed_->ptr(p), place_[p].data(),
                     chunk.first[p]};
  args.begin = chunk.begin;
  args.end = chunk.end;
  args.scalar_rows = chunk.scalar_rows;
  // in plan order, so that neighboring threads write neighboring memory
  args.order = chunk.whole ? row_of_ : nullptr;
  const Row rows = chunk.end - chunk.begin;
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

} // namespace mcpi::cuda
