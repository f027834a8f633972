// This file makes the loops for a CUDA device.
#include <utility>

#include "loops-inl.h"
#include "space_cuda.h"

namespace flow {

template <int dim>
PetscErrorCode MakeLoopsOnDevice(const Arrays<dim, HostArray> &arrays,
                                 std::unique_ptr<Loops<dim>> *loops)
{
  auto made = std::make_unique<LoopsOn<dim, Device>>();

  PetscFunctionBeginUser;
  PetscCall(made->create(arrays));
  *loops = std::move(made);
  PetscFunctionReturn(PETSC_SUCCESS);
}

template PetscErrorCode MakeLoopsOnDevice<2>(const Arrays<2, HostArray> &,
                                             std::unique_ptr<Loops<2>> *);
template PetscErrorCode MakeLoopsOnDevice<3>(const Arrays<3, HostArray> &,
                                             std::unique_ptr<Loops<3>> *);

} // namespace flow
