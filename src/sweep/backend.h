// What MulticolorSweep needs from a backend: one rank's part of the work. Nothing here knows PETSc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/stored_matrix.h"

namespace mcpi {

// One application of the smoother, as far as a backend sees it.
struct ApplyArgs {
  bool transposed = false;
  int nrhs = 1;
  double omega = 1.0;
  void *stream = nullptr; // on which a device's user works with the arrays
  // Power of two by which right-hand side and guess are multiplied when they are loaded, and the
  // solution is divided: single precision holds systems in any units.
  double scale = 1.0;
};

// Columns of a user's array in the matrix's row order, column r at data + r*ld. device: in the
// memory of the backend's device.
template <class Number> struct Columns {
  Number *data = nullptr;
  std::ptrdiff_t ld = 0;
  bool device = false;
};
using ConstColumns = Columns<const double>;
using MutableColumns = Columns<double>;

// What tells one sequence of launches from another
struct RunKey {
  bool transposed = false, from_zero = true, overlap = true, shortcuts = true, by_color = true;
  int nrhs = 1, its = 1, sweep = 0;
  double omega = 1.0;

  bool operator==(const RunKey &) const = default;
};

// Conrad & Wallach: a symmetric sweep keeps each row's partial sum over one triangle for the
// half-sweep that follows.
enum class Keep { no, sum, zero };

// Relaxation of the plan rows [begin, end) of one color.
struct RelaxStep {
  Row begin = 0, end = 0;
  bool lower = true, upper = true; // triangles to read
  bool from_zero = false;          // x of these rows is zero, whatever memory holds
  bool use_kept = false;           // add the partial sum kept by the half-sweep before
  Keep keep = Keep::no;            // and what to keep: the sum over keep_lower's triangle, or zero
  bool keep_lower = false;
  bool overlapped = false; // boundary rows: the exchange runs while interior rows are relaxed
  bool read_later = true;  // x itself, not only by off-diagonal products: it is updated from,
                           // exchanged or handed out
};

struct GhostPackets;

// What a relaxation with its exchange inside reads and sends, counted from the last epoch of the
// application before
struct GhostEpochs {
  int color = 0;
  unsigned sends = 0;            // 0: nothing
  unsigned lower = 0, upper = 0; // of the ghosts that a triangle's products read,
  unsigned turn = 0;             // but of these
  Row turn_begin = 0, turn_end = 0;
};

class Backend {
public:
  virtual ~Backend() = default;

  // Numeric set-up; see StoredMatrix::refresh. A backend whose device fails keeps step with the
  // other ranks and says so in status.
  virtual int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status) = 0;
  // Records of stored blocks (lower, then upper triangle) for the ranks that own their columns, and
  // the transposed operator made of ours and theirs.
  virtual std::size_t record_size() const = 0;
  virtual void pack_records(const std::vector<Offset> &stored, std::byte *records) = 0;
  virtual void build_transposed(const ColorPlan &transposed, const std::byte *received) = 0;

  // Room for so many right-hand sides; loading makes it otherwise
  virtual void reserve(int nrhs) = 0;
  virtual void load_rhs(const ApplyArgs &apply, const ConstColumns &b) = 0;
  virtual void load_guess(const ApplyArgs &apply, const ConstColumns &x) = 0;
  virtual void zero_ghosts(const ApplyArgs &apply) = 0;
  virtual void relax(const ApplyArgs &apply, const RelaxStep &step) = 0;
  virtual void store(const ApplyArgs &apply, const MutableColumns &x) = 0;

  // x in plan order, ghosts behind the local rows; entry_bytes() bytes a block row (all right-hand
  // sides). Host memory: a device copies what it relaxed there in publish(), and takes from there
  // what an exchange wrote in accept(). Rows are plan columns.
  virtual void *vector() = 0;
  virtual std::size_t entry_bytes(const ApplyArgs &apply) const = 0;
  // Of the rounded copy of x that products read (core/gather.h), a block row; 0: they read x itself
  virtual std::size_t gathered_bytes(const ApplyArgs &) const { return 0; }
  // ahead: the exchange is of rows that were relaxed ahead, and goes on beside the others
  virtual void publish(const ApplyArgs &, Row /*begin*/, Row /*end*/, bool /*ahead*/) {}
  virtual void accept(const ApplyArgs &, Row /*begin*/, Row /*end*/, bool /*ahead*/) {}

  // Exchanges that are launched to a device's stream, which is returned: then x is device memory.
  // An application's come between the two others.
  virtual void *launch_exchanges(bool) { return nullptr; }
  virtual std::uint32_t not_a_number() const
  {
    return ~0U;
  } // 32 bits of x that make whatever reads them not finite
  virtual void start_exchanges() {}
  virtual void finish_exchanges() {}

  // Exchanges inside the relaxation of a color, boundary rows first: ghosts of an epoch
  // (sweep/epochs.h) are awaited where they are read, and rows sent where they are made. packets:
  // where to, or null.
  virtual bool use_packets(const GhostPackets * /*packets*/)
  {
    return false;
  } // whether it can, on this rank
  virtual bool exchanges_inside(const ApplyArgs &) const { return false; }
  virtual void start_inside(const ApplyArgs &, bool /*from_zero*/) {} // a guess is sent
  virtual void relax_inside(const ApplyArgs &, const RelaxStep &, const GhostEpochs &) {}
  virtual void finish_inside(const ApplyArgs &, unsigned /*epochs*/) {}

  // Does what record does, which launches all its exchanges if it has any: by calling it, or by
  // replaying what an earlier call with this key launched.
  virtual int replay(const RunKey &, const std::function<int()> &record) { return record(); }

  // Of this rank's inverse diagonal blocks, as they are scaled; known after refresh()
  virtual InverseRange inverse_range() const = 0;
  virtual std::size_t memory_bytes() const = 0; // where the sweeps run
  virtual const Scales &scales() const = 0;
};

struct BackendConfig {
  NumericConfig numeric;
  bool double_vectors = false;
  // products read x as core/gather.h rounds it; with double vectors for tests only
  bool bfp16_gather = false;
};

std::unique_ptr<Backend> make_reference_backend(const ColorPlan &plan, const BackendConfig &config);
// Let a reference backend sweep with what another backend has stored; see
// StoredMatrix::adopt_records().
void adopt_records(Backend &reference, const std::byte *records);
std::unique_ptr<Backend> make_cuda_backend(const ColorPlan &plan,
                                           const BackendConfig &config); // if built with it
// Whether the library has code for the CUDA device in use
bool has_code_for_cuda_device();
std::unique_ptr<Backend>
make_kokkos_backend(const ColorPlan &plan,
                    const BackendConfig &config); // if built with it, between Kokkos' start and end
std::unique_ptr<Backend> make_host_backend(const ColorPlan &plan, const BackendConfig &config,
                                           const CpuKernels &kernels);

} // namespace mcpi
