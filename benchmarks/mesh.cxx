#include "mesh.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>

#include "core/hash.h"

namespace bench {
namespace {

#if PETSC_VERSION_LT(3, 19, 0)
constexpr PetscErrorCode PETSC_SUCCESS = 0;
#endif

constexpr double kMixedBlocksPerRow = 18998518.0 / 1123718.0;

// A number in [-1, 1] that does not depend on the partition
double noise(std::uint64_t key)
{
  return static_cast<double>(mcpi::mix(key) >> 11U) / 4503599627370496.0 - 1.0;
}

using Edges = std::vector<std::vector<PetscInt>>;

void connect(Edges &edges, PetscInt v, PetscInt w)
{
  edges[v].push_back(w);
  edges[w].push_back(v);
}

using Step = std::array<int, 3>;
constexpr std::array<Step, 7> kSteps = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}}};
constexpr std::size_t kAxes = 3; // of them

void add_steps(PetscInt n, std::size_t steps, Edges &edges)
{
  for (PetscInt v = 0; v < n * n * n; ++v)
    for (const Step &step : std::span(kSteps).first(steps)) {
      const PetscInt x = v % n + step[0], y = v / n % n + step[1], z = v / (n * n) + step[2];
      if (x < n && y < n && z < n) connect(edges, v, (z * n + y) * n + x);
    }
}

void add_near_edges(PetscInt n, Edges &edges)
{
  const auto wanted =
      static_cast<std::size_t>(kMixedBlocksPerRow * static_cast<double>(edges.size()));
  std::size_t have = 0;
  for (const auto &row : edges) have += row.size();
  for (std::uint64_t trial = 0; have + 2 <= wanted; ++trial) {
    const std::uint64_t where = mcpi::mix(2 * trial), how = mcpi::mix(2 * trial + 1);
    const auto v = static_cast<PetscInt>(where % edges.size());
    const auto step = [&](int shift) {
      return static_cast<PetscInt>((how >> shift & 0xffU) % 5) - 2;
    };
    const PetscInt x = v % n + step(0), y = v / n % n + step(8), z = v / (n * n) + step(16);
    if (x < 0 || y < 0 || z < 0 || x >= n || y >= n || z >= n) continue;
    const PetscInt w = (z * n + y) * n + x;
    if (v == w || std::find(edges[v].begin(), edges[v].end(), w) != edges[v].end()) continue;
    connect(edges, v, w);
    have += 2;
  }
}

std::array<PetscInt, 3> point(PetscInt n, PetscInt place)
{
  return {place % n, place / n % n, place / (n * n)};
}

// Sorts places so that each of the ranks [first, last) owns a box. begin: the first rank's first
// place. The numbers of places are those of PetscSplitOwnership().
class Bisection {
public:
  Bisection(PetscInt n, PetscInt ranks, std::vector<PetscInt> &places)
      : n_(n), ranks_(ranks), places_(places)
  {
  }

  void divide(PetscInt first, PetscInt last)
  {
    const auto begin = places_.begin() + start(first), end = places_.begin() + start(last);
    if (last - first == 1) {
      std::sort(begin, end);
      return;
    }
    const int along = longest(begin, end);
    const PetscInt middle = (first + last) / 2;
    std::nth_element(begin, places_.begin() + start(middle), end, [&](PetscInt a, PetscInt b) {
      return std::tuple(point(n_, a)[along], a) < std::tuple(point(n_, b)[along], b);
    });
    divide(first, middle);
    divide(middle, last);
  }

private:
  using Places = std::vector<PetscInt>::const_iterator;

  PetscInt start(PetscInt rank) const
  {
    const auto all = static_cast<PetscInt>(places_.size());
    return rank * (all / ranks_) + std::min(rank, all % ranks_);
  }
  int longest(Places begin, Places end) const
  {
    std::array<PetscInt, 3> low{n_, n_, n_}, high{};
    for (auto place = begin; place != end; ++place)
      for (int d = 0; d < 3; ++d) {
        low[d] = std::min(low[d], point(n_, *place)[d]);
        high[d] = std::max(high[d], point(n_, *place)[d]);
      }
    int best = 2; // The axis whose index changes slowest in memory comes first.
    for (int d = 1; d >= 0; --d)
      if (high[d] - low[d] > high[best] - low[best]) best = d;
    return best;
  }

  const PetscInt n_, ranks_;
  std::vector<PetscInt> &places_;
};

PetscErrorCode local_rows(MPI_Comm comm, const VertexGraph &graph, PetscInt *begin, PetscInt *count)
{
  PetscInt total = graph.rows();

  PetscFunctionBegin;
  *count = PETSC_DECIDE;
  PetscCall(PetscSplitOwnership(comm, count, &total));
  PetscCallMPI(MPI_Scan(count, begin, 1, MPIU_INT, MPI_SUM, comm));
  *begin -= *count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

VertexGraph MakeGraph(const std::string &kind, PetscInt n)
{
  VertexGraph graph;
  Edges edges(static_cast<std::size_t>(n * n * n));
  add_steps(n, kind == "grid" ? kAxes : kSteps.size(), edges);
  if (kind == "mix") add_near_edges(n, edges);
  graph.n = n;
  graph.ptr.push_back(0);
  for (auto &row : edges) {
    std::sort(row.begin(), row.end());
    graph.col.insert(graph.col.end(), row.begin(), row.end());
    graph.ptr.push_back(static_cast<PetscInt>(graph.col.size()));
  }
  return graph;
}

VertexGraph InBoxes(const VertexGraph &graph, PetscInt ranks)
{
  VertexGraph boxes;
  std::vector<PetscInt> number(static_cast<std::size_t>(graph.rows()));
  boxes.n = graph.n;
  boxes.place.resize(number.size());
  std::iota(boxes.place.begin(), boxes.place.end(), 0);
  Bisection(graph.n, ranks, boxes.place).divide(0, ranks);
  for (std::size_t v = 0; v < number.size(); ++v) number[boxes.place[v]] = static_cast<PetscInt>(v);
  boxes.ptr.push_back(0);
  for (const PetscInt place : boxes.place) {
    const auto first = static_cast<std::ptrdiff_t>(boxes.col.size());
    for (PetscInt k = graph.ptr[place]; k < graph.ptr[place + 1]; ++k)
      boxes.col.push_back(number[graph.col[k]]);
    std::sort(boxes.col.begin() + first, boxes.col.end());
    boxes.ptr.push_back(static_cast<PetscInt>(boxes.col.size()));
  }
  return boxes;
}

std::vector<PetscReal> Coordinates(const VertexGraph &graph, Mat mat)
{
  PetscInt begin, end, bs;
  (void)MatGetOwnershipRange(mat, &begin, &end);
  (void)MatGetBlockSize(mat, &bs);
  std::vector<PetscReal> points;
  for (PetscInt v = begin / bs; v < end / bs; ++v)
    for (const PetscInt x : point(graph.n, graph.place.empty() ? v : graph.place[v]))
      points.push_back(static_cast<PetscReal>(x));
  return points;
}

PetscErrorCode CreateMatrix(MPI_Comm comm, const VertexGraph &graph, PetscInt bs, MatType type,
                            Mat *mat)
{
  PetscInt begin, count;

  PetscFunctionBegin;
  PetscCall(local_rows(comm, graph, &begin, &count));
  PetscCall(MatCreate(comm, mat));
  PetscCall(MatSetSizes(*mat, count * bs, count * bs, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*mat, bs));
  PetscCall(MatSetType(*mat, type));
  std::vector<PetscInt> on(count, 1), off(count, 0);
  for (PetscInt r = 0; r < count; ++r)
    for (PetscInt k = graph.ptr[begin + r]; k < graph.ptr[begin + r + 1]; ++k)
      ++(graph.col[k] >= begin && graph.col[k] < begin + count ? on : off)[r];
  PetscCall(MatXAIJSetPreallocation(*mat, bs, on.data(), off.data(), nullptr, nullptr));
  std::vector<PetscScalar> block(static_cast<std::size_t>(bs) * bs);
  const auto insert = [&](PetscInt row, PetscInt column) -> PetscErrorCode {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(row) << 36U) ^ (static_cast<std::uint64_t>(column) << 12U);
    for (PetscInt e = 0; e < bs * bs; ++e)
      block[e] = noise(key + e) / (18.0 * static_cast<double>(bs));
    if (row == column)
      for (PetscInt d = 0; d < bs; ++d) block[d * bs + d] += 1.0;
    return MatSetValuesBlocked(*mat, 1, &row, 1, &column, block.data(), INSERT_VALUES);
  };
  for (PetscInt row = begin; row < begin + count; ++row) {
    PetscCall(insert(row, row));
    for (PetscInt k = graph.ptr[row]; k < graph.ptr[row + 1]; ++k)
      PetscCall(insert(row, graph.col[k]));
  }
  PetscCall(MatAssemblyBegin(*mat, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*mat, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreateGraph(MPI_Comm comm, const VertexGraph &graph, Mat *mat)
{
  PetscInt begin, count;
  std::vector<PetscInt> i(1, 0), j;

  PetscFunctionBegin;
  PetscCall(local_rows(comm, graph, &begin, &count));
  for (PetscInt row = begin; row < begin + count; ++row) {
    const auto first = graph.col.begin() + graph.ptr[row],
               last = graph.col.begin() + graph.ptr[row + 1];
    const auto after = std::lower_bound(first, last, row);
    j.insert(j.end(), first, after);
    j.push_back(row);
    j.insert(j.end(), after, last);
    i.push_back(static_cast<PetscInt>(j.size()));
  }
  const std::vector<PetscScalar> ones(j.size(), 1.0);
  PetscCall(MatCreate(comm, mat));
  PetscCall(MatSetSizes(*mat, count, count, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*mat, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(*mat, i.data(), j.data(), ones.data()));
  PetscCall(MatMPIAIJSetPreallocationCSR(*mat, i.data(), j.data(), ones.data()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace bench
