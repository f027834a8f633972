// This file makes the loops for the cores of a rank.
#include <utility>

#include "loops-inl.h"
#include "space_cores.h"

namespace flow {

template <int dim>
PetscErrorCode MakeLoopsOnCores(const Arrays<dim, HostArray> &arrays, int threads,
                                std::unique_ptr<Loops<dim>> *loops)
{
  auto made = std::make_unique<LoopsOn<dim, Cores>>(threads);

  PetscFunctionBeginUser;
  PetscCall(made->create(arrays));
  *loops = std::move(made);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode MakeLoopsOnCores<2>(const Arrays<2, HostArray> &, int,
                                            std::unique_ptr<Loops<2>> *);
template PetscErrorCode MakeLoopsOnCores<3>(const Arrays<3, HostArray> &, int,
                                            std::unique_ptr<Loops<3>> *);

} // namespace flow
