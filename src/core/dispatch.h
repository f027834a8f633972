// Calls function templates with choices that are known only at run time: storage precision, vector
// precision, block size. Templates are selected by these functions and in no other way.
#pragma once

#include "petscmcpitypes.h"

namespace mcpi {

// Returns function.operator()<storage>().
template <class Function> auto with_precision(PCMCPIPrecision storage, const Function &function)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return function.template operator()<PC_MCPI_PRECISION_FP64>();
  case PC_MCPI_PRECISION_FP16:
    return function.template operator()<PC_MCPI_PRECISION_FP16>();
  case PC_MCPI_PRECISION_INT8:
    return function.template operator()<PC_MCPI_PRECISION_INT8>();
  case PC_MCPI_PRECISION_INT4:
    return function.template operator()<PC_MCPI_PRECISION_INT4>();
  case PC_MCPI_PRECISION_FP32:
  case PC_MCPI_PRECISION_AUTO:
    break;
  }
  return function.template operator()<PC_MCPI_PRECISION_FP32>();
}

// Returns function.operator()<value>().
template <class Function> auto with_bool(bool value, const Function &function)
{
  if (value) return function.template operator()<true>();
  return function.template operator()<false>();
}

// Returns function.operator()<T>() with T = double or float. Vectors are double if blocks are.
template <PCMCPIPrecision storage, class Function>
auto with_vectors(bool double_vectors, const Function &function)
{
  if constexpr (storage != PC_MCPI_PRECISION_FP64)
    if (!double_vectors) return function.template operator()<float>();
  return function.template operator()<double>();
}

// Returns function.operator()<bs>() if first <= bs <= last, otherwise function.operator()<0>().
template <int first, int last, class Function>
auto with_block_size(int bs, const Function &function)
{
  if constexpr (first > last) {
    return function.template operator()<0>();
  } else {
    if (bs == first) return function.template operator()<first>();
    return with_block_size<first + 1, last>(bs, function);
  }
}

} // namespace mcpi
