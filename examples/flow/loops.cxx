// This file makes the loops for the cores of a rank.
#include <utility>

#include "loops-inl.h"
#include "space_cores.h"

namespace flow {

template <int dim>
PetscErrorCode MakeLoopsOnCores(const Arrays<dim, std::vector> &arrays, int threads,
                                std::unique_ptr<Loops<dim>> *loops)
{
  auto made = std::make_unique<LoopsOn<dim, Cores>>(threads);

  PetscFunctionBeginUser;
  PetscCall(made->create(arrays));
  *loops = std::move(made);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode MakeLoopsOnCores<2>(const Arrays<2, std::vector> &, int,
                                            std::unique_ptr<Loops<2>> *);
template PetscErrorCode MakeLoopsOnCores<3>(const Arrays<3, std::vector> &, int,
                                            std::unique_ptr<Loops<3>> *);

#ifndef FLOW_CUDA
template <int dim>
PetscErrorCode MakeLoopsOnDevice(const Arrays<dim, std::vector> &, std::unique_ptr<Loops<dim>> *)
{
  PetscFunctionBeginUser;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP,
          "this program was compiled without CUDA: use -dm_vec_type standard");
}

template PetscErrorCode MakeLoopsOnDevice<2>(const Arrays<2, std::vector> &,
                                             std::unique_ptr<Loops<2>> *);
template PetscErrorCode MakeLoopsOnDevice<3>(const Arrays<3, std::vector> &,
                                             std::unique_ptr<Loops<3>> *);
#endif

} // namespace flow
