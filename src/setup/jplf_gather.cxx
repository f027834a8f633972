// One rank colors small graphs. The search for fewer colors takes hundreds of rounds, and each
// round of a parallel search waits for all ranks.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/hash.h"
#include "petsc/collective.h"
#include "petsc/compat.h"
#include "setup/jplf_steps.h"

namespace mcpi::coloring {
namespace {

// The counts and offsets, by rank, of what the first rank gathers and scatters
struct Parts {
  std::vector<PetscMPIInt> count, start;

  explicit Parts(PetscMPIInt ranks) : count(static_cast<std::size_t>(ranks)), start(count.size()) {}
  void sum() { std::exclusive_scan(count.begin(), count.end(), start.begin(), 0); }
  [[nodiscard]] std::size_t size() const
  {
    return static_cast<std::size_t>(start.back()) + static_cast<std::size_t>(count.back());
  }
};

// Gathers the whole graph on the first rank. The other ranks get an empty graph. rows: the count
// and the first row of each rank, on the first rank only.
PetscErrorCode gather(const Graph &graph, Graph *whole, Parts *rows)
{
  PetscMPIInt rank;
  const auto local = static_cast<PetscMPIInt>(graph.ptr[graph.nlocal]);
  PetscMPIInt mine[2] = {graph.nlocal, local};
  std::vector<int> degree;
  std::vector<PetscInt> neighbor;
  Parts entries(graph.ranks);

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(graph.comm, &rank));
  degree.reserve(static_cast<std::size_t>(graph.nlocal));
  neighbor.reserve(static_cast<std::size_t>(local));
  for (int v = 0; v < graph.nlocal; ++v) degree.push_back(graph.degree(v));
  for (PetscMPIInt k = 0; k < local; ++k) neighbor.push_back(graph.row[graph.adj[k]]);
  std::vector<PetscMPIInt> all(rank == 0 ? 2 * static_cast<std::size_t>(graph.ranks) : 0);
  PetscCallMPI(MPI_Gather(mine, 2, MPI_INT, all.data(), 2, MPI_INT, 0, graph.comm));
  for (std::size_t r = 0; 2 * r < all.size(); ++r) {
    rows->count[r] = all[2 * r];
    entries.count[r] = all[2 * r + 1];
  }
  rows->sum();
  entries.sum();
  std::vector<int> degrees;
  std::vector<PetscInt> neighbors;
  PetscCall(RunTogether(graph.comm, [&] {
    degrees.resize(rows->size());
    neighbors.resize(entries.size());
  }));
  PetscCallMPI(MPI_Gatherv(degree.data(), mine[0], MPI_INT, degrees.data(), rows->count.data(),
                           rows->start.data(), MPI_INT, 0, graph.comm));
  PetscCallMPI(MPI_Gatherv(neighbor.data(), mine[1], MPIU_INT, neighbors.data(),
                           entries.count.data(), entries.start.data(), MPIU_INT, 0, graph.comm));
  *whole = Graph();
  whole->coloring = graph.coloring;
  whole->options = graph.options;
  whole->comm = PETSC_COMM_SELF;
  whole->threads = graph.threads;
  whole->nlocal = static_cast<int>(degrees.size());
  whole->global_rows = graph.global_rows;
  whole->global_entries = graph.global_entries;
  whole->global_max_degree = graph.global_max_degree;
  whole->ptr.reserve(degrees.size() + 1);
  whole->ptr.assign(1, 0);
  for (const int d : degrees) whole->ptr.push_back(whole->ptr.back() + static_cast<std::size_t>(d));
  whole->adj.assign(neighbors.begin(), neighbors.end());
  whole->row.reserve(degrees.size());
  whole->hash.reserve(degrees.size());
  for (int v = 0; v < whole->nlocal; ++v) {
    whole->row.push_back(v);
    whole->hash.push_back(mix(static_cast<std::uint64_t>(v)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

bool one_rank_can_hold(const Graph &graph)
{
  return graph.global_rows + graph.global_entries <= std::numeric_limits<int>::max();
}

PetscErrorCode
run_on_one_rank(const Graph &graph,
                const std::function<PetscErrorCode(const Graph &, Colors &)> &color_whole,
                Colors &color)
{
  Graph whole;
  Colors colors;
  Parts rows(graph.ranks);
  PetscMPIInt rank, failed = 0;

  PetscFunctionBegin;
  PetscCall(gather(graph, &whole, &rows));
  PetscCallMPI(MPI_Comm_rank(graph.comm, &rank));
  if (rank == 0) {
    try {
      failed = color_whole(whole, colors) != PETSC_SUCCESS;
    } catch (const std::bad_alloc &) { // The other ranks wait for the broadcast below.
      failed = 1;
    }
  }
  PetscCallMPI(MPI_Bcast(&failed, 1, MPI_INT, 0, graph.comm));
  PetscCheck(!failed, graph.comm, PETSC_ERR_MEM,
             "MatColoring type %s: no memory on the first rank for a graph of %" PetscInt64_FMT
             " rows. Give that rank more memory",
             graph.coloring.c_str(), graph.global_rows);
  color.assign(static_cast<std::size_t>(graph.size()), kUncolored);
  PetscCallMPI(MPI_Scatterv(colors.data(), rows.count.data(), rows.start.data(), MPI_INT,
                            color.data(), graph.nlocal, MPI_INT, 0, graph.comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::coloring
