#include "setup/coloring_type.h"

#include <algorithm>

#include "petsc/compat.h"
#include "petsc/prefix.h"

namespace mcpi::coloring {

PetscInt64 most_of_one_rank = 1 << 18;

PetscErrorCode check_distance(MatColoring mc)
{
  PetscFunctionBegin;
  PetscCheck(mc->dist == 1, PetscObjectComm((PetscObject)mc), PETSC_ERR_SUP,
             "MatColoring type %s is for distance 1, not %" PetscInt_FMT
             ". Use -%smat_coloring_distance 1 or MatColoringSetDistance()",
             ((PetscObject)mc)->type_name, mc->dist, prefix_of((PetscObject)mc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode create_iscoloring(MatColoring mc, const Colors &color, PetscInt64 colors,
                                 ISColoring *iscoloring)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)mc);
  PetscInt n;
  ISColoringValue *values;

  PetscFunctionBegin;
  PetscCheck(colors <= IS_COLORING_MAX, comm, PETSC_ERR_SUP,
             "The coloring has %" PetscInt64_FMT
             " colors, an ISColoring holds %d. Use MatColoring type jplf or wave, which are the "
             "schedules color and wave of PCMCPI",
             colors, static_cast<int>(IS_COLORING_MAX));
  PetscCheck(colors <= mc->maxcolors, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "The coloring has %" PetscInt64_FMT
             " colors. Use -%smat_coloring_maxcolors %" PetscInt64_FMT
             " or more, not %" PetscInt_FMT,
             colors, prefix_of((PetscObject)mc), colors, mc->maxcolors);
  PetscCall(MatGetLocalSize(mc->mat, &n, nullptr));
  PetscCall(PetscMalloc1(n, &values));
  std::transform(color.begin(), color.begin() + n, values,
                 [](int c) { return static_cast<ISColoringValue>(c); });
  PetscCall(ISColoringCreate(comm, static_cast<PetscInt>(colors), n, values, PETSC_OWN_POINTER,
                             iscoloring));
  PetscCall(ISColoringSetType(*iscoloring, IS_COLORING_GLOBAL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode read_count(MatColoring mc, CompatOptionItems PetscOptionsObject, const char *option,
                          const char *text, PetscInt *value)
{
  PetscInt count = *value;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInt(option, text, "", count, &count, nullptr));
  PetscCheck(count >= 0, PetscObjectComm((PetscObject)mc), PETSC_ERR_ARG_OUTOFRANGE,
             "-%s%s must be at least 0, not %" PetscInt_FMT, prefix_of((PetscObject)mc), option + 1,
             count);
  *value = count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool one_rank_is_faster(const Graph &graph)
{
  return graph.ranks > 1 && one_rank_can_hold(graph) &&
         graph.global_rows + graph.global_entries <= most_of_one_rank;
}

} // namespace mcpi::coloring
