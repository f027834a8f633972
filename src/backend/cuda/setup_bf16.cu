#include "backend/cuda/setup_table.cuh"

template mcpi::cuda::SetupKernel mcpi::cuda::setup_kernel<PC_MCPI_PRECISION_BF16>(int bs,
                                                                                  bool packed);
