// Defines the tables that kernels.h declares. One translation unit for each storage precision
// includes it.
#pragma once

#include "backend/kokkos/kernels.h"
#include "backend/kokkos/relax_records.h"
#include "backend/kokkos/relax_slices.h"
#include "backend/kokkos/setup_blocks.h"
#if !defined(__CUDACC__)
#include "backend/kokkos/relax_sell.h"
#endif

namespace mcpi::kokkos {

template <class Space, class Style, PCMCPIPrecision storage, class T, int bs>
constexpr RelaxFn<Space> small_relax()
{
  if constexpr (Style::small == LayoutKind::sell)
    return relax_sell<Space, storage, T, bs>;
  else
    return relax_slices<Space, storage, T, bs>;
}

template <class Space, class Style, PCMCPIPrecision storage, class T>
RelaxFn<Space> relax_of(int bs)
{
  static constexpr RelaxFn<Space> table[] = {
      relax_records<Space, Style, storage, T>,    small_relax<Space, Style, storage, T, 1>(),
      small_relax<Space, Style, storage, T, 2>(), small_relax<Space, Style, storage, T, 3>(),
      small_relax<Space, Style, storage, T, 4>(), small_relax<Space, Style, storage, T, 5>(),
      small_relax<Space, Style, storage, T, 6>(), small_relax<Space, Style, storage, T, 7>(),
      small_relax<Space, Style, storage, T, 8>(),
  };
  return table[bs <= device::kMaxSmallBlock ? bs : 0];
}

template <class Space, class Style, PCMCPIPrecision storage>
Kernels<Space> kernels(bool double_vectors, int bs)
{
  Kernels<Space> result;
  if constexpr (storage == PC_MCPI_PRECISION_FP64)
    result.relax = relax_of<Space, Style, storage, double>(bs);
  else
    result.relax = double_vectors ? relax_of<Space, Style, storage, double>(bs)
                                  : relax_of<Space, Style, storage, float>(bs);
  result.convert = convert_blocks<Space, Style, storage>;
  result.read_records = read_records<Space, storage>;
  result.write_transposed = write_transposed<Space, storage>;
  return result;
}

} // namespace mcpi::kokkos

// Instantiates the tables for every execution space and style of a build. Tests use Kokkos::Serial
// with both styles.
#define MCPI_KOKKOS_KERNELS_OF(Space, Style, storage)                                              \
  template Kernels<Space> kernels<Space, Style, storage>(bool, int);
#if defined(MCPI_KOKKOS_TEST_STYLES)
#define MCPI_KOKKOS_KERNELS(storage)                                                               \
  namespace mcpi::kokkos {                                                                         \
  MCPI_KOKKOS_KERNELS_OF(Kokkos::Serial, DeviceStyle, storage)                                     \
  MCPI_KOKKOS_KERNELS_OF(Kokkos::Serial, CpuStyle, storage)                                        \
  }
#else
#define MCPI_KOKKOS_KERNELS(storage)                                                               \
  namespace mcpi::kokkos {                                                                         \
  MCPI_KOKKOS_KERNELS_OF(Kokkos::DefaultExecutionSpace,                                            \
                         SpaceTraits<Kokkos::DefaultExecutionSpace>::Style, storage)               \
  }
#endif
