#include "method/cuda/incomplete_lu.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "core/memory.h"
#include "method/cuda/factor_kernels.h"

namespace mcpi {
namespace cuda {
namespace {

// Blocks on a device as an Elimination arranges them
class DeviceFactors final : public BlockRows {
public:
  DeviceFactors(const std::vector<BlockNumber> &row_begin, cudaStream_t stream)
      : row_begin_(row_begin), stream_(stream)
  {
  }
  void set(const double *blocks) { blocks_ = blocks; }
  ValueArrays arrays() override
  {
    ValueArrays arrays;
    arrays.layout = ValueLayout::blocks;
    arrays.device = true;
    arrays.stream = stream_;
    arrays.portion[0] = blocks_;
    return arrays;
  }
  PortionStructure structure(int portion) const override
  {
    PortionStructure structure;
    if (portion > 0) return structure;
    structure.ptr.assign(row_begin_.begin(), row_begin_.end());
    structure.diagonal.assign(row_begin_.size() - 1, 0);
    return structure;
  }

private:
  const std::vector<BlockNumber> &row_begin_;
  const cudaStream_t stream_;
  const double *blocks_ = nullptr;
};

// Without exchanges one launch factors all rows. Blocks that ranks exchange pass through host
// memory, after each color.
class CudaIncompleteLU final : public Method {
public:
  CudaIncompleteLU(const ColorPlan &plan, const GhostRows &ghosts, bool fill)
      : CudaIncompleteLU(plan, ghosts, fill, Elimination(plan, ghosts, true).search_lists())
  {
  }

  void read(BlockRows &values) override
  {
    blocks_.emplace((lists_.blocks + most_sent(ghosts_)) * square_);
    factors_.set(blocks_->data());
    factors_.set_empty(values.empty());
    failure_ = nullptr;
    try {
      empty_flags_ = upload_empty(values, plan_, empty_);
      if (!feed_ || !feed_->serves(values)) feed_ = std::make_unique<ValueUpload>(values, plan_);
      feed_->run(values, stream_, [&](const Batch &batch) { arrange(batch); });
      MCPI_CUDA(cudaStreamSynchronize(stream_)); // PETSc's arrays are held no longer.
    } catch (...) {
      feed_.reset(); // The upload may be incomplete.
      throw;
    }
  }

  int factor(BlockExchange *exchange) override
  {
    ++epoch_;
    if (!exchange) {
      attempt([&] { launch(0, plan_.rows); });
      return 0;
    }
    if (const int error = exchange->prepare(block_bytes())) return error;
    for (int color = 0; color < plan_.colors; ++color) {
      attempt([&] {
        launch(plan_.color_begin[color], plan_.boundary_end[color]);
        copy_sent(color);
      });
      if (const int error = exchange->begin(color, sent_.data(), received_.data())) return error;
      attempt([&] { launch(plan_.boundary_end[color], plan_.color_begin[color + 1]); });
      if (const int error = exchange->end()) return error;
      attempt([&] { accept(color); });
    }
    return 0;
  }

  BlockRows &factors() override
  {
    if (failure_) std::rethrow_exception(failure_);
    return factors_;
  }
  void release() noexcept override { blocks_.reset(); }
  double host_bytes() const override
  {
    return bytes_of(lists_.row_begin) +
           static_cast<double>((most_sent(ghosts_) + most_received()) * block_bytes());
  }
  double device_bytes() const override
  {
    return static_cast<double>(row_of_.bytes() + row_begin_.bytes() + lower_.bytes() +
                               lower_begin_.bytes() + col_.bytes() + plan_row_.bytes() +
                               ghost_begin_.bytes() + ghost_end_.bytes() + sent_blocks_.bytes() +
                               scratch_.bytes() + empty_.bytes() + done_.bytes() +
                               (feed_ ? feed_->bytes() : 0));
  }

private:
  CudaIncompleteLU(const ColorPlan &plan, const GhostRows &ghosts, bool fill, SearchLists lists)
      : plan_(plan), ghosts_(ghosts), square_(static_cast<std::size_t>(plan.bs) * plan.bs),
        fill_(fill), row_of_(plan.row_of), row_begin_(lists.row_begin), lower_(lists.lower),
        lower_begin_(lists.lower_begin), col_(lists.col), plan_row_(lists.plan_row),
        ghost_begin_(lists.ghost_begin), ghost_end_(lists.ghost_end), sent_blocks_(lists.sent),
        scratch_(launch_.scratch), done_(static_cast<std::size_t>(plan.rows)), next_(1),
        factors_(lists_.row_begin, stream_)
  {
    if (plan.rows > 0) MCPI_CUDA(cudaMemsetAsync(done_.data(), 0, done_.bytes(), stream_));
    sent_.resize(most_sent(ghosts) * block_bytes());
    received_.resize(most_received() * block_bytes());
    // The device has copies of the rest.
    lists_.row_begin = std::move(lists.row_begin);
    lists_.first_inverse = lists.first_inverse;
    lists_.first_ghost = lists.first_ghost;
    lists_.blocks = lists.blocks;
    lists_.ascending = lists.ascending;
  }

  // Ranks must go on exchanging if the device of one has failed.
  template <class Work> void attempt(const Work &work)
  {
    if (failure_) return;
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  std::size_t block_bytes() const { return square_ * sizeof(double); }
  // The blocks of the ghosts of a color, and the most of them
  std::size_t received(int color) const
  {
    return static_cast<std::size_t>(ghosts_.ptr[plan_.ghost_begin[color + 1]] -
                                    ghosts_.ptr[plan_.ghost_begin[color]]);
  }
  std::size_t most_received() const
  {
    std::size_t most = 0;
    for (int color = 0; color < plan_.colors; ++color) most = std::max(most, received(color));
    return most;
  }

  void arrange(const Batch &batch)
  {
    ArrangeArgs args{};
    for (int p = 0; p < 2; ++p) {
      args.values[p] = batch.values[p];
      args.ptr[p] = feed_->has(p) ? feed_->ptr(p) : nullptr;
      args.first[p] = batch.first[p];
    }
    args.diagonal = feed_->diagonal();
    args.row_begin = row_begin_.data();
    args.blocks = blocks_->data();
    args.begin = batch.begin;
    args.end = batch.end;
    args.bs = plan_.bs;
    args.scalar_rows = batch.scalar_rows;
    arrange_values(args, stream_);
  }

  void launch(Row begin, Row end)
  {
    FactorArgs args{};
    args.blocks = blocks_->data();
    args.search = {row_begin_.data(), lower_.data(),        lower_begin_.data(),
                   col_.data(),       plan_row_.data(),     ghost_begin_.data(),
                   ghost_end_.data(), lists_.first_inverse, lists_.first_ghost,
                   lists_.ascending};
    args.row_of = row_of_.data();
    args.empty = empty_flags_;
    args.scratch = scratch_.data();
    args.done = done_.data();
    args.next = next_.data();
    args.epoch = epoch_;
    args.fill = fill_;
    args.begin = begin;
    args.end = end;
    args.bs = plan_.bs;
    factor_rows(launch_, args, stream_);
  }

  // Copies the blocks of a color that other ranks read to host memory. The arrays there are no
  // longer in use for the color before.
  void copy_sent(int color)
  {
    const Offset begin = ghosts_.sent_begin[color];
    const auto count = static_cast<std::size_t>(ghosts_.sent_begin[color + 1] - begin);
    double *packed = blocks_->data() + lists_.blocks * square_;
    if (count > 0) {
      copy_blocks(blocks_->data(), sent_blocks_.data() + begin, count, plan_.bs, packed, stream_);
      MCPI_CUDA(cudaMemcpyAsync(sent_.data(), packed, count * block_bytes(), cudaMemcpyDeviceToHost,
                                stream_));
    }
    MCPI_CUDA(cudaStreamSynchronize(stream_));
  }
  // Copies the blocks that have come of a color to the device.
  void accept(int color)
  {
    const std::size_t count = received(color);
    if (count == 0) return;
    const auto first = static_cast<std::size_t>(ghosts_.ptr[plan_.ghost_begin[color]]);
    MCPI_CUDA(cudaMemcpyAsync(blocks_->data() + (lists_.first_ghost + first) * square_,
                              received_.data(), count * block_bytes(), cudaMemcpyHostToDevice,
                              stream_));
  }

  const ColorPlan &plan_;
  const GhostRows &ghosts_;
  const std::size_t square_;
  const FactorLaunch launch_ = factor_launch(plan_.bs, plan_.rows);
  Stream stream_;
  const bool fill_;
  SearchLists lists_; // without what the device alone reads
  DeviceArray<Row> row_of_;
  DeviceArray<BlockNumber> row_begin_, lower_, lower_begin_;
  DeviceArray<std::uint32_t> col_;
  DeviceArray<Row> plan_row_;
  DeviceArray<BlockNumber> ghost_begin_, ghost_end_, sent_blocks_;
  DeviceArray<double> scratch_;
  DeviceArray<std::uint8_t> empty_;
  const std::uint8_t *empty_flags_ = nullptr; // in empty_, if some unknown is empty
  DeviceArray<std::uint32_t> done_;
  DeviceArray<unsigned> next_;
  std::uint32_t epoch_ = 0;
  DeviceFactors factors_;
  std::unique_ptr<ValueUpload> feed_;
  std::optional<DeviceArray<double>> blocks_;
  PinnedBytes sent_, received_; // of the present color
  std::exception_ptr failure_;
};

} // namespace
} // namespace cuda

std::unique_ptr<Method> make_cuda_method(PCMCPIMethod method, const ColorPlan &plan,
                                         const GhostRows &ghosts)
{
  return std::make_unique<cuda::CudaIncompleteLU>(plan, ghosts, changes_offdiagonal(method));
}

} // namespace mcpi
