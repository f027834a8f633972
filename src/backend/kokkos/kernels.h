// The table of kernels for one storage precision. Each storage precision is compiled in a file of
// its own, for every execution space in use.
#pragma once

#include "backend/kokkos/relax.h"
#include "backend/kokkos/setup.h"

namespace mcpi::kokkos {

// Relaxation, conversion of off-diagonal blocks, records for other ranks, transposed blocks
template <class Space> struct Kernels {
  RelaxFn<Space> relax;
  ConvertFn<Space> convert;
  RecordsFn<Space> read_records, write_transposed;
};

// Returns the kernels for a storage precision, a vector precision and a block size.
template <class Space, class Style, PCMCPIPrecision storage>
Kernels<Space> kernels(bool double_vectors, int bs);

template <class Space, class Style>
Kernels<Space> kernels(PCMCPIPrecision storage, bool double_vectors, int bs)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return kernels<Space, Style, PC_MCPI_PRECISION_FP64>(double_vectors, bs);
  case PC_MCPI_PRECISION_FP32:
    return kernels<Space, Style, PC_MCPI_PRECISION_FP32>(double_vectors, bs);
  case PC_MCPI_PRECISION_FP16:
    return kernels<Space, Style, PC_MCPI_PRECISION_FP16>(double_vectors, bs);
  case PC_MCPI_PRECISION_BF16:
    return kernels<Space, Style, PC_MCPI_PRECISION_BF16>(double_vectors, bs);
  case PC_MCPI_PRECISION_INT8:
    return kernels<Space, Style, PC_MCPI_PRECISION_INT8>(double_vectors, bs);
  default:
    return kernels<Space, Style, PC_MCPI_PRECISION_INT4>(double_vectors, bs);
  }
}

} // namespace mcpi::kokkos
