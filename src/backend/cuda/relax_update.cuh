// How every relaxation turns a row's sums into the new x: residual, inverse diagonal block,
// damping.
#pragma once

#include "backend/cuda/diagonal.cuh"
#include "backend/cuda/relax.h"

namespace mcpi::cuda {

// Sums of one component of a row over the two triangles
template <class T> struct TriangleSums {
  T lower = 0, upper = 0;
};

// Returns a component of the row's residual, and keeps a sum or zero as args.flags say. at: the
// component's place in the vectors.
template <class T>
__device__ __forceinline__ T residual(const RelaxArgs &args, T rhs, TriangleSums<T> sums,
                                      std::size_t at)
{
  const bool lower_near = args.flags & kLowerIsNear;
  const T near_sum = lower_near ? sums.lower : sums.upper,
          far_sum = lower_near ? sums.upper : sums.lower;
  T *kept = static_cast<T *>(args.kept);
  T sum = near_sum + far_sum;
  if (args.flags & kUseKept) sum += kept[at];
  if (args.flags & kKeepSum) kept[at] = near_sum;
  if (args.flags & kKeepZero) kept[at] = T(0);
  return rhs - args.alpha.as<T>() * sum;
}

// Returns component i of a row's inverse diagonal block times v, whose components are v(0), v(1),
// ... size: bs if it is known at compile time, otherwise 0.
template <int size = 0, class T, class V>
__device__ __forceinline__ T apply_diagonal(const RelaxArgs &args, std::size_t row, int i,
                                            const V &v)
{
  return static_cast<T>(
      diagonal_product<size, false>(args.diagonal, row, args.bs, i, args.flags & kTransposed, v));
}

// Damps the update by omega, stores it in x if flags contain kReadLater, and returns it.
template <class T>
__device__ __forceinline__ T relax_component(const RelaxArgs &args, T update, std::size_t at)
{
  T *x = static_cast<T *>(args.x) + at;
  const T omega = args.omega.as<T>();
  if (omega != T(1))
    update = args.flags & kFromZero ? omega * update : (T(1) - omega) * *x + omega * update;
  if (args.flags & kReadLater) *x = update;
  return update;
}

} // namespace mcpi::cuda
