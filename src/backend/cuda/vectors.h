// Between a user's arrays and the vectors of a sweep, on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "backend/cuda/gather_groups.h"
#include "core/plan.h"

namespace mcpi::cuda {

// Arrays are columns with leading dimension ld in the matrix's row order; vectors are in plan
// order.
struct VectorArgs {
  const Row *row_of, *plan_row; // matrix row of a plan row, and back
  const void *diagonal;         // inverse diagonal blocks (diagonal.cuh), applied if not null
  const double
      *scale; // by component, multiplies what is read (load) or written (store) if diagonal is null
  bool transposed, divide; // of diagonal; by the scale
  double factor;           // of all that is read or written
  Row rows;
  int bs, nrhs;
  long long ld;
  unsigned rows_per_block; // set at the launch
  GatherGroupArgs groups;
};

// Whether this file's kernels, and so all that are compiled with it, have code for the device in
// use
bool runs_on_device();

void load_vector(VectorArgs args, bool double_vectors, const double *array, void *vector,
                 cudaStream_t stream);
// The bfp16 copy of entries (block rows and right-hand sides) of x: packed for small blocks, the
// rounded values as floats for large ones
void round_vector(const float *x, std::size_t entries, int bs, bool packed, void *copy,
                  cudaStream_t stream);
void store_vector(VectorArgs args, bool double_vectors, const void *vector, double *array,
                  cudaStream_t stream);

} // namespace mcpi::cuda
