// The CUDA backend: sweeps of one rank on one CUDA device. Vectors are in plan order: a row's
// right-hand sides side by side, bs numbers each.
#include "backend/cuda/cuda_backend.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "backend/cuda/numeric_setup.h"
#include "backend/cuda/overlap_streams.h"
#include "backend/cuda/vectors.h"
#include "cuda/recorded_runs.h"
#include "sweep/device_exchange.h"
#include "sweep/epochs.h"

namespace mcpi {
namespace cuda {
namespace {

// Kernels are launched to stream_. If exchanges are launched to the device as well (launched_),
// boundary rows whose exchange overlaps with interior rows go to a second stream
// (overlap_streams.h).
class CudaBackend final : public Backend, public DeviceExchange {
public:
  CudaBackend(const ColorPlan &plan, const BackendConfig &config)
      : plan_(plan), config_(config),
        number_(config.double_vectors ? sizeof(double) : sizeof(float)), forward_(plan, config),
        row_of_(plan.row_of), plan_row_(inverse(plan.row_of)),
        groups_(config.double_vectors || !prescaled() ? GatherGroups() : make_gather_groups(plan)),
        setup_(config, forward_, row_of_.data(), plan_row_.data())
  {
    reserve(1);
  }

  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status) override
  {
    if (const int error = setup_.refresh(source, reduce, status, stream_)) return error;
    // Recorded launches hold alpha and the exponents' base, which follows the largest number.
    if (alpha_ != setup_.scales().alpha || largest_ != setup_.largest()) graphs_.clear();
    alpha_ = setup_.scales().alpha;
    largest_ = setup_.largest();
    return 0;
  }

  void pack_records(const std::vector<Offset> &stored, std::byte *records) override
  {
    if (stored.empty()) return; // With one rank, the map of all blocks is not made.
    const std::vector<Location> all = locations();
    std::vector<Location> wanted(stored.size());
    std::transform(stored.begin(), stored.end(), wanted.begin(),
                   [&](Offset block) { return all[static_cast<std::size_t>(block)]; });
    DeviceArray<Location> from;
    DeviceArray<std::byte> to(wanted.size() * record_size());
    from.upload(wanted);
    read_records(forward_.numbers(), from.data(), wanted.size(), to.data(), stream_);
    MCPI_CUDA(cudaMemcpyAsync(records, to.data(), wanted.size() * record_size(),
                              cudaMemcpyDeviceToHost, stream_));
    MCPI_CUDA(cudaStreamSynchronize(stream_));
  }

  void build_transposed(const ColorPlan &plan, const std::byte *received) override
  {
    if (!transposed_) {
      auto made = std::make_unique<Operator>(plan, config_);
      map_transposed(*made);
      transposed_ = std::move(made); // Only a complete operator is kept, if memory runs out.
    }
    transposed_->set_largest(setup_.largest());
    received_.upload(received, received_blocks_ * record_size());
    fill_transposed(transposed_->numbers(), forward_.numbers(), sources_.data(),
                    transposed_->tile_count(), static_cast<std::size_t>(plan.blocks()),
                    received_.data(), stream_);
  }

  void reserve(int nrhs) override
  {
    if (nrhs <= room_) return;
    const std::size_t entry = static_cast<std::size_t>(plan_.bs) * nrhs * number_,
                      local = plan_.rows * entry;
    room_ = 0; // until all arrays have been allocated
    MCPI_CUDA(cudaStreamSynchronize(stream_));
    graphs_.clear(); // Recorded launches hold the old addresses.
    x_.resize(local + plan_.ghosts * entry);
    rhs_.resize(local);
    kept_.resize(local);
    if (rounded())
      gathered_.resize(static_cast<std::size_t>(plan_.rows + plan_.ghosts) * copy_words() *
                       static_cast<std::size_t>(nrhs));
    room_ = nrhs;
  }
  void load_rhs(const ApplyArgs &apply, const ConstColumns &b) override
  {
    reserve(apply.nrhs);
    join(apply);
    VectorArgs args = vector_args(apply, b.ld);
    if (prescaled() && !apply.transposed)
      args.diagonal = setup_.diagonal_map();
    else
      args.scale = apply.transposed ? setup_.right() : setup_.left();
    const double *array = on_device(apply, b, args.ld);
    load_vector(args, config_.double_vectors, array, rhs_.data(), stream_);
    loading_[0] = loading_[1] = true;
  }

  void load_guess(const ApplyArgs &apply, const ConstColumns &x) override
  {
    VectorArgs args = vector_args(apply, x.ld);
    args.scale = setup_.right();
    args.divide = true;
    const double *array = on_device(apply, x, args.ld);
    load_vector(args, config_.double_vectors, array, x_.data(), stream_);
    round(apply, 0, plan_.rows, stream_);
  }

  void relax(const ApplyArgs &apply, const RelaxStep &step) override
  {
    const RelaxArgs args = relax_args(apply, step);
    const bool ahead = launched_ && step.overlapped;
    const cudaStream_t stream = ahead ? streams_.ahead() : stream_;
    if (launched_) streams_.order(ahead);
    const bool early = step.begin == step.end || may_begin_early(ahead);
    (apply.transposed ? *transposed_ : forward_)
        .relax(step.begin, step.end, args, cache(apply), early, stream);
    // Kernels for small blocks round x themselves.
    if (!forward_.small()) round(apply, step.begin, step.end, stream);
    if (launched_) streams_.mark(ahead);
  }

  bool use_packets(const GhostPackets *packets) override
  {
    packets_ = packets;
    return packets && forward_.may_exchange();
  }
  bool exchanges_inside(const ApplyArgs &apply) const override
  {
    return packets_ && apply.nrhs == 1 && !apply.transposed;
  }
  // Launches send_packets(), which waits until the neighbors have ended the previous application.
  // If the sweep starts from a guess, its boundary rows are then sent.
  void start_inside(const ApplyArgs &apply, bool from_zero) override
  {
    const bool guess = !from_zero;
    send_packets(packet_args(apply), guess ? packets_->sent : nullptr, guess ? packets_->count : 0,
                 {Epochs::kGuess, 0}, stream_);
  }
  void relax_inside(const ApplyArgs &apply, const RelaxStep &step,
                    const GhostEpochs &epochs) override
  {
    RelaxArgs args = relax_args(apply, step);
    InlineExchange &inside = args.inside;
    inside.packets = packet_args(apply);
    inside.sent = packets_->sent;
    inside.sending = packets_->sending[static_cast<std::size_t>(epochs.color)];
    inside.first_row = static_cast<std::uint32_t>(step.begin);
    inside.sends = epochs.sends;
    inside.lower = epochs.lower;
    inside.upper = epochs.upper;
    inside.turn = epochs.turn;
    inside.turn_begin = static_cast<std::uint32_t>(epochs.turn_begin);
    inside.turn_end = static_cast<std::uint32_t>(epochs.turn_end);
    const bool early = step.begin == step.end || may_begin_early(false);
    forward_.relax(step.begin, step.end, args, cache(apply), early, stream_);
  }
  void finish_inside(const ApplyArgs &apply, unsigned epochs) override
  {
    finish_packets(packet_args(apply), epochs, stream_);
  }

  void store(const ApplyArgs &apply, const MutableColumns &x) override
  {
    VectorArgs args = vector_args(apply, x.ld);
    args.factor = 1.0 / apply.scale;
    if (prescaled() && apply.transposed) {
      args.diagonal = setup_.diagonal_map();
      args.transposed = true;
    } else {
      args.scale = apply.transposed ? setup_.left() : setup_.right();
    }
    if (x.device) {
      store_vector(args, config_.double_vectors, x_.data(), x.data, stream_);
      MCPI_CUDA(cudaEventRecord(done_, stream_));
      MCPI_CUDA(cudaStreamWaitEvent(static_cast<cudaStream_t>(apply.stream), done_, 0));
      // The caller may now free the array that was copied.
      if (std::exchange(copying_, false)) MCPI_CUDA(cudaEventSynchronize(copied_));
      return;
    }
    const std::size_t local = static_cast<std::size_t>(plan_.rows) * plan_.bs;
    args.ld = static_cast<long long>(local);
    staging_.resize(local * apply.nrhs);
    store_vector(args, config_.double_vectors, x_.data(), staging_.data(), stream_);
    for (int r = 0; r < apply.nrhs; ++r)
      MCPI_CUDA(cudaMemcpyAsync(x.data + r * x.ld, staging_.data() + r * local,
                                local * sizeof(double), cudaMemcpyDeviceToHost, stream_));
    MCPI_CUDA(cudaStreamSynchronize(stream_));
  }

  void *vector() override
  {
    if (launched_) return rounded() ? static_cast<void *>(gathered_.data()) : x_.data();
    mirror_.resize(x_.bytes());
    return mirror_.data();
  }
  RowBytes row_bytes(const ApplyArgs &apply) const override
  {
    // Products read nothing else of ghosts than the rounded copy, if there is one.
    const std::size_t gathered = gathered_bytes(apply);
    return {launched_ && rounded() ? gathered : x_bytes(apply), gathered};
  }
  void transfer(const ApplyArgs &apply, Row begin, Row end, Transfer kind, bool overlapped) override
  {
    switch (kind) {
    case Transfer::publish:
      return publish(apply, begin, end, overlapped);
    case Transfer::accept:
      return accept(apply, begin, end, overlapped);
    case Transfer::zero:
      return zero(apply, begin, end);
    }
  }
  DeviceExchange *device_exchange() override { return this; }

  void *launch_exchanges(bool launched) override
  {
    // An error is not reported here, because this may be called while another error is handled.
    (void)cudaStreamSynchronize(stream_);
    graphs_.clear(); // Recorded launches may use the exchange, which may end now.
    launched_ = launched;
    return static_cast<cudaStream_t>(streams_.ahead());
  }
  std::uint32_t not_a_number() const override
  {
    constexpr auto kExponent = static_cast<std::uint32_t>(kGatherExponentNaN);
    // bfp16: the exponent that stands for NaN, whichever half of a word holds the exponent
    return launched_ && rounded() && forward_.small() ? kExponent << 16U | kExponent : ~0U;
  }
  void start_exchanges() override
  {
    if (launched_) streams_.fork();
  }
  void finish_exchanges() override
  {
    if (launched_) streams_.join();
  }

  int replay(const RunKey &key, const std::function<int()> &record) override
  {
    return graphs_.run(stream_, key, record);
  }

  OperatorInfo info() const override
  {
    return {record_size(), bytes(), setup_.inverse_range(), &setup_.scales()};
  }

private:
  void publish(const ApplyArgs &apply, Row begin, Row end, bool ahead)
  {
    if (launched_) {
      if (!ahead) streams_.order(true);
      return;
    }
    const std::size_t entry = x_bytes(apply);
    mirror_.resize(x_.bytes());
    if (begin < end)
      MCPI_CUDA(cudaMemcpyAsync(mirror_.data() + begin * entry, x_.data() + begin * entry,
                                (end - begin) * entry, cudaMemcpyDeviceToHost, stream_));
    MCPI_CUDA(cudaStreamSynchronize(stream_));
  }

  void accept(const ApplyArgs &apply, Row begin, Row end, bool ahead)
  {
    if (launched_) {
      if (!ahead) streams_.join();
      return;
    }
    const std::size_t entry = x_bytes(apply);
    if (begin < end)
      MCPI_CUDA(cudaMemcpyAsync(x_.data() + begin * entry, mirror_.data() + begin * entry,
                                (end - begin) * entry, cudaMemcpyHostToDevice, stream_));
    round(apply, begin, end, stream_);
  }

  void zero(const ApplyArgs &apply, Row begin, Row end)
  {
    const std::size_t entry = x_bytes(apply);
    if (begin < end)
      MCPI_CUDA(cudaMemsetAsync(x_.data() + begin * entry, 0, (end - begin) * entry, stream_));
    round(apply, begin, end, stream_);
    if (launched_) streams_.mark(false);
  }

  std::size_t record_size() const { return record_bytes(config_.numeric.storage, plan_.bs); }
  std::size_t gathered_bytes(const ApplyArgs &apply) const
  {
    return rounded() ? sizeof(std::uint32_t) * copy_words() * static_cast<std::size_t>(apply.nrhs)
                     : 0;
  }
  std::size_t bytes() const
  {
    return forward_.bytes() + (transposed_ ? transposed_->bytes() : 0) + setup_.bytes() +
           sources_.bytes() + received_.bytes() + x_.bytes() + rhs_.bytes() + kept_.bytes() +
           gathered_.bytes() + row_of_.bytes() + plan_row_.bytes() + groups_.bytes() +
           staging_.bytes();
  }

  static std::vector<Row> inverse(const std::vector<Row> &permutation)
  {
    std::vector<Row> result(permutation.size());
    for (std::size_t k = 0; k < result.size(); ++k)
      result[static_cast<std::size_t>(permutation[k])] = static_cast<Row>(k);
    return result;
  }

  PacketArgs packet_args(const ApplyArgs &apply)
  {
    PacketArgs args = packets_->args;
    args.x = reinterpret_cast<std::uint32_t *>(
        rounded() ? reinterpret_cast<std::byte *>(gathered_.data()) : x_.data());
    args.numbers = static_cast<std::uint32_t>(row_bytes(apply).vector / sizeof(std::uint32_t));
    return args;
  }

  RelaxArgs relax_args(const ApplyArgs &apply, const RelaxStep &step)
  {
    RelaxArgs args{};
    args.x = x_.data();
    args.rhs = rhs_.data();
    args.kept = kept_.data();
    args.gathered = gathered_.data();
    args.read = rounded() ? static_cast<const void *>(gathered_.data()) : x_.data();
    args.diagonal = setup_.diagonal_map();
    args.alpha = setup_.scales().alpha;
    args.omega = apply.omega;
    args.nrhs = apply.nrhs;
    args.flags = relax_flags(apply, step, prescaled());
    if (step.read_later || !rounded() || !forward_.small()) args.flags |= kReadLater;
    return args;
  }

  CacheUse cache(const ApplyArgs &apply) const
  {
    const std::size_t row = x_bytes(apply), read = rounded() ? gathered_bytes(apply) : row;
    return cache_use(cache_bytes_, static_cast<std::size_t>(plan_.rows) * (row + read), row);
  }

  // bytes of a block row of x
  std::size_t x_bytes(const ApplyArgs &apply) const { return number_ * plan_.bs * apply.nrhs; }
  bool rounded() const { return config_.bfp16_gather && !config_.double_vectors; }
  bool prescaled() const { return config_.numeric.form == PC_MCPI_FORM_PRESCALED; }

  // Locations of all blocks of the plan, by their stored number (lower triangle, then upper)
  std::vector<Location> locations() const
  {
    std::vector<Location> result(static_cast<std::size_t>(plan_.blocks()));
    const std::size_t lowers = plan_.lower.col.size();
    forward_.for_blocks(
        [&](Row, const Triangle &triangle, Offset k, std::uint32_t tile, std::uint32_t place) {
          result[static_cast<std::size_t>(k) + (&triangle == &plan_.lower ? 0 : lowers)] =
              location(tile, place);
        });
    return result;
  }

  // For each slice of the transposed operator, finds the block whose transposed numbers it takes: a
  // block of this rank, or a record received from another rank.
  void map_transposed(const Operator &transposed)
  {
    const std::vector<Location> all = locations();
    const std::size_t slices = transposed.slices();
    std::vector<Location> sources(transposed.slice_count());
    received_blocks_ = 0;
    transposed.for_blocks(
        [&](Row, const Triangle &triangle, Offset k, std::uint32_t tile, std::uint32_t place) {
          const Offset stored = triangle.source[static_cast<std::size_t>(k)],
                       received = stored - plan_.blocks();
          if (received >= 0)
            received_blocks_ = std::max(received_blocks_, static_cast<std::size_t>(received) + 1);
          std::fill_n(sources.begin() +
                          static_cast<std::ptrdiff_t>(transposed.slice_number(tile, place)),
                      slices,
                      received >= 0 ? kReceived | static_cast<Location>(received)
                                    : all[static_cast<std::size_t>(stored)]);
        });
    sources_.upload(sources);
  }

  VectorArgs vector_args(const ApplyArgs &apply, std::ptrdiff_t ld) const
  {
    VectorArgs args{};
    args.row_of = row_of_.data();
    args.plan_row = plan_row_.data();
    args.groups = groups_.args();
    args.rows = plan_.rows;
    args.bs = plan_.bs;
    args.nrhs = apply.nrhs;
    args.ld = ld;
    args.factor = apply.scale;
    return args;
  }

  // Words of the rounded copy of x for a row and right-hand side
  std::size_t copy_words() const
  {
    return static_cast<std::size_t>(forward_.small() ? gather_words(plan_.bs) : plan_.bs);
  }

  // Writes the rounded copy of the plan columns [begin, end) of x, if products read it.
  void round(const ApplyArgs &apply, Row begin, Row end, cudaStream_t stream)
  {
    if (!rounded() || begin >= end) return;
    const std::size_t nrhs = static_cast<std::size_t>(apply.nrhs),
                      first = static_cast<std::size_t>(begin) * nrhs;
    round_vector(reinterpret_cast<const float *>(x_.data()) +
                     first * static_cast<std::size_t>(plan_.bs),
                 static_cast<std::size_t>(end - begin) * nrhs, plan_.bs, forward_.small(),
                 gathered_.data() + first * copy_words(), stream);
  }

  // Whether a relaxation may begin before the previous launch has ended. Relaxations read the
  // right-hand side before they wait for the previous launch, so that launch must not be
  // load_vector(). Inside a graph it never is. A recording may be discarded, however, and its
  // launches be repeated without a graph. While recording, the mark in loading_ is therefore kept
  // for these launches.
  bool may_begin_early(bool ahead)
  {
    cudaStreamCaptureStatus status{};
    bool &loading = loading_[ahead ? 1 : 0];
    if (!loading) return true;
    MCPI_CUDA(cudaStreamIsCapturing(stream_, &status));
    if (status != cudaStreamCaptureStatusNone) return true;
    loading = false;
    return false;
  }

  // Makes stream_ wait for what the user's stream has done to the arrays.
  void join(const ApplyArgs &apply)
  {
    MCPI_CUDA(cudaEventRecord(ready_, static_cast<cudaStream_t>(apply.stream)));
    MCPI_CUDA(cudaStreamWaitEvent(stream_, ready_, 0));
  }

  // Returns the columns in device memory and sets their leading dimension.
  const double *on_device(const ApplyArgs &apply, const ConstColumns &columns, long long &ld)
  {
    if (columns.device) return columns.data;
    const std::size_t local = static_cast<std::size_t>(plan_.rows) * plan_.bs;
    ld = static_cast<long long>(local);
    staging_.resize(local * apply.nrhs);
    for (int r = 0; r < apply.nrhs; ++r)
      MCPI_CUDA(cudaMemcpyAsync(staging_.data() + r * local, columns.data + r * columns.ld,
                                local * sizeof(double), cudaMemcpyHostToDevice, stream_));
    MCPI_CUDA(cudaEventRecord(copied_, stream_));
    copying_ = true;
    return staging_.data();
  }

  const ColorPlan &plan_;
  const BackendConfig config_;
  const std::size_t number_; // bytes of a number of the vectors
  const std::size_t cache_bytes_ =
      static_cast<std::size_t>(device_attribute(cudaDevAttrL2CacheSize));
  Stream stream_;
  OverlapStreams streams_{stream_};
  Event ready_, done_, copied_;
  Operator forward_;
  DeviceArray<Row> row_of_, plan_row_;
  DeviceGatherGroups groups_;
  NumericSetup setup_;
  std::unique_ptr<Operator> transposed_;
  DeviceArray<Location> sources_;   // of each slice of the transposed operator
  std::size_t received_blocks_ = 0; // blocks received from other ranks
  DeviceArray<std::byte> received_;
  int room_ = 0;                          // right-hand sides for which arrays have room
  DeviceArray<double> staging_;           // columns of host arrays
  DeviceArray<std::byte> x_, rhs_, kept_; // in vector precision; x_ has ghosts behind the rows
  DeviceArray<std::uint32_t> gathered_;   // the rounded copy of x_, if products read it
  PinnedBytes mirror_;                    // x_ in host memory, for exchanges by the host
  bool copying_ = false;  // whether a host array is being copied; copied_ tells the end
  bool launched_ = false; // whether exchanges are launched to the device's streams
  // Whether no relaxation has followed the load of the right-hand side yet: in stream_, and in the
  // stream for boundary rows
  bool loading_[2] = {};
  const GhostPackets *packets_ = nullptr;
  double alpha_ = 0.0, largest_ = 0.0;
  RecordedRuns graphs_;
};

} // namespace
} // namespace cuda

bool has_code_for_cuda_device()
{
  return cuda::runs_on_device();
}

std::unique_ptr<Backend> make_cuda_backend(const ColorPlan &plan, const BackendConfig &config)
{
  return std::make_unique<cuda::CudaBackend>(plan, config);
}

} // namespace mcpi
