// The CUDA backend: sweeps of one rank on one CUDA device. Vectors are in plan order: a row's
// right-hand sides side by side, bs numbers each.
#include "backend/cuda/cuda_backend.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "backend/cuda/stored_blocks.h"
#include "backend/cuda/vectors.h"
#include "core/plan_parts.h"
#include "cuda/overlap_streams.h"
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
        number_(config.double_vectors ? sizeof(double) : sizeof(float)), blocks_(plan, config)
  {
    if (!config.double_vectors && blocks_.prescaled()) {
      const GatherGroups groups = make_gather_groups(plan);
      groups_.units.upload(groups.units);
      groups_.rows.upload(groups.rows);
      groups_.slots.upload(groups.slots);
    }
    reserve(1);
  }

  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status) override
  {
    if (const int error = blocks_.refresh(source, reduce, status, stream_)) return error;
    // Recorded launches hold alpha and the exponents' base, which follows the largest number.
    if (alpha_ != blocks_.scales().alpha || largest_ != blocks_.largest()) graphs_.clear();
    alpha_ = blocks_.scales().alpha;
    largest_ = blocks_.largest();
    return 0;
  }
  void pack_records(const std::vector<Offset> &stored, std::byte *records) override
  {
    blocks_.pack_records(stored, records, stream_);
  }
  void build_transposed(const ColorPlan &plan, const std::byte *received) override
  {
    blocks_.build_transposed(plan, received, stream_);
  }

  // A numeric set-up for double precision rounds neither the inverse diagonal blocks nor exponents.
  std::unique_ptr<Backend> with_vectors(bool double_vectors, bool bfp16_gather,
                                        bool as_they_are) override
  {
    if (!as_they_are || !double_vectors) return nullptr;
    BackendConfig config = config_;
    config.double_vectors = double_vectors;
    config.bfp16_gather = bfp16_gather;
    auto made = std::make_unique<CudaBackend>(plan_, config);
    MCPI_CUDA(cudaStreamSynchronize(stream_));
    made->blocks_.copy(blocks_, made->stream_);
    made->alpha_ = alpha_;
    made->largest_ = largest_;
    return made;
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
    reserve_packets();
    if (rounded())
      gathered_.resize(static_cast<std::size_t>(plan_.rows + plan_.ghosts) * copy_words() *
                       static_cast<std::size_t>(nrhs));
    room_ = nrhs;
  }
  void load_rhs(const ApplyArgs &apply, const ConstColumns &b) override
  {
    reserve(apply.nrhs);
    arrays_.join(apply.stream, stream_);
    VectorArgs args = vector_args(apply, b.ld);
    set_rhs(args, apply, scales());
    const double *array = arrays_.on_device(b, args, stream_);
    load_vector(args, config_.double_vectors, array, rhs_.data(), stream_);
    loading_[0] = loading_[1] = true;
  }

  void load_guess(const ApplyArgs &apply, const ConstColumns &x) override
  {
    VectorArgs args = vector_args(apply, x.ld);
    set_guess(args, apply, scales());
    const double *array = arrays_.on_device(x, args, stream_);
    load_vector(args, config_.double_vectors, array, x_.data(), stream_);
    round(apply, 0, plan_.rows, stream_);
  }

  void relax(const ApplyArgs &apply, const RelaxStep &step) override
  {
    const bool ahead = launched_ && step.overlapped;
    const cudaStream_t stream = ahead ? streams_.ahead() : stream_;
    if (launched_) streams_.order(ahead);
    const Operator &blocks = apply.transposed ? blocks_.transposed() : blocks_.forward();
    Relaxation launched = relaxation(apply, step, ahead);
    if (blocks.takes_parts(launched)) {
      blocks.relax_parts(step.begin, step.end, launched, stream);
    } else {
      for_parts(parts_, step.begin, step.end, step.forward, [&](Row begin, Row end) {
        blocks.relax(begin, end, launched, stream);
        // Kernels for small blocks round x themselves.
        if (!small()) round(apply, begin, end, stream);
        launched.early = true;
      });
    }
    if (launched_) streams_.mark(ahead);
  }

  bool use_packets(const GhostPackets *packets) override
  {
    packets_ = packets;
    return packets && blocks_.forward().may_exchange();
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
    InlineExchange inside;
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
    Relaxation launched = relaxation(apply, step, false);
    launched.inside = &inside;
    blocks_.forward().relax(step.begin, step.end, launched, stream_);
  }
  void finish_inside(const ApplyArgs &apply, unsigned epochs) override
  {
    finish_packets(packet_args(apply), epochs, stream_);
  }

  void store(const ApplyArgs &apply, const MutableColumns &x) override
  {
    VectorArgs args = vector_args(apply, x.ld);
    set_solution(args, apply, scales());
    arrays_.store(x, args, apply.stream, stream_, [&](double *array) {
      store_vector(args, config_.double_vectors, x_.data(), array, stream_);
    });
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
    return launched_ && rounded() && small() ? kExponent << 16U | kExponent : ~0U;
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
    return {blocks_.record_size(), bytes(), blocks_.inverse_range(), &blocks_.scales()};
  }

private:
  // Packets and tickets of relaxations that take several parts. Epochs of relaxations in the stream
  // for boundary rows differ from those in stream_ (Operator::relax_parts).
  void reserve_packets()
  {
    const Operator &blocks = blocks_.forward();
    if (!blocks.ordered() || row_packets_.bytes() > 0) return;
    constexpr std::uint64_t kFirstEpoch = std::uint64_t{1} << 32U, kAhead = std::uint64_t{1} << 63U;
    tickets_.upload(std::vector<unsigned long long>{kFirstEpoch, kFirstEpoch + kAhead});
    row_packets_.resize(static_cast<std::size_t>(plan_.rows) * blocks.packets_of_row());
    MCPI_CUDA(cudaMemset(row_packets_.data(), 0, row_packets_.bytes()));
  }

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

  std::size_t gathered_bytes(const ApplyArgs &apply) const
  {
    return rounded() ? sizeof(std::uint32_t) * copy_words() * static_cast<std::size_t>(apply.nrhs)
                     : 0;
  }
  std::size_t bytes() const
  {
    return blocks_.bytes() + x_.bytes() + rhs_.bytes() + kept_.bytes() + row_packets_.bytes() +
           gathered_.bytes() + groups_.units.bytes() + groups_.rows.bytes() +
           groups_.slots.bytes() + arrays_.bytes();
  }

  PacketArgs packet_args(const ApplyArgs &apply)
  {
    PacketArgs args = packets_->args;
    args.x = reinterpret_cast<std::uint32_t *>(
        rounded() ? reinterpret_cast<std::byte *>(gathered_.data()) : x_.data());
    args.numbers = static_cast<std::uint32_t>(row_bytes(apply).vector / sizeof(std::uint32_t));
    return args;
  }

  // ahead: the relaxation goes to the stream for boundary rows.
  Relaxation relaxation(const ApplyArgs &apply, const RelaxStep &step, bool ahead)
  {
    Relaxation result;
    RelaxTerms &terms = result.terms;
    terms.x = x_.data();
    terms.rhs = rhs_.data();
    terms.kept = kept_.data();
    terms.read = rounded() ? static_cast<const void *>(gathered_.data()) : x_.data();
    terms.diagonal = blocks_.diagonal_map();
    terms.alpha = blocks_.scales().alpha;
    terms.omega = apply.omega;
    terms.nrhs = apply.nrhs;
    terms.flags = relax_flags(apply, step, blocks_.prescaled());
    if (step.read_later || !rounded() || !small()) terms.flags |= kReadLater;
    result.gathered = gathered_.data();
    result.packets = row_packets_.data();
    result.tickets = tickets_.data() + (ahead ? 1 : 0);
    result.forward = step.forward;
    result.cache = cache(apply);
    result.early = step.begin == step.end || may_begin_early(ahead);
    return result;
  }

  CacheUse cache(const ApplyArgs &apply) const
  {
    const std::size_t row = x_bytes(apply), read = rounded() ? gathered_bytes(apply) : row;
    return cache_use(cache_bytes_, static_cast<std::size_t>(plan_.rows) * (row + read), row);
  }

  // bytes of a block row of x
  std::size_t x_bytes(const ApplyArgs &apply) const { return number_ * plan_.bs * apply.nrhs; }
  bool rounded() const { return rounds(config_); }
  bool small() const { return blocks_.forward().small(); }
  VectorScales scales() const
  {
    return {blocks_.diagonal_map(), blocks_.left(), blocks_.right(), blocks_.prescaled()};
  }

  VectorArgs vector_args(const ApplyArgs &apply, std::ptrdiff_t ld) const
  {
    VectorArgs args{vector_terms(plan_, blocks_.row_of(), apply, ld)};
    args.plan_row = blocks_.plan_row();
    args.groups = {groups_.units.data(), groups_.rows.data(), groups_.slots.data()};
    return args;
  }

  // Words of the rounded copy of x for a row and right-hand side
  std::size_t copy_words() const
  {
    return static_cast<std::size_t>(small() ? gather_words(plan_.bs) : plan_.bs);
  }

  // Writes the rounded copy of the plan columns [begin, end) of x, if products read it.
  void round(const ApplyArgs &apply, Row begin, Row end, cudaStream_t stream)
  {
    if (!rounded() || begin >= end) return;
    const std::size_t nrhs = static_cast<std::size_t>(apply.nrhs),
                      first = static_cast<std::size_t>(begin) * nrhs;
    round_vector(reinterpret_cast<const float *>(x_.data()) +
                     first * static_cast<std::size_t>(plan_.bs),
                 static_cast<std::size_t>(end - begin) * nrhs, plan_.bs, small(),
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

  const ColorPlan &plan_;
  const std::vector<Row> parts_ = part_begins(plan_);
  const BackendConfig config_;
  const std::size_t number_; // bytes of a number of the vectors
  const std::size_t cache_bytes_ =
      static_cast<std::size_t>(device_attribute(cudaDevAttrL2CacheSize));
  Stream stream_;
  OverlapStreams streams_{stream_};
  UserArrays arrays_;
  StoredBlocks blocks_;
  GroupArrays<DeviceArray> groups_;
  int room_ = 0;                            // right-hand sides for which arrays have room
  DeviceArray<std::byte> x_, rhs_, kept_;   // in vector precision; x_ has ghosts behind the rows
  DeviceArray<std::uint32_t> gathered_;     // the rounded copy of x_, if products read it
  DeviceArray<uint4> row_packets_;          // OrderedArgs::packets
  DeviceArray<unsigned long long> tickets_; // OrderedArgs::tickets of stream_, and of the one ahead
  PinnedBytes mirror_;                      // x_ in host memory, for exchanges by the host
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

std::unique_ptr<Backend> make_cuda_backend(const ColorPlan &plan, const BackendConfig &config)
{
  return std::make_unique<cuda::CudaBackend>(plan, config);
}

} // namespace mcpi
