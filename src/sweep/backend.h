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
  bool transposed = false, from_zero = true, shortcuts = true, by_color = true;
  int nrhs = 1, its = 1, sweep = 0; // sweep: PCMCPISweepType
  double omega = 1.0;

  bool operator==(const RunKey &) const = default;
};

// Relaxation of the plan rows [begin, end), which belong to one part of the plan
// (core/plan_parts.h). With SweepConfig::several_parts they may be successive parts, which are
// relaxed one after the other.
struct RelaxStep {
  Row begin = 0, end = 0;
  bool forward = true; // the order of the parts. A backend may sum a row in this order, too.
  bool lower = true, upper = true; // the triangles to read
  bool from_zero = false;          // x of these rows counts as zero, whatever is in memory
  bool use_kept = false;           // add the sum that the pass before kept
  Keep keep = Keep::no;            // keep nothing, the sum over one triangle, or zero
  bool keep_lower = false;         // the sum to keep is that over the lower triangle
  bool overlapped = false; // boundary rows: their exchange runs while interior rows are relaxed
  // Whether x of these rows is needed later for more than off-diagonal products: for an update with
  // omega other than 1, for an exchange, or as the result. If not, a backend that rounds x for
  // products need not store x itself.
  bool read_later = true;

  bool operator==(const RelaxStep &) const = default;
};

// What products read of a block row, all right-hand sides together, in bytes
struct RowBytes {
  std::size_t vector = 0;   // of the array that an exchange reads and writes
  std::size_t gathered = 0; // of the rounded copy of x (core/gather.h); 0: products read x itself
};

// What a numeric set-up has stored
struct OperatorInfo {
  std::size_t record_bytes = 0;   // of a stored block, as it travels between ranks
  std::size_t memory_bytes = 0;   // held by the device or host that runs the sweeps
  InverseRange inverse = {};      // of this rank's scaled inverse diagonal blocks
  const Scales *scales = nullptr; // valid until the next set-up
  // The mean numbers of entries of off-diagonal blocks and of the factors of diagonal blocks, for
  // sweeps over entries. 0: sweeps multiply with whole blocks.
  double block_entries = 0.0, factor_entries = 0.0;
};

// publish: before an exchange, a device copies plan columns to vector().
// accept: after an exchange, a device copies plan columns from vector().
// zero: plan columns are set to zero.
enum class Transfer { publish, accept, zero };

class DeviceExchange;

class Backend {
public:
  virtual ~Backend() = default;

  // Does the numeric set-up; see StoredMatrix::refresh(). If its device fails, a backend still
  // takes part in the reductions, and status reports the failure.
  virtual int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status) = 0;
  // Set-up of the transposed operator. pack_records() copies records of stored blocks for the ranks
  // that own their columns. Blocks are numbered from the lower to the upper triangle.
  // build_transposed() makes the operator from this rank's records and those received.
  virtual void pack_records(const std::vector<Offset> &stored, std::byte *records) = 0;
  virtual void build_transposed(const ColorPlan &transposed, const std::byte *received) = 0;
  virtual OperatorInfo info() const = 0;
  // Makes a backend with vectors of other precisions and with the stored blocks of this one, which
  // ends then. Returns null if a numeric set-up for those vectors would store other numbers; this
  // backend then stays as it is. as_they_are: the numbers of this backend do, if they were rounded
  // for vectors in single precision and the others are in double precision.
  virtual std::unique_ptr<Backend> with_vectors(bool double_vectors, bool bfp16_gather,
                                                bool as_they_are) = 0;

  // Allocates the vectors for nrhs right-hand sides. Otherwise load_rhs() allocates them.
  virtual void reserve(int nrhs) = 0;
  virtual void load_rhs(const ApplyArgs &apply, const ConstColumns &b) = 0;
  virtual void load_guess(const ApplyArgs &apply, const ConstColumns &x) = 0;
  virtual void relax(const ApplyArgs &apply, const RelaxStep &step) = 0;
  virtual void store(const ApplyArgs &apply, const MutableColumns &x) = 0;

  // The array that an exchange reads and writes: x in plan order, with ghosts after the local rows.
  // It is in host memory unless exchanges are launched to a stream. It may then be the rounded copy
  // that products read.
  virtual void *vector() = 0;
  virtual RowBytes row_bytes(const ApplyArgs &apply) const = 0;
  // For the plan columns [begin, end). overlapped: the exchange is of overlapped rows, and runs
  // while interior rows are relaxed.
  virtual void transfer(const ApplyArgs &apply, Row begin, Row end, Transfer kind,
                        bool overlapped) = 0;
  // null: exchanges need the host
  virtual DeviceExchange *device_exchange() { return nullptr; }

  // Has the effect of record(). The backend either calls it or replays what an earlier call with
  // the same key launched. record() must launch its exchanges to the stream, if it has any.
  virtual int replay(const RunKey &, const std::function<int()> &record) { return record(); }
};

struct BackendConfig {
  NumericConfig numeric;
  bool double_vectors = false;
  // Whether products read x rounded as in core/gather.h. Together with double_vectors this is for
  // tests only.
  bool bfp16_gather = false;
  // Whether nearly all relaxations read one triangle, as those of symmetric sweeps do. A device
  // then divides its work so that one triangle keeps it busy.
  bool one_triangle = false;
  // Whether sweeps may give several parts in one step (SweepConfig::several_parts). The CUDA
  // backend then prepares for them. The backends for CPUs always take them.
  bool several_parts = false;
};

} // namespace mcpi
