#include "method/cuda/incomplete_lu.h"

#include <exception>
#include <memory>
#include <optional>

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
    arrays.piece[0] = blocks_;
    return arrays;
  }
  PieceStructure structure(int piece) const override
  {
    PieceStructure structure;
    if (piece > 0) return structure;
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
      : plan_(plan), ghosts_(ghosts), square_(static_cast<std::size_t>(plan.bs) * plan.bs),
        elimination_(make_elimination(plan, ghosts, fill)), row_of_(plan.row_of),
        row_begin_(elimination_.row_begin), step_begin_(elimination_.step_begin),
        offered_(elimination_.offered), steps_(elimination_.steps), updates_(elimination_.updates),
        scratch_(launch_.scratch), done_(static_cast<std::size_t>(plan.rows)), next_(1),
        factors_(elimination_.row_begin, stream_)
  {
    if (plan.rows > 0) MCPI_CUDA(cudaMemsetAsync(done_.data(), 0, done_.bytes(), stream_));
    exchanged_.resize(exchanged_bytes());
    // The device has copies.
    elimination_.steps = std::vector<Elimination::Step>();
    elimination_.updates = std::vector<Elimination::Update>();
    elimination_.offered = std::vector<BlockNumber>();
    elimination_.step_begin = std::vector<BlockNumber>();
  }

  void read(BlockRows &values) override
  {
    blocks_.emplace(elimination_.blocks * square_);
    factors_.set(blocks_->data());
    factors_.set_empty(values.empty());
    failure_ = nullptr;
    try {
      empty_flags_ = upload_empty(values, plan_, empty_);
      if (!feed_ || !feed_->serves(values)) feed_ = std::make_unique<ValueUpload>(values, plan_);
      feed_->run(values, stream_, [&](const Chunk &chunk) { arrange(chunk); });
      MCPI_CUDA(cudaStreamSynchronize(stream_)); // PETSc's arrays are held no longer.
    } catch (...) {
      feed_.reset(); // The upload may be incomplete.
      throw;
    }
  }

  int factor(Halo &halo) override
  {
    std::byte *exchanged = exchanged_.data();
    if (const int error = halo.prepare(block_bytes())) return error;
    ++epoch_;
    if (halo.idle()) {
      attempt([&] { launch(0, plan_.rows); });
      return 0;
    }
    for (int color = 0; color < plan_.colors; ++color) {
      attempt([&] {
        launch(plan_.color_begin[color], plan_.boundary_end[color]);
        offer(color);
      });
      if (const int error = halo.begin(color, exchanged)) return error;
      attempt([&] { launch(plan_.boundary_end[color], plan_.color_begin[color + 1]); });
      if (const int error = halo.end(color, exchanged)) return error;
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
    return memory_bytes(elimination_) + static_cast<double>(exchanged_bytes());
  }
  double device_bytes() const override
  {
    return static_cast<double>(row_of_.bytes() + row_begin_.bytes() + step_begin_.bytes() +
                               offered_.bytes() + steps_.bytes() + updates_.bytes() +
                               scratch_.bytes() + empty_.bytes() + done_.bytes() +
                               (feed_ ? feed_->bytes() : 0));
  }

private:
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
  std::size_t exchanged_bytes() const
  {
    return (elimination_.blocks - elimination_.first_offered) * block_bytes();
  }

  void arrange(const Chunk &chunk)
  {
    ArrangeArgs args{};
    for (int p = 0; p < 2; ++p) {
      args.values[p] = chunk.values[p];
      args.ptr[p] = feed_->has(p) ? feed_->ptr(p) : nullptr;
      args.first[p] = chunk.first[p];
    }
    args.diagonal = feed_->diagonal();
    args.row_begin = row_begin_.data();
    args.blocks = blocks_->data();
    args.begin = chunk.begin;
    args.end = chunk.end;
    args.bs = plan_.bs;
    args.scalar_rows = chunk.scalar_rows;
    arrange_values(args, stream_);
  }

  void launch(Row begin, Row end)
  {
    FactorArgs args{};
    args.blocks = blocks_->data();
    args.row_begin = row_begin_.data();
    args.step_begin = step_begin_.data();
    args.steps = steps_.data();
    args.updates = updates_.data();
    args.row_of = row_of_.data();
    args.empty = empty_flags_;
    args.scratch = scratch_.data();
    args.done = done_.data();
    args.next = next_.data();
    args.epoch = epoch_;
    args.first_inverse = elimination_.first_inverse;
    args.first_offered = elimination_.first_offered;
    args.begin = begin;
    args.end = end;
    args.bs = plan_.bs;
    factor_rows(launch_, args, stream_);
  }

  // Copies the blocks that this rank offers of a color to host memory.
  void offer(int color)
  {
    const BlockNumber begin = elimination_.offered_begin[color],
                      count = elimination_.offered_begin[color + 1] - begin;
    if (count == 0) return;
    copy_blocks(blocks_->data(), offered_.data() + begin, count, elimination_.first_offered + begin,
                plan_.bs, stream_);
    MCPI_CUDA(cudaMemcpyAsync(exchanged_.data() + begin * block_bytes(),
                              blocks_->data() + (elimination_.first_offered + begin) * square_,
                              count * block_bytes(), cudaMemcpyDeviceToHost, stream_));
    MCPI_CUDA(cudaStreamSynchronize(stream_));
  }
  // Copies the blocks that have come of a color to the device.
  void accept(int color)
  {
    const auto begin = static_cast<std::size_t>(ghosts_.ptr[plan_.ghost_begin[color]]),
               end = static_cast<std::size_t>(ghosts_.ptr[plan_.ghost_begin[color + 1]]);
    if (begin == end) return;
    const std::size_t ghosts = elimination_.first_ghost - elimination_.first_offered;
    MCPI_CUDA(cudaMemcpyAsync(blocks_->data() + (elimination_.first_ghost + begin) * square_,
                              exchanged_.data() + (ghosts + begin) * block_bytes(),
                              (end - begin) * block_bytes(), cudaMemcpyHostToDevice, stream_));
  }

  const ColorPlan &plan_;
  const GhostRows &ghosts_;
  const std::size_t square_;
  const FactorLaunch launch_ = factor_launch(plan_.bs, plan_.rows);
  Stream stream_;
  Elimination elimination_;
  DeviceArray<Row> row_of_;
  DeviceArray<BlockNumber> row_begin_, step_begin_, offered_;
  DeviceArray<Elimination::Step> steps_;
  DeviceArray<Elimination::Update> updates_;
  DeviceArray<double> scratch_;
  DeviceArray<std::uint8_t> empty_;
  const std::uint8_t *empty_flags_ = nullptr; // in empty_, if some unknown is empty
  DeviceArray<std::uint32_t> done_;
  DeviceArray<unsigned> next_;
  std::uint32_t epoch_ = 0;
  DeviceFactors factors_;
  std::unique_ptr<ValueUpload> feed_;
  std::optional<DeviceArray<double>> blocks_;
  PinnedBytes exchanged_; // the offered blocks, then those of ghosts
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
