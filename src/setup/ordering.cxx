#include "setup/ordering.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "core/threads.h"
#include "core/tuning.h"
#include "petsc/compat.h"
#include "petsc/prefix.h"
#include "setup/fetch_ahead.h"
#include "setup/graph_orders.h"

namespace mcpi {
namespace {

constexpr Row kTileRows = CommonTuning::kTileRows, kLineRows = CommonTuning::kLineRows;

// Moves bit b to bit b * dim.
std::uint64_t spread(std::uint64_t bits, int dim)
{
  std::uint64_t out = 0;
  for (int b = 0; b < 64 / dim; ++b) out |= (bits >> b & 1U) << (b * dim);
  return out;
}

// A Hilbert curve by C. Hamilton, Compact Hilbert indices (Dalhousie University CS-2006-07). A
// state consists of the corner at which the curve enters a cell and the direction in which it
// leaves the cell. The state determines the order of the cell's parts, and the state of each part.
class HilbertCurve {
public:
  explicit HilbertCurve(unsigned dim) : dim_(dim), steps_(std::size_t(dim) << 2 * dim)
  {
    const unsigned parts = 1U << dim;
    for (unsigned direction = 0; direction < dim; ++direction)
      for (unsigned corner = 0; corner < parts; ++corner)
        for (unsigned part = 0; part < parts; ++part) {
          const unsigned place = from_gray(rotate(part ^ corner, dim - (direction + 1) % dim));
          const unsigned odd = place == 0 ? 0 : (place - 1) | 1U;
          const unsigned before = odd & ~1U;
          const unsigned next_corner = corner ^ rotate(before ^ before >> 1, direction + 1);
          const unsigned next_direction =
              (direction + static_cast<unsigned>(std::countr_one(odd)) + 1) % dim;
          steps_[(direction * parts + corner) * parts + part] = {
              (next_direction * parts + next_corner) * parts, place};
        }
  }

  // The place of a point on the curve. bits: the coordinates of the point with their bits
  // interleaved, dim bits for each level
  std::uint64_t place(std::uint64_t bits, int levels) const
  {
    std::uint64_t key = 0, state = 0;
    for (int level = levels - 1; level >= 0; --level) {
      const Step step =
          steps_[state + (bits >> (static_cast<unsigned>(level) * dim_) & ((1U << dim_) - 1U))];
      key = key << dim_ | step.place;
      state = step.state;
    }
    return key;
  }

private:
  struct Step {
    unsigned state, place;
  };
  // Rotates dim bits to the left.
  unsigned rotate(unsigned bits, unsigned by) const
  {
    by %= dim_;
    return (bits << by | bits >> (dim_ - by)) & ((1U << dim_) - 1U);
  }
  static unsigned from_gray(unsigned code)
  {
    for (unsigned shift = 1; shift < 32; shift *= 2) code ^= code >> shift;
    return code;
  }

  unsigned dim_;
  std::vector<Step> steps_;
};

// For more dimensions than these, the key is the interleaved bits themselves (Morton order).
constexpr int kMostCurved = 3;

void order_along_curve(const BlockGraph &graph, const Coordinates &coordinates,
                       std::vector<Row> *order)
{
  // Fitting points have a dimension; the maximum says so to static analysis.
  const int dim = std::max(coordinates.dim, 1), levels = std::min(63 / dim, 31);
  std::vector<std::uint64_t> key(static_cast<std::size_t>(graph.rows), 0);
  for (int d = 0; d < dim; ++d) {
    double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
    for (Row i = 0; i < graph.rows; ++i) {
      low = std::min(low, coordinates.points[static_cast<std::size_t>(i) * dim + d]);
      high = std::max(high, coordinates.points[static_cast<std::size_t>(i) * dim + d]);
    }
    const double cells = static_cast<double>((std::uint64_t(1) << levels) - 1);
    const bool wide = high > low && high - low > 0x1p-900; // The quotient by less could overflow.
    const double scale = wide ? cells / (high - low) : 0.0;
    for (Row i = 0; i < graph.rows; ++i) {
      const double cell = (coordinates.points[static_cast<std::size_t>(i) * dim + d] - low) * scale;
      // cell > 0.0 is false for a NaN, which thus goes to cell 0.
      key[i] |= spread(cell > 0.0 ? static_cast<std::uint64_t>(std::min(cell, cells)) : 0U, dim)
                << d;
    }
  }
  if (dim <= kMostCurved) {
    const HilbertCurve curve(static_cast<unsigned>(dim));
    for (std::uint64_t &k : key) k = curve.place(k, levels);
  }
  std::stable_sort(order->begin(), order->end(), [&](Row a, Row b) { return key[a] < key[b]; });
}

// The couplings between local rows, in both directions
class LocalPattern {
public:
  explicit LocalPattern(const BlockGraph &graph)
      : pattern_(graph), graph_{pattern_.ptr, pattern_.col}
  {
    if (graph.ghosts.empty()) return;
    ptr_.assign(1, 0);
    for (Row row = 0; row < graph.rows; ++row) {
      const auto neighbors = graph_.neighbors(row);
      std::copy_if(neighbors.begin(), neighbors.end(), std::back_inserter(col_),
                   [&](Row column) { return column < graph.rows; });
      ptr_.push_back(static_cast<Offset>(col_.size()));
    }
    graph_ = {ptr_, col_};
  }
  const RowGraph &graph() const { return graph_; }

private:
  const SymmetrizedPattern pattern_;
  std::vector<Offset> ptr_;
  std::vector<Row> col_;
  RowGraph graph_;
};

// Estimates how much of x the caches fetch in a pass: the number of different cache lines that each
// tile of rows touches, summed over the tiles
Offset touched_lines(const BlockGraph &graph, const Coloring &coloring,
                     const std::vector<Row> &order)
{
  std::vector<Row> start(static_cast<std::size_t>(coloring.colors) + 1, 0),
      place(static_cast<std::size_t>(graph.rows)), sorted(place.size());
  for (const int color : coloring.color) ++start[color + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  for (const Row row : order) {
    place[row] = start[coloring.color[row]]++;
    sorted[place[row]] = row;
  }
  std::atomic<Offset> touched = 0;
  const Row tiles = (graph.rows + kTileRows - 1) / kTileRows;
  const Slices slices(static_cast<std::size_t>(tiles), graph.threads, CommonTuning::kLeastTiles);
  share_among_threads(slices.parts, graph.threads, [&](std::size_t part) {
    std::vector<Row> last_tile(static_cast<std::size_t>(graph.rows) / kLineRows + 1, -1);
    Offset sum = 0;
    const Row first = static_cast<Row>(slices.begin(part)) * kTileRows,
              last = std::min(static_cast<Row>(slices.begin(part + 1)) * kTileRows, graph.rows);
    for (Row p = first; p < last; ++p) {
      fetch_ahead(graph.ptr.data(), graph.col.data(), sorted.data(), static_cast<std::size_t>(p),
                  static_cast<std::size_t>(last));
      for (Offset k = graph.ptr[sorted[p]]; k < graph.ptr[sorted[p] + 1]; ++k) {
        if (graph.col[k] >= graph.rows) continue;
        Row &tile = last_tile[place[graph.col[k]] / kLineRows];
        sum += tile != p / kTileRows;
        tile = p / kTileRows;
      }
    }
    touched += sum;
  });
  return touched;
}

// The sum over all local couplings of how far apart the two rows are in an order. All numbers are
// integers, so it does not depend on the threads.
double sum_of_distances(const BlockGraph &graph, const std::vector<Row> &order)
{
  const std::vector<Row> place = inverse_order(order);
  std::atomic<Offset> sum = 0;
  share_range(graph.rows, graph.threads, [&](Row begin, Row end) {
    Offset part = 0;
    for (Row row = begin; row < end; ++row)
      for (Offset k = graph.ptr[row]; k < graph.ptr[row + 1]; ++k)
        if (graph.col[k] < graph.rows) part += std::abs(place[row] - place[graph.col[k]]);
    sum += part;
  });
  return static_cast<double>(sum);
}

} // namespace

PetscErrorCode OrderingCreateForClusters(const BlockGraph &graph, PCMCPIOrderingType type,
                                         std::vector<Row> *order, OrderingUsed *used)
{
  std::vector<Row> natural(static_cast<std::size_t>(graph.rows));
  double sums[2];

  PetscFunctionBegin;
  std::iota(natural.begin(), natural.end(), 0);
  if (type != PC_MCPI_ORDERING_NATURAL) PetscCall(OrderingCreateRCM(graph, order));
  if (type == PC_MCPI_ORDERING_AUTO) {
    sums[0] = sum_of_distances(graph, natural);
    sums[1] = sum_of_distances(graph, *order);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, graph.comm));
    type = sums[0] <= CommonTuning::kMuchFarther * sums[1] ? PC_MCPI_ORDERING_NATURAL
                                                           : PC_MCPI_ORDERING_RCM;
  }
  if (type == PC_MCPI_ORDERING_NATURAL) *order = std::move(natural);
  *used = {type, false};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OrderingCreateRCM(const BlockGraph &graph, std::vector<Row> *order)
{
  const LocalPattern pattern(graph);

  PetscFunctionBegin;
  order->resize(static_cast<std::size_t>(graph.rows));
  order_by_rcm(pattern.graph(), order);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OrderingCreate(const BlockGraph &graph, const Coloring &coloring,
                              PCMCPIOrderingType type, const Coordinates &coordinates,
                              std::vector<Row> *order, OrderingUsed *used)
{
  // The minimum over all ranks tells whether all ranks have fitting points, and whether no rank has
  // any points.
  PetscMPIInt all[2] = {coordinates.dim > 0 &&
                            coordinates.points.size() ==
                                static_cast<std::size_t>(coordinates.dim) * graph.rows,
                        coordinates.dim == 0};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MIN, graph.comm));
  const bool usable = all[0] != 0;
  used->misfit = !usable && all[1] == 0;
  PetscCheck(
      usable || type != PC_MCPI_ORDERING_COORDINATES, graph.comm, PETSC_ERR_ORDER,
      "-%spc_mcpi_ordering coordinates needs PCSetCoordinates() with one point for each local "
      "block row before the set-up",
      current_prefix());
  order->resize(static_cast<std::size_t>(graph.rows));
  std::iota(order->begin(), order->end(), 0);
  if (type == PC_MCPI_ORDERING_AUTO && usable) type = PC_MCPI_ORDERING_COORDINATES;
  used->type = type;
  if (type == PC_MCPI_ORDERING_COORDINATES) order_along_curve(graph, coordinates, order);
  if (type == PC_MCPI_ORDERING_COORDINATES || type == PC_MCPI_ORDERING_NATURAL)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (graph.rows == 0) {
    if (type == PC_MCPI_ORDERING_AUTO) used->type = PC_MCPI_ORDERING_NATURAL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  std::vector<Row> rcm;
  PetscCall(OrderingCreateRCM(graph, &rcm));
  const bool better = type == PC_MCPI_ORDERING_RCM ||
                      touched_lines(graph, coloring, rcm) < touched_lines(graph, coloring, *order);
  used->type = better ? PC_MCPI_ORDERING_RCM : PC_MCPI_ORDERING_NATURAL;
  if (better) order->swap(rcm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
