// The order in which a smoother relaxes the block rows.
#pragma once

#include <map>

#include "pc/mcpi.h"
#include "support/petsc.h"

namespace mcpi::test {

inline const ColorPlan &plan_of(PC pc)
{
  return Data(pc).smoother.plan();
}

// Gathers for each block row its place in the order of the sweep. Rows of different ranks may share
// a place if they have the same color, since they are not coupled then.
inline PetscErrorCode gather_places(PC pc, Mat mat, std::vector<int> *place)
{
  const ColorPlan &plan = plan_of(pc);
  OwnedVec local;
  Vector whole;
  PetscScalar *array;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(mat, local.out(), nullptr));
  PetscCall(VecGetArray(local, &array));
  for (int c = 0; c < plan.colors; ++c)
    for (Row p = plan.color_begin[c]; p < plan.color_begin[c + 1]; ++p)
      array[plan.row_of[p] * plan.bs] = c * 1e6 + p - plan.color_begin[c];
  PetscCall(VecRestoreArray(local, &array));
  PetscCall(gather(local, &whole));
  std::map<double, int> number;
  for (std::size_t i = 0; i < whole.size(); i += static_cast<std::size_t>(plan.bs))
    number[whole[i]] = 0;
  int count = 0;
  for (auto &[key, value] : number) value = count++;
  place->clear();
  for (std::size_t i = 0; i < whole.size(); i += static_cast<std::size_t>(plan.bs))
    place->push_back(number[whole[i]]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::test
