#include "setup/row_groups.h"

#include <algorithm>
#include <numeric>

#include "petsc/compat.h"

namespace mcpi {
namespace {

// Whether a row and the next one have the same columns. The graph does not list the row itself.
bool is_like_next(const BlockGraph &graph, Row row)
{
  const auto first = graph.col.begin() + graph.ptr[row],
             second = graph.col.begin() + graph.ptr[row + 1],
             end = graph.col.begin() + graph.ptr[row + 2];
  if (second - first != end - second) return false;
  if (first == second) return true;
  auto mine = first, its = second;
  bool mutual[2] = {false, false};
  for (; mine != second || its != end; ++mine, ++its) {
    if (mine != second && *mine == row + 1) {
      mutual[0] = true;
      ++mine;
    }
    if (its != end && *its == row) {
      mutual[1] = true;
      ++its;
    }
    if (mine == second || its == end) break;
    if (*mine != *its) return false;
  }
  return mine == second && its == end && mutual[0] && mutual[1];
}

} // namespace

// Most matrices have no groups, which the first rows show.
PetscErrorCode FindRowGroups(const BlockGraph &graph, PetscInt *group)
{
  PetscInt common = 0, length = 1, runs = graph.rows > 0;

  PetscFunctionBegin;
  for (Row row = 0; row < graph.rows && common != 1; ++row, ++length) {
    if (row + 1 < graph.rows && is_like_next(graph, row)) continue;
    common = std::gcd(common, length);
    runs += row + 1 < graph.rows;
    length = 0;
  }
  // The greatest common divisor over all ranks. A rank without rows has none. A single run does
  // not count, because all rows of a full matrix are alike.
  PetscInt least[2] = {common > 0 ? common : PETSC_MAX_INT, -runs}, before;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, least, 2, MPIU_INT, MPI_MIN, graph.comm));
  do {
    before = least[0];
    if (before == 1) break;
    const PetscInt mine = std::gcd(common, before);
    PetscCallMPI(MPI_Allreduce(&mine, least, 1, MPIU_INT, MPI_MIN, graph.comm));
  } while (least[0] != before);
  *group = least[1] < -1 ? least[0] : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::string AdviceForBlockSize(PetscInt bs, PetscInt group)
{
  const std::string size = std::to_string(bs * group);
  return "the block size is " + std::to_string(bs) + ", but rows come in groups of " + size +
         " with the same columns: call MatSetBlockSize(A, " + size +
         ") before the matrix is preallocated";
}

} // namespace mcpi
