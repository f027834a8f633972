// Ranks in threads, and sweeps over them.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#include "support.h"
#include "sweep/backend.h"
#include "sweep/halo.h"
#include "sweep/multicolor_sweep.h"

namespace mcpi::test {

// The k-th message of a rank is for everybody's k-th exchange.
class Mailbox {
public:
  explicit Mailbox(int ranks) : messages_(ranks) {}
  void post(int rank, int tag, std::vector<std::byte> data);
  // nullptr if the message has another tag or does not come in time
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

// Sends boundary rows only, as they are at begin; anything out of step between the ranks is an
// error.
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
  int begun_ = -1; // color on its way
};

// kokkos: its default execution space. kokkos_serial, kokkos_tiles: one thread, with the layout for
// CPUs, and with that for devices
enum class Engine { host, cuda, kokkos, kokkos_serial, kokkos_tiles };

struct Kind {
  BackendConfig config;
  const CpuKernels *kernels = nullptr; // of the host; none: the reference backend
  Engine engine = Engine::host;
};
// Engines that were linked beside those of every build. What is made of them runs between Kokkos'
// start and end.
using MakeBackend = std::unique_ptr<Backend> (*)(const ColorPlan &plan,
                                                 const BackendConfig &config);
void add_engine(Engine engine, MakeBackend make);
const char *name(Engine engine);
std::unique_ptr<Backend> make_backend(const ColorPlan &plan, const Kind &kind);
Kind reference_kind(PCMCPIPrecision storage = PC_MCPI_PRECISION_FP64,
                    PCMCPIForm form = PC_MCPI_FORM_PRESCALED,
                    PCMCPIScaling scaling = PC_MCPI_SCALING_NONE);

struct Smoothing {
  ApplyArgs apply;
  SweepConfig sweep;
  int its = 1;
  bool from_zero = true;
  bool replayed = true; // on one rank: as one recorded application where the backend can
};

// A backend on each rank, and sweeps over all of them. One rank runs in the caller's thread.
class System {
public:
  System(const Ranks &ranks, const Kind &kind);
  // Numeric set-up, transposed too; the status with the smallest global row
  NumericStatus refresh(const BlockMatrix &matrix);
  // The same from another source, on one rank
  NumericStatus refresh(BlockRows &source);
  // A reference's sweeps with the blocks that the other has stored
  void adopt(System &other);
  // x of the whole matrix, right-hand sides one after the other, as b and guess. Every output is
  // NaN before the call.
  Vector apply(const Smoothing &run, const Vector &b, const Vector &guess = {});
  Offset blocks_read(const Smoothing &run) const;
  // The operator as a matrix
  Dense matrix(Smoothing run);
  Backend &backend(int rank = 0) { return *backends_[rank]; }

private:
  int on_ranks(const std::function<int(Peer &)> &work);
  NumericStatus refresh(const std::function<BlockRows &(int rank)> &source);
  void exchange_transposed();
  int apply_rank(const Smoothing &run, const Vector &b, const Vector &guess, Peer &peer, Vector &x);

  const Ranks &ranks_;
  std::vector<std::unique_ptr<Backend>> backends_;
};

// The iteration from its formula: x <- x + (D/w + T)^{-1} (b - A x), T the blocks of the colors
// that a pass has visited before. Across ranks it is block Jacobi if the halo travels once a pass:
// T then holds the blocks of the own rank only.
class DenseIteration {
public:
  DenseIteration(const BlockMatrix &matrix, const std::vector<int> &color,
                 const std::vector<int> &owner = {});
  Vector run(const Smoothing &run, const Vector &b, Vector x);

private:
  void pass(const Smoothing &run, bool forward, const Vector &b, Vector &x);

  const BlockMatrix &matrix_;
  const std::vector<int> color_, owner_;
  const Dense full_;
  std::map<std::tuple<double, bool, bool>, Dense> solvers_;
};

constexpr PCMCPIPrecision kStorages[] = {PC_MCPI_PRECISION_FP64, PC_MCPI_PRECISION_FP32,
                                         PC_MCPI_PRECISION_FP16, PC_MCPI_PRECISION_BF16,
                                         PC_MCPI_PRECISION_INT8, PC_MCPI_PRECISION_INT4};
constexpr PCMCPIForm kForms[] = {PC_MCPI_FORM_PRESCALED, PC_MCPI_FORM_FACTORED};
constexpr PCMCPIScaling kScalings[] = {PC_MCPI_SCALING_NONE, PC_MCPI_SCALING_GLOBAL,
                                       PC_MCPI_SCALING_BALANCED};
constexpr PCMCPISweepType kSweeps[] = {PC_MCPI_SWEEP_FORWARD, PC_MCPI_SWEEP_BACKWARD,
                                       PC_MCPI_SWEEP_SYMMETRIC};

constexpr double kOmegas[] = {1.0, 0.7, 1.3};

Smoothing make_run(PCMCPISweepType sweep, double omega, int its, bool from_zero,
                   bool shortcuts = true);
// Every sweep, omega, number of sweeps up to most_its, from zero and from a guess
void for_runs(int most_its, const std::function<void(const Smoothing &)> &visit);

// The runs of up to three sweeps, and transposed ones from zero
std::vector<Smoothing> all_runs();
// Every storage precision with the vector precisions that go with it; every kind of set-up
void for_precisions(const std::function<void(PCMCPIPrecision storage, bool double_vectors)> &visit);
void for_configs(const std::function<void(const BackendConfig &)> &visit);
// Between two backends that sweep with the same stored numbers
double tolerance(const BackendConfig &config);
// The first right-hand sides of several, each of this size
Vector first_columns(const Vector &x, std::size_t size, int count);

const std::vector<const CpuKernels *> &all_kernels();
// For messages
std::string name(const Kind &kind);
std::string name(const Smoothing &run);

} // namespace mcpi::test
