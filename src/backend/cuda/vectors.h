// Copies between a user's arrays and the vectors of a sweep, on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "backend/device/backend_terms.h"
#include "backend/device/shapes.h"
#include "core/plan.h"
#include "cuda/memory.h"
#include "cuda/tuning_hopper.h"

namespace mcpi::cuda {
using namespace device;

// Gather groups: rows of all colors that lie at similar places of their colors. Such rows are
// neighbors in the mesh, so their entries in a user's array lie near each other, too. A right-hand
// side is brought to plan order group by group, so that both arrays are read and written in long
// runs.

// Consecutive plan rows, of which groups are made. The narrow diagonal blocks of a unit fill whole
// pieces of 16 bytes.
constexpr unsigned kUnit = Tuning::kGroupUnit;

// Rows of a group, which one thread block takes. 0: bs is too large for groups.
constexpr unsigned group_rows(int bs)
{
  return bs <= kMaxSmallBlock ? Tuning::kGroupComponents / static_cast<unsigned>(bs) / kUnit * kUnit
                              : 0;
}

// All groups, one after the other, with group_rows() rows each. Arrays are on the host, on the
// device, or pointers to those on the device.
template <template <class> class Array> struct GroupArrays {
  // Number of each unit: unit u has the plan rows from u*kUnit on. If the last group lacks units,
  // their numbers lie behind all rows.
  Array<std::uint32_t> units;
  Array<Row> rows; // rows of the user's array, ascending in a group; -1 after the last one
  // for each of these rows, its place among the plan rows of the group's units
  Array<std::uint16_t> slots;
};
template <class T> using HostArray = std::vector<T>;
template <class T> using Pointer = const T *;
using GatherGroups = GroupArrays<HostArray>;
GatherGroups make_gather_groups(const ColorPlan &plan);

// The arguments of these copies. Arrays are columns in the matrix's row order. Vectors are in plan
// order.
struct VectorArgs : VectorTerms {
  const Row *plan_row = nullptr; // plan row of a matrix row
  unsigned rows_per_block = 0;   // set by load_vector() and store_vector()
  GroupArrays<Pointer> groups{}; // for load_vector()
};

// User's arrays on their way from and to vectors. Arrays in host memory are staged.
class UserArrays {
public:
  std::size_t bytes() const { return staging_.bytes(); }

  // Makes the stream wait for what the user's stream has done to the arrays.
  void join(void *users, cudaStream_t stream)
  {
    MCPI_CUDA(cudaEventRecord(ready_, static_cast<cudaStream_t>(users)));
    MCPI_CUDA(cudaStreamWaitEvent(stream, ready_, 0));
  }
  // Returns the columns in device memory, and sets their leading dimension.
  const double *on_device(const ConstColumns &columns, VectorTerms &terms, cudaStream_t stream)
  {
    if (columns.device) return columns.data;
    double *staged = stage(terms);
    for (int r = 0; r < terms.nrhs; ++r)
      MCPI_CUDA(cudaMemcpyAsync(staged + r * terms.ld, columns.data + r * columns.ld,
                                static_cast<std::size_t>(terms.ld) * sizeof(double),
                                cudaMemcpyHostToDevice, stream));
    MCPI_CUDA(cudaEventRecord(copied_, stream));
    copying_ = true;
    return staged;
  }
  // Calls launch(array), which launches what stores columns in an array in device memory.
  template <class Launch>
  void store(const MutableColumns &columns, VectorTerms &terms, void *users, cudaStream_t stream,
             const Launch &launch)
  {
    if (columns.device) {
      launch(columns.data);
      MCPI_CUDA(cudaEventRecord(done_, stream));
      MCPI_CUDA(cudaStreamWaitEvent(static_cast<cudaStream_t>(users), done_, 0));
      // The caller may now free the array that was copied.
      if (std::exchange(copying_, false)) MCPI_CUDA(cudaEventSynchronize(copied_));
      return;
    }
    double *staged = stage(terms);
    launch(staged);
    for (int r = 0; r < terms.nrhs; ++r)
      MCPI_CUDA(cudaMemcpyAsync(columns.data + r * columns.ld, staged + r * terms.ld,
                                static_cast<std::size_t>(terms.ld) * sizeof(double),
                                cudaMemcpyDeviceToHost, stream));
    MCPI_CUDA(cudaStreamSynchronize(stream));
  }

private:
  double *stage(VectorTerms &terms)
  {
    const std::size_t local = static_cast<std::size_t>(terms.rows) * terms.bs;
    terms.ld = static_cast<long long>(local);
    staging_.resize(local * terms.nrhs);
    return staging_.data();
  }

  DeviceArray<double> staging_; // columns of host arrays
  Event ready_, done_, copied_;
  bool copying_ = false; // whether a host array is being copied; copied_ tells the end
};

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
