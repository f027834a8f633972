#include "backend/kokkos/kernels_table.h"

MCPI_KOKKOS_KERNELS(PC_MCPI_PRECISION_FP64)
