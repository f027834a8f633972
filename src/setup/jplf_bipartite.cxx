#include <algorithm>

#include "pc/compat.h"
#include "setup/jplf_steps.h"

namespace mcpi::jplf {
namespace {

// The connected components of the local rows among themselves, two-colored from their first row. False if one has an odd cycle
bool two_color_locally(const Graph &graph, std::vector<int> &component, Colors &side, std::vector<PetscInt64> &first_row)
{
  std::vector<int> stack;
  component.assign(static_cast<std::size_t>(graph.nlocal), -1);
  side.assign(static_cast<std::size_t>(graph.nlocal), uncolored);
  for (int start = 0; start < graph.nlocal; ++start) {
    if (component[start] >= 0) continue;
    component[start] = static_cast<int>(first_row.size());
    side[start]      = 0;
    first_row.push_back(graph.row[start]);
    stack.push_back(start);
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      for (const int u : graph.neighbors(v)) {
        if (u >= graph.nlocal) continue;
        if (component[u] < 0) {
          component[u] = component[v];
          side[u]      = 1 - side[v];
          stack.push_back(u);
        } else if (side[u] == side[v]) {
          return false;
        }
      }
    }
  }
  return true;
}

enum Progress : int { settled, moving, odd_cycle };

} // namespace

// Each local component takes over the smallest row, and the side that follows from it, of the components of other ranks it touches, until
// nothing moves: all vertices then hold the smallest row of their global component and on which side of it they are.
PetscErrorCode color_bipartite(const Graph &graph, Colors &color, int *colors)
{
  std::vector<int>        component;
  Colors                  side;
  std::vector<PetscInt64> root;
  std::vector<PetscInt64> label(static_cast<std::size_t>(graph.size())); // 2 * root + side
  int                     progress = two_color_locally(graph, component, side, root) ? moving : odd_cycle;

  PetscFunctionBegin;
  *colors = 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &progress, 1, MPI_INT, MPI_MAX, graph.comm));
  std::vector<int> flip(root.size(), 0);
  while (progress == moving) {
    for (int v = 0; v < graph.nlocal; ++v) label[v] = 2 * root[component[v]] + (side[v] ^ flip[component[v]]);
    PetscCall(update_ghosts(graph, MPIU_INT64, label.data()));
    progress = settled;
    for (int g = graph.nlocal; g < graph.size(); ++g) {
      for (const int v : graph.neighbors(g)) {
        const int        c    = component[v];
        const int        mine = 1 - static_cast<int>(label[g] % 2); // the side v must be on
        const PetscInt64 from = label[g] / 2;
        if (from < root[c]) {
          root[c]  = from;
          flip[c]  = side[v] ^ mine;
          progress = std::max<int>(progress, moving);
        } else if (from == root[c] && (side[v] ^ flip[c]) != mine) {
          progress = odd_cycle;
        }
      }
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &progress, 1, MPI_INT, MPI_MAX, graph.comm));
  }
  if (progress == odd_cycle) PetscFunctionReturn(PETSC_SUCCESS);
  color.resize(label.size());
  std::transform(label.begin(), label.end(), color.begin(), [](PetscInt64 l) { return static_cast<int>(l % 2); });
  *colors = graph.global_entries > 0 ? 2 : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::jplf
