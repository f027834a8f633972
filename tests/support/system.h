// Simulates MPI ranks by threads, and runs sweeps over these ranks.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#include "support/dense.h"
#include "support/ranks.h"
#include "sweep/backend.h"
#include "sweep/halo.h"
#include "sweep/multicolor_sweep.h"

namespace mcpi::test {

// Messages between the threads. The k-th message of a rank belongs to the k-th exchange of all
// ranks.
class Mailbox {
public:
  explicit Mailbox(int ranks) : messages_(ranks) {}
  void post(int rank, int tag, std::vector<std::byte> data);
  // Returns nullptr if the message has another tag or does not come in time.
  const std::vector<std::byte> *wait(int rank, std::size_t index, int tag);
  int ranks() const { return static_cast<int>(messages_.size()); }

private:
  struct Message {
    int tag;
    std::vector<std::byte> data;
  };
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::deque<Message>> messages_;
};

struct Peer {
  Mailbox *mailbox;
  int rank;
  std::size_t exchanges = 0;
};
int reduce_max(Peer &peer, double *values, int count);

// Sends boundary rows only, with their values at the beginning of an exchange. It is an error if
// ranks do not make the same exchanges in the same order.
class ThreadHalo final : public Halo {
public:
  ThreadHalo(const Ranks &ranks, Peer &peer) : ranks_(ranks), peer_(peer) {}
  int prepare(std::size_t entry_bytes) override;
  int begin(int color, void *x) override;
  int end(int color, void *x) override;
  int exchange_all(void *x) override;

private:
  int receive(int tag, Row begin, Row end, void *x);

  const Ranks &ranks_;
  Peer &peer_;
  std::size_t entry_ = 0;
  int begun_ = -1; // color whose exchange has begun, -1 for none
};

enum class Engine { host, cuda, kokkos };

struct Kind {
  BackendConfig config;
  const CpuKernels *kernels = nullptr; // for the host engine; null: the reference backend
  Engine engine = Engine::host;
};
// The functions that make the backends of the engines that only some builds have. Backends must
// live between the initialization and the finalization of Kokkos.
using MakeBackend = std::unique_ptr<Backend> (*)(const ColorPlan &plan,
                                                 const BackendConfig &config);
void add_engine(Engine engine, MakeBackend make);
const char *name(Engine engine);
std::unique_ptr<Backend> make_backend(const ColorPlan &plan, const Kind &kind);
Kind reference_kind(PCMCPIPrecision storage = PC_MCPI_PRECISION_FP64,
                    PCMCPIForm form = PC_MCPI_FORM_PRESCALED);

struct Smoothing {
  ApplyArgs apply;
  SweepConfig sweep;
  int its = 1;
  bool from_zero = true;
  bool replayed = true;      // on one rank: as one recorded application, if the backend can record
  bool part_by_part = false; // one part of the plan in a step, even if the backend takes several

  operator Sweeps() const { return {sweep.sweep, apply.omega, its}; }
};

// A backend for each rank, and sweeps over all ranks. A single rank runs in the caller's thread.
class System {
public:
  System(const Ranks &ranks, const Kind &kind);
  // Numeric set-up, also of the transposed blocks. Returns the status with the smallest global row.
  NumericStatus refresh(const BlockMatrix &matrix);
  // Numeric set-up from another source, on one rank
  NumericStatus refresh(BlockRows &source);
  // Makes the sweeps of this reference backend use the blocks that the other backend has stored.
  void adopt(System &other);
  // Gives the vectors double precision, with the blocks as they are stored.
  void widen_vectors();
  // Returns x of the whole matrix. In x, b and guess, right-hand sides follow each other. All
  // outputs are NaN before the call, so that numbers that are not written show.
  Vector apply(const Smoothing &run, const Vector &b, const Vector &guess = {});
  Offset blocks_read(const Smoothing &run) const;
  // The operator as a dense matrix
  Dense matrix(Smoothing run);
  Backend &backend(int rank = 0) { return *backends_[rank]; }

private:
  int on_ranks(const std::function<int(Peer &)> &work);
  NumericStatus refresh(const std::function<BlockRows &(int rank)> &source);
  void exchange_transposed();
  int apply_rank(const Smoothing &run, const Vector &b, const Vector &guess, Peer &peer, Vector &x);

  const Ranks &ranks_;
  const bool several_parts_; // whether the backends take several parts in one step
  std::vector<std::unique_ptr<Backend>> backends_;
};

constexpr PCMCPIPrecision kStorages[] = {PC_MCPI_PRECISION_FP64, PC_MCPI_PRECISION_FP32,
                                         PC_MCPI_PRECISION_FP16, PC_MCPI_PRECISION_INT8,
                                         PC_MCPI_PRECISION_INT4};
constexpr PCMCPIForm kForms[] = {PC_MCPI_FORM_PRESCALED, PC_MCPI_FORM_FACTORED};
constexpr PCMCPISweepType kSweeps[] = {PC_MCPI_SWEEP_FORWARD, PC_MCPI_SWEEP_BACKWARD,
                                       PC_MCPI_SWEEP_SYMMETRIC};

constexpr double kOmegas[] = {1.0, 0.7, 1.3};

Smoothing make_run(PCMCPISweepType sweep, double omega, int its, bool from_zero,
                   bool shortcuts = true);
// Visits every combination of sweep type, omega and number of sweeps up to most_its, each from zero
// and from a guess.
void for_runs(int most_its, const std::function<void(const Smoothing &)> &visit);

// All runs of up to three sweeps, and all transposed runs from zero
std::vector<Smoothing> all_runs();
// The first function visits every storage precision with the vector precisions that it allows. The
// second one visits every kind of set-up.
void for_precisions(const std::function<void(PCMCPIPrecision storage, bool double_vectors)> &visit);
void for_configs(const std::function<void(const BackendConfig &)> &visit);
// The tolerance between two backends that sweep with the same stored numbers
double tolerance(const BackendConfig &config);
// The first count columns of x, each of this size
Vector first_columns(const Vector &x, std::size_t size, int count);

const std::vector<const CpuKernels *> &all_kernels();
// A name for messages
std::string name(const Kind &kind);
std::string name(const Smoothing &run);

} // namespace mcpi::test
