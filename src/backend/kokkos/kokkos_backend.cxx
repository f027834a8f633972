// Makes the Kokkos backend for Kokkos' default execution space.
#include "backend/kokkos/kokkos_backend.h"

#include "backend/kokkos/make_backend.h"
#include "backend/kokkos/setup_invert.h"

namespace mcpi {
namespace kokkos {

template void invert_diagonals<Kokkos::DefaultExecutionSpace>(const Kokkos::DefaultExecutionSpace &,
                                                              int, const SetupArgs &);

} // namespace kokkos

std::unique_ptr<Backend> make_kokkos_backend(const ColorPlan &plan, const BackendConfig &config)
{
  using Space = Kokkos::DefaultExecutionSpace;
  return kokkos::make_backend<Space, kokkos::SpaceTraits<Space>::Style>(plan, config);
}

} // namespace mcpi
