// The interface between MulticolorSweep and a backend, which does one rank's part of the work. This
// file does not depend on PETSc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/stored_matrix.h"

namespace mcpi {

// Arguments of one application of the smoother
struct ApplyArgs {
  bool transposed = false;
  int nrhs = 1; // right-hand sides
  double omega = 1.0;
  void *stream = nullptr; // stream of the device on which the caller uses the arrays
  // A power of two. Right-hand side and guess are multiplied by it when they are loaded, and the
  // solution is divided by it. So single precision can hold systems in any units.
  double scale = 1.0;
};

// Columns of a user's array, with rows in the order of the matrix. Column r is at data + r*ld.
template <class Number> struct Columns {
  Number *data = nullptr;
  std::ptrdiff_t ld = 0;
  bool device = false; // whether the array is in the memory of the backend's device
};
using ConstColumns = Columns<const double>;
using MutableColumns = Columns<double>;

// The arguments on which the sequence of launches of a run depends. Runs with equal keys launch the
// same kernels.
struct RunKey {
  bool transposed = false, from_zero = true, overlap = true, shortcuts = true, by_color = true;
  int nrhs = 1, its = 1, sweep = 0; // sweep: PCMCPISweepType
  double omega = 1.0;

  bool operator==(const RunKey &) const = default;
};

// What a relaxation keeps for the next pass. A symmetric sweep keeps the sum over one triangle of
// each row (Conrad & Wallach).
enum class Keep { no, sum, zero };

// Relaxation of the plan rows [begin, end) of one color
struct RelaxStep {
  Row begin = 0, end = 0;
  bool lower = true, upper = true; // the triangles to read
  bool from_zero = false;          // x of these rows counts as zero, whatever is in memory
  bool use_kept = false;           // add the sum that the pass before kept
  Keep keep = Keep::no;            // keep nothing, the sum over one triangle, or zero
  bool keep_lower = false;         // the sum to keep is that over the lower triangle
  bool overlapped = false; // boundary rows whose exchange runs while interior rows are relaxed
  // Whether x of these rows is needed later for more than off-diagonal products: for an update with
  // omega other than 1, for an exchange, or as the result. If not, a backend that rounds x for
  // products need not store x itself.
  bool read_later = true;
};

struct GhostPackets;

// The epochs that a relaxation with an exchange inside reads and sends. Epochs are counted from the
// last epoch of the application before.
struct GhostEpochs {
  int color = 0;
  unsigned sends = 0;            // epoch of the rows that are sent; 0: no row is sent
  unsigned lower = 0, upper = 0; // epochs of the ghosts that products of a triangle read
  unsigned turn = 0;             // epoch of the ghosts [turn_begin, turn_end) instead
  Row turn_begin = 0, turn_end = 0;
};

class Backend {
public:
  virtual ~Backend() = default;

  // Does the numeric set-up; see StoredMatrix::refresh(). If its device fails, a backend still
  // takes part in the reductions, and status reports the failure.
  virtual int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status) = 0;
  // Set-up of the transposed operator. pack_records() copies records of stored blocks for the ranks
  // that own their columns. Blocks are numbered from the lower to the upper triangle.
  // build_transposed() makes the operator from this rank's records and those received.
  // record_size() is in bytes.
  virtual std::size_t record_size() const = 0;
  virtual void pack_records(const std::vector<Offset> &stored, std::byte *records) = 0;
  virtual void build_transposed(const ColorPlan &transposed, const std::byte *received) = 0;

  // Allocates the vectors for nrhs right-hand sides. Otherwise load_rhs() allocates them.
  virtual void reserve(int nrhs) = 0;
  virtual void load_rhs(const ApplyArgs &apply, const ConstColumns &b) = 0;
  virtual void load_guess(const ApplyArgs &apply, const ConstColumns &x) = 0;
  virtual void zero_ghosts(const ApplyArgs &apply) = 0;
  virtual void relax(const ApplyArgs &apply, const RelaxStep &step) = 0;
  virtual void store(const ApplyArgs &apply, const MutableColumns &x) = 0;

  // The array that an exchange reads and writes: x in plan order, with ghosts after the local rows.
  // A block row, with all its right-hand sides, has entry_bytes() bytes. The array is in host
  // memory unless exchanges are launched to a stream. It may then be the rounded copy that products
  // read.
  virtual void *vector() = 0;
  virtual std::size_t entry_bytes(const ApplyArgs &apply) const = 0;
  // Bytes of a block row of the rounded copy of x that products read (core/gather.h). 0: products
  // read x itself.
  virtual std::size_t gathered_bytes(const ApplyArgs &) const { return 0; }
  // publish() is called before an exchange: a device copies the plan columns [begin, end) to
  // vector(). accept() is called after it: a device copies them from there. ahead: the exchange is
  // of overlapped rows, and runs while interior rows are relaxed.
  virtual void publish(const ApplyArgs &, Row /*begin*/, Row /*end*/, bool /*ahead*/) {}
  virtual void accept(const ApplyArgs &, Row /*begin*/, Row /*end*/, bool /*ahead*/) {}

  // Tells the backend whether exchanges will be launched to a stream, and discards recorded runs.
  // If they will, the result is the stream for them, and vector() is then in device memory.
  virtual void *launch_exchanges(bool) { return nullptr; }
  // A pattern of 32 bits for missing parts of vector(). Results that use it are not finite.
  virtual std::uint32_t not_a_number() const { return ~0U; }
  // Called before the first and after the last exchange of a run
  virtual void start_exchanges() {}
  virtual void finish_exchanges() {}

  // Exchanges inside the relaxation of a color. Boundary rows come first. A relaxation waits for a
  // ghost of some epoch (sweep/epochs.h) where it reads the ghost. It sends a row as soon as it has
  // computed the row.
  //
  // use_packets() sets the memory to send to, or null for no such exchanges. It returns whether
  // this rank can do them.
  virtual bool use_packets(const GhostPackets * /*packets*/) { return false; }
  virtual bool exchanges_inside(const ApplyArgs &) const { return false; }
  // Begins a run. A guess is sent unless the run starts from zero.
  virtual void start_inside(const ApplyArgs &, bool /*from_zero*/) {}
  virtual void relax_inside(const ApplyArgs &, const RelaxStep &, const GhostEpochs &) {}
  // Ends a run, which has used this number of epochs.
  virtual void finish_inside(const ApplyArgs &, unsigned /*epochs*/) {}

  // Has the effect of record(). The backend either calls it or replays what an earlier call with
  // the same key launched. record() must launch its exchanges to the stream, if it has any.
  virtual int replay(const RunKey &, const std::function<int()> &record) { return record(); }

  // The range of this rank's scaled inverse diagonal blocks. It is known after refresh().
  virtual InverseRange inverse_range() const = 0;
  virtual std::size_t memory_bytes() const = 0; // on the device or host that runs the sweeps
  virtual const Scales &scales() const = 0;
};

struct BackendConfig {
  NumericConfig numeric;
  bool double_vectors = false;
  // Whether products read x rounded as in core/gather.h. Together with double_vectors this is for
  // tests only.
  bool bfp16_gather = false;
};

std::unique_ptr<Backend> make_reference_backend(const ColorPlan &plan, const BackendConfig &config);
// Replaces the records of a reference backend by those of another backend; see
// StoredMatrix::adopt_records().
void adopt_records(Backend &reference, const std::byte *records);
// Exists only if the library was built with CUDA.
std::unique_ptr<Backend> make_cuda_backend(const ColorPlan &plan, const BackendConfig &config);
// Whether the library has code for the CUDA device in use
bool has_code_for_cuda_device();
// Exists only if the library was built with Kokkos. The backend must be made after Kokkos is
// initialized and destroyed before it is finalized.
std::unique_ptr<Backend> make_kokkos_backend(const ColorPlan &plan, const BackendConfig &config);
std::unique_ptr<Backend> make_host_backend(const ColorPlan &plan, const BackendConfig &config,
                                           const CpuKernels &kernels);

} // namespace mcpi
