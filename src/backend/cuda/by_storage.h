// Calls a function template with a storage precision that is known only at run time.
#pragma once

#include "petscmcpitypes.h"

namespace mcpi::cuda {

// Returns function.operator()<storage>().
template <class Function> auto by_storage(PCMCPIPrecision storage, const Function &function)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return function.template operator()<PC_MCPI_PRECISION_FP64>();
  case PC_MCPI_PRECISION_FP16:
    return function.template operator()<PC_MCPI_PRECISION_FP16>();
  case PC_MCPI_PRECISION_BF16:
    return function.template operator()<PC_MCPI_PRECISION_BF16>();
  case PC_MCPI_PRECISION_INT8:
    return function.template operator()<PC_MCPI_PRECISION_INT8>();
  case PC_MCPI_PRECISION_INT4:
    return function.template operator()<PC_MCPI_PRECISION_INT4>();
  case PC_MCPI_PRECISION_FP32:
    break;
  }
  return function.template operator()<PC_MCPI_PRECISION_FP32>();
}

} // namespace mcpi::cuda
