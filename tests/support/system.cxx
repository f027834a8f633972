#include "support/system.h"

#include "backend/host/host_backend.h"
#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

namespace mcpi::test {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);
constexpr int kReduceTag = -1, kAllTag = -2;
constexpr int kGap = 3; // leading dimension minus length of a column

// A halo that exchanges nothing, but does not announce this to the sweep
class SilentHalo final : public Halo {
public:
  int prepare(std::size_t) override { return 0; }
  int begin(int, void *) override { return 0; }
  int end(int, void *) override { return 0; }
  int exchange_all(void *) override { return 0; }
};

enum HaloError { kOutOfStep = 17, kBeginTwice, kEndWithoutBegin, kNotPrepared };

} // namespace

void Mailbox::post(int rank, int tag, std::vector<std::byte> data)
{
  const std::lock_guard lock(mutex_);
  messages_[rank].push_back({tag, std::move(data)});
  arrived_.notify_all();
}

const std::vector<std::byte> *Mailbox::wait(int rank, std::size_t index, int tag)
{
  std::unique_lock lock(mutex_);
  if (!arrived_.wait_for(lock, kPatience, [&] { return messages_[rank].size() > index; }))
    return nullptr;
  const Message &message = messages_[rank][index];
  return message.tag == tag ? &message.data : nullptr;
}

int reduce_max(Peer &peer, double *values, int count)
{
  const auto *bytes = reinterpret_cast<const std::byte *>(values);
  peer.mailbox->post(peer.rank, kReduceTag, {bytes, bytes + count * sizeof(double)});
  for (int rank = 0; rank < peer.mailbox->ranks(); ++rank) {
    const auto *theirs = peer.mailbox->wait(rank, peer.exchanges, kReduceTag);
    if (!theirs || theirs->size() != count * sizeof(double)) return kOutOfStep;
    Vector other(count);
    std::memcpy(other.data(), theirs->data(), theirs->size());
    for (int i = 0; i < count; ++i) values[i] = std::max(values[i], other[i]);
  }
  ++peer.exchanges;
  return 0;
}

int ThreadHalo::prepare(std::size_t entry_bytes)
{
  entry_ = entry_bytes;
  return 0;
}

int ThreadHalo::begin(int color, void *x)
{
  if (entry_ == 0) return kNotPrepared;
  if (begun_ >= 0) return kBeginTwice;
  begun_ = color;
  const ColorPlan &plan = ranks_.forward[peer_.rank];
  const auto *rows = static_cast<const std::byte *>(x);
  peer_.mailbox->post(
      peer_.rank, color,
      {rows + plan.color_begin[color] * entry_, rows + plan.boundary_end[color] * entry_});
  return 0;
}

int ThreadHalo::end(int color, void *x)
{
  if (begun_ != color) return kEndWithoutBegin;
  begun_ = -1;
  const ColorPlan &plan = ranks_.forward[peer_.rank];
  return receive(color, plan.ghost_begin[color], plan.ghost_begin[color + 1], x);
}

int ThreadHalo::exchange_all(void *x)
{
  if (entry_ == 0) return kNotPrepared;
  const auto *rows = static_cast<const std::byte *>(x);
  peer_.mailbox->post(peer_.rank, kAllTag, {rows, rows + ranks_.forward[peer_.rank].rows * entry_});
  return receive(kAllTag, 0, ranks_.forward[peer_.rank].ghosts, x);
}

// Each rank waits for all others, even if they are not neighbors. This finds ranks that do not make
// the same exchanges.
int ThreadHalo::receive(int tag, Row begin, Row end, void *x)
{
  auto *ghosts = static_cast<std::byte *>(x) + ranks_.forward[peer_.rank].rows * entry_;
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    const std::vector<std::byte> *message = peer_.mailbox->wait(rank, peer_.exchanges, tag);
    if (!message) return kOutOfStep;
    const Row first = tag >= 0 ? ranks_.forward[rank].color_begin[tag] : 0;
    for (Row g = begin; g < end; ++g) {
      const GhostOwner &owner = ranks_.ghosts[peer_.rank][g];
      if (owner.rank != rank) continue;
      const std::size_t at = (owner.plan_row - first) * entry_;
      if (owner.plan_row < first || at + entry_ > message->size()) return kOutOfStep;
      std::memcpy(ghosts + g * entry_, message->data() + at, entry_);
    }
  }
  ++peer_.exchanges;
  return 0;
}

namespace {

std::map<Engine, MakeBackend> &engines()
{
  static std::map<Engine, MakeBackend> all;
  return all;
}

} // namespace

void add_engine(Engine engine, MakeBackend make)
{
  engines()[engine] = make;
}

const char *name(Engine engine)
{
  static const char *const names[] = {"host", "cuda", "kokkos"};
  return names[static_cast<int>(engine)];
}

std::unique_ptr<Backend> make_backend(const ColorPlan &plan, const Kind &kind)
{
  if (kind.engine != Engine::host) return engines().at(kind.engine)(plan, kind.config);
  return kind.kernels ? make_host_backend(plan, kind.config, *kind.kernels)
                      : make_reference_backend(plan, kind.config);
}

Kind reference_kind(PCMCPIPrecision storage, PCMCPIForm form)
{
  return {{{storage, form}, true}, nullptr};
}

System::System(const Ranks &ranks, const Kind &kind)
    : ranks_(ranks), several_parts_(kind.engine == Engine::host
                                        ? kind.kernels != nullptr
                                        : kind.engine == Engine::cuda && kind.config.several_parts)
{
  for (const ColorPlan &plan : ranks.forward) backends_.push_back(make_backend(plan, kind));
}

int System::on_ranks(const std::function<int(Peer &)> &work)
{
  Mailbox mailbox(ranks_.count());
  std::vector<Peer> peers;
  for (int rank = 0; rank < ranks_.count(); ++rank) peers.push_back({&mailbox, rank});
  if (ranks_.count() == 1) return work(peers[0]);
  std::vector<int> errors(ranks_.count());
  std::vector<std::thread> threads;
  for (Peer &peer : peers) threads.emplace_back([&] { errors[peer.rank] = work(peer); });
  for (std::thread &thread : threads) thread.join();
  return *std::max_element(errors.begin(), errors.end());
}

NumericStatus System::refresh(const BlockMatrix &matrix)
{
  std::vector<MatrixRows> rows;
  for (int rank = 0; rank < ranks_.count(); ++rank) rows.emplace_back(matrix, ranks_.start[rank]);
  return refresh([&](int rank) -> BlockRows & { return rows[rank]; });
}

NumericStatus System::refresh(BlockRows &source)
{
  return refresh([&](int) -> BlockRows & { return source; });
}

NumericStatus System::refresh(const std::function<BlockRows &(int rank)> &source)
{
  std::vector<NumericStatus> status(ranks_.count());
  const int error = on_ranks([&](Peer &peer) {
    const auto reduce = [&](double *values, int count) { return reduce_max(peer, values, count); };
    return backends_[peer.rank]->refresh(source(peer.rank), reduce, status[peer.rank]);
  });
  if (error != 0) throw std::runtime_error("refresh: error " + std::to_string(error));
  exchange_transposed();
  for (int rank = 0; rank < ranks_.count(); ++rank)
    if (status[rank].defect != Defect::none)
      return {status[rank].defect, status[rank].row + ranks_.start[rank]};
  return {};
}

void System::exchange_transposed()
{
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    const std::size_t size = backends_[rank]->info().record_bytes;
    std::vector<std::byte> received(ranks_.received[rank].size() * size);
    for (std::size_t k = 0; k < ranks_.received[rank].size(); ++k)
      backends_[ranks_.received[rank][k].rank]->pack_records({ranks_.received[rank][k].stored},
                                                             received.data() + k * size);
    backends_[rank]->build_transposed(ranks_.transposed[rank], received.data());
  }
}

void System::adopt(System &other)
{
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    std::vector<Offset> all(static_cast<std::size_t>(ranks_.forward[rank].blocks()));
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::byte> records(all.size() * other.backends_[rank]->info().record_bytes);
    other.backends_[rank]->pack_records(all, records.data());
    adopt_records(*backends_[rank], records.data());
  }
  exchange_transposed();
}

void System::widen_vectors()
{
  for (std::unique_ptr<Backend> &backend : backends_)
    backend = backend->with_vectors(true, false, true);
  exchange_transposed();
}

int System::apply_rank(const Smoothing &run, const Vector &b, const Vector &guess, Peer &peer,
                       Vector &x)
{
  const ColorPlan &plan = (run.apply.transposed ? ranks_.transposed : ranks_.forward)[peer.rank];
  Backend &backend = *backends_[peer.rank];
  const std::size_t n = static_cast<std::size_t>(ranks_.start.back()) * plan.bs,
                    local = static_cast<std::size_t>(plan.rows) * plan.bs,
                    first = static_cast<std::size_t>(ranks_.start[peer.rank]) * plan.bs,
                    ld = local + kGap;
  const auto columns = [&](const Vector &whole) {
    Vector mine(ld * run.apply.nrhs, kNaN);
    for (int r = 0; r < run.apply.nrhs; ++r)
      std::copy_n(whole.begin() + r * n + first, local, mine.begin() + r * ld);
    return mine;
  };
  const Vector in = columns(b);
  backend.load_rhs(run.apply, {in.data(), static_cast<std::ptrdiff_t>(ld)});
  std::fill_n(static_cast<unsigned char *>(backend.vector()),
              (plan.rows + plan.ghosts) * backend.row_bytes(run.apply).vector,
              static_cast<unsigned char>(0xff)); // NaN in both precisions
  backend.transfer(run.apply, 0, plan.rows + plan.ghosts, Transfer::accept, false);
  if (!run.from_zero)
    backend.load_guess(run.apply, {columns(guess).data(), static_cast<std::ptrdiff_t>(ld)});
  ThreadHalo threads(ranks_, peer);
  NoHalo none;
  SilentHalo silent;
  Halo &halo = ranks_.count() > 1 ? static_cast<Halo &>(threads)
               : run.replayed     ? static_cast<Halo &>(none)
                                  : silent;
  SweepConfig config = run.sweep;
  config.several_parts = several_parts_ && !run.part_by_part;
  MulticolorSweep sweep(plan, backend, halo, config);
  if (const int error = halo.prepare(backend.row_bytes(run.apply).vector)) return error;
  if (const int error = sweep.run(run.apply, run.its, run.from_zero)) return error;
  Vector solution(ld * run.apply.nrhs, kNaN);
  backend.store(run.apply, {solution.data(), static_cast<std::ptrdiff_t>(ld)});
  for (int r = 0; r < run.apply.nrhs; ++r) {
    std::copy_n(solution.begin() + r * ld, local, x.begin() + r * n + first);
    for (std::size_t i = local; i < ld; ++i)
      if (solution[r * ld + i] == solution[r * ld + i])
        return kOutOfStep; // a number between the columns was written
  }
  return 0;
}

Vector System::apply(const Smoothing &run, const Vector &b, const Vector &guess)
{
  Vector x(b.size(), kNaN);
  const int error = on_ranks([&](Peer &peer) { return apply_rank(run, b, guess, peer, x); });
  if (error != 0) throw std::runtime_error("sweep: error " + std::to_string(error));
  return x;
}

Offset System::blocks_read(const Smoothing &run) const
{
  Offset blocks = 0;
  NoHalo halo;
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    const ColorPlan &plan = (run.apply.transposed ? ranks_.transposed : ranks_.forward)[rank];
    blocks += MulticolorSweep(plan, *backends_[rank], halo, run.sweep)
                  .blocks_read(run.apply, run.its, run.from_zero);
  }
  return blocks;
}

Dense System::matrix(Smoothing run)
{
  const std::size_t n = static_cast<std::size_t>(ranks_.start.back()) * ranks_.forward[0].bs;
  Dense result(n), identity(n);
  for (std::size_t i = 0; i < n; ++i) identity(i, i) = 1.0;
  run.apply.nrhs = static_cast<int>(n);
  result.a = apply(run, identity.a);
  return result;
}

Smoothing make_run(PCMCPISweepType sweep, double omega, int its, bool from_zero, bool shortcuts)
{
  Smoothing run;
  run.apply.omega = omega;
  run.sweep.sweep = sweep;
  run.sweep.shortcuts = shortcuts;
  run.its = its;
  run.from_zero = from_zero;
  return run;
}

void for_runs(int most_its, const std::function<void(const Smoothing &)> &visit)
{
  for (const PCMCPISweepType sweep : kSweeps)
    for (const double omega : kOmegas)
      for (int its = 1; its <= most_its; ++its)
        for (const bool from_zero : {true, false}) visit(make_run(sweep, omega, its, from_zero));
}

std::vector<Smoothing> all_runs()
{
  std::vector<Smoothing> runs;
  for_runs(3, [&](Smoothing run) {
    runs.push_back(run);
    run.apply.transposed = true;
    if (run.from_zero) runs.push_back(run);
  });
  return runs;
}

void for_precisions(const std::function<void(PCMCPIPrecision, bool)> &visit)
{
  for (const PCMCPIPrecision storage : kStorages)
    for (const bool double_vectors : {true, false})
      if (double_vectors || storage != PC_MCPI_PRECISION_FP64) visit(storage, double_vectors);
}

void for_configs(const std::function<void(const BackendConfig &)> &visit)
{
  for (const PCMCPIForm form : kForms)
    for_precisions([&](PCMCPIPrecision storage, bool double_vectors) {
      visit(BackendConfig{{storage, form}, double_vectors});
    });
}

double tolerance(const BackendConfig &config)
{
  return config.double_vectors ? 1e-12 : 1e-5;
}

Vector first_columns(const Vector &x, std::size_t size, int count)
{
  return {x.begin(), x.begin() + static_cast<std::ptrdiff_t>(size) * count};
}

const std::vector<const CpuKernels *> &all_kernels()
{
  static const std::vector<const CpuKernels *> kernels = {&plain_kernels(), &simd_kernels()};
  return kernels;
}

std::string name(const Kind &kind)
{
  static const char *const storages[] = {"fp64", "fp32", "fp16", "int8", "int4"}, *const forms[] = {
                                                                                      "prescaled",
                                                                                      "factored"};
  return std::string(kind.engine != Engine::host ? name(kind.engine)
                     : kind.kernels              ? kind.kernels->name
                                                 : "reference") +
         " " + storages[kind.config.numeric.storage] + " vectors " +
         (kind.config.double_vectors ? "fp64 " : "fp32 ") +
         (kind.config.bfp16_gather ? "gathered as bfp16 " : "") + forms[kind.config.numeric.form];
}

std::string name(const Smoothing &run)
{
  static const char *const sweeps[] = {"forward", "backward", "symmetric"};
  return std::string(sweeps[run.sweep.sweep]) + " omega " + std::to_string(run.apply.omega) +
         " its " + std::to_string(run.its) + (run.from_zero ? " from zero" : " from guess") +
         (run.apply.transposed ? " transposed" : "") + " nrhs " + std::to_string(run.apply.nrhs);
}

} // namespace mcpi::test
