#include "backend/cuda/relax_table.cuh"

template mcpi::cuda::RelaxKernel
mcpi::cuda::relax_kernel<PC_MCPI_PRECISION_FP64>(const RelaxKind &kind, int bs);
