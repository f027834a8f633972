#include "backend/cuda/relax_table.cuh"

template mcpi::cuda::RelaxKernel
mcpi::cuda::relax_kernel<PC_MCPI_PRECISION_INT8>(const RelaxKind &kind, int bs);
