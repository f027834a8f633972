// Copies between a user's arrays and the vectors of a sweep, on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "backend/cuda/gather_groups.h"
#include "core/plan.h"

namespace mcpi::cuda {

// The arguments of these copies. Arrays are columns with leading dimension ld in the matrix's row
// order. Vectors are in plan order.
struct VectorArgs {
  const Row *row_of, *plan_row; // matrix row of a plan row; plan row of a matrix row
  // inverse diagonal blocks (diagonal.cuh) by which the vector is multiplied; may be null
  const void *diagonal;
  // If diagonal is null: a scale for each component, which multiplies what is read (load) or
  // written (store)
  const double *scale;
  bool transposed, divide; // multiply by transposed blocks; divide by the scale
  double factor;           // multiplies all that is read or written
  Row rows;
  int bs, nrhs;
  long long ld;
  unsigned rows_per_block; // set by load_vector() and store_vector()
  GatherGroupArgs groups;  // for load_vector()
};

// Whether the kernels of this file have code for the device in use. All kernels of the library are
// compiled for the same devices.
bool runs_on_device();

// Loads a user's columns (matrix order) into a vector (plan order).
void load_vector(VectorArgs args, bool double_vectors, const double *array, void *vector,
                 cudaStream_t stream);
// Writes the bfp16 copy of x for some entries (block row and right-hand side). packed: mantissas
// and exponents, for small blocks; otherwise the rounded values as floats, for large blocks.
void round_vector(const float *x, std::size_t entries, int bs, bool packed, void *copy,
                  cudaStream_t stream);
// Stores a vector (plan order) in a user's columns (matrix order).
void store_vector(VectorArgs args, bool double_vectors, const void *vector, double *array,
                  cudaStream_t stream);

} // namespace mcpi::cuda
