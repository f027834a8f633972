// Copies columns between a user's arrays (matrix order, double) and the vectors of a sweep (plan
// order, vector precision), scaled or multiplied by inverse diagonal blocks.
#include "backend/cuda/vectors.h"

#include <algorithm>
#include <numeric>

#include "backend/cuda/loads.cuh"
#include "backend/device/relax_update.h"
#include "core/dispatch.h"
#include "core/plan_parts.h"
#include "cuda/launch.cuh"

namespace mcpi::cuda {
namespace {

constexpr unsigned kThreads = Tuning::kVectorThreads, kEach = Tuning::kComponentsEach;

// Whether inverse diagonal blocks are narrow. Only the prescaled form multiplies by them here.
template <int size, class T>
constexpr bool narrow = size > 0 && narrow_diagonal(size, sizeof(T) == sizeof(double), true);

// Returns a component of a right-hand side times the power of two of its row's narrow block.
template <int size>
__device__ __forceinline__ float counted(const void *diagonal, std::size_t row, double value)
{
  const float *block =
      static_cast<const float *>(diagonal) + row * static_cast<std::size_t>(size * size + 1);
  return static_cast<float>(value * power_of_two<double>(__float_as_int(block[size * size])));
}

// Returns component i of a narrow block times a right-hand side, computed in float. A conversion of
// each stored number to double would cost as much as four products. The result is not finite if a
// term exceeds the range of float, even if the sum does not. The caller then calls
// diagonal_product().
template <int size, class V>
__device__ __forceinline__ float narrow_product(const void *diagonal, std::size_t row, int i,
                                                const V &counted_value)
{
  const float *block =
      static_cast<const float *>(diagonal) + row * static_cast<std::size_t>(size * size + 1);
  float sum = 0.0F;
#pragma unroll
  for (int j = 0; j < size; ++j) sum += block[j * size + i] * counted_value(j);
  return sum;
}

// Lets a thread block take args.rows_per_block rows and each thread kEach of their components at a
// time. A thread first looks up the partners: the numbers of its rows in the other order. Then it
// calls make(row, partner, right-hand side, component) for each component, then put(row, right-hand
// side, component, value). single: there is one right-hand side.
template <int size, bool single, class Value, class Make, class Put>
__device__ __forceinline__ void for_components(const VectorArgs &args, const Row *partner_of,
                                               const Make &make, const Put &put)
{
  const unsigned bs = static_cast<unsigned>(size > 0 ? size : args.bs),
                 entry = single ? bs : bs * static_cast<unsigned>(args.nrhs);
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * args.rows_per_block;
  const unsigned count =
      static_cast<unsigned>(min(static_cast<std::size_t>(args.rows_per_block), args.rows - first)) *
      entry;
  for (unsigned begin = threadIdx.x; begin < count; begin += kEach * kThreads) {
    Row partner[kEach];
    Value value[kEach];
    // Indices are clamped, so that there is no branch between the loads.
    const auto at = [&](unsigned u) { return min(begin + u * kThreads, count - 1); };
    const auto rhs = [&](unsigned k) { return single ? 0U : k % entry / bs; };
    const auto component = [&](unsigned k) { return static_cast<int>(k % bs); };
#pragma unroll
    for (unsigned u = 0; u < kEach; ++u) partner[u] = partner_of[first + at(u) / entry];
#pragma unroll
    for (unsigned u = 0; u < kEach; ++u)
      value[u] = make(first + at(u) / entry, static_cast<std::size_t>(partner[u]), rhs(at(u)),
                      component(at(u)));
#pragma unroll
    for (unsigned u = 0; u < kEach; ++u)
      if (const unsigned k = begin + u * kThreads; k < count)
        put(first + k / entry, rhs(k), component(k), value[u]);
  }
}

// Reads the user's array in matrix order and writes vector in plan order: args.factor times the
// inverse diagonal blocks' products if args.diagonal is set, otherwise scaled by component.
template <int size, bool single, class T>
__global__ void load_kernel(VectorArgs args, const double *array, T *vector)
{
  const int bs = size > 0 ? size : args.bs, nrhs = single ? 1 : args.nrhs;
  for_components<size, single, T>(
      args, args.row_of,
      [&](std::size_t row, std::size_t matrix_row, unsigned r, int i) {
        const double *in = array + r * args.ld + matrix_row * bs;
        const auto product = [&] {
          return static_cast<T>(args.factor * diagonal_product<size, narrow<size, T>>(
                                                  args.diagonal, row, bs, i, args.transposed,
                                                  [&](int j) { return in[j]; }));
        };
        if (!args.diagonal) return static_cast<T>(args.factor * scaled(args, i, in[i]));
        if constexpr (narrow<size, T>) {
          const float sum = narrow_product<size>(args.diagonal, row, i, [&](int j) {
            return counted<size>(args.diagonal, row, args.factor * in[j]);
          });
          return isfinite(sum) ? sum : product();
        } else {
          return product();
        }
      },
      [&](std::size_t row, unsigned r, int i, T value) {
        vector[(row * nrhs + r) * bs + i] = value;
      });
}

// D^{-1} b for small blocks, one right-hand side and single precision, with which most applications
// begin. A thread block takes a gather group. Bulk copies bring the group's inverse diagonal blocks
// to shared memory while the threads read their entries of b, each once. Writes vector in plan
// order.
template <int size>
__global__ void __launch_bounds__(kThreads)
    load_product(VectorArgs args, const double *array, float *vector)
{
  constexpr unsigned rows = group_rows(size), units = rows / kUnit, record = size * size + 1;
  static_assert(rows * size <= kEach * kThreads);
  __shared__ alignas(16) float blocks[rows * record];
  __shared__ float in[rows * size];
  __shared__ std::uint32_t unit[units];
  __shared__ std::uint64_t barrier;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * rows;
  const auto number = [](unsigned u) { return threadIdx.x + u * kThreads; };
  Row row[kEach];
  unsigned place[kEach];
  double value[kEach];
#pragma unroll
  for (unsigned u = 0; u < kEach; ++u)
    row[u] = number(u) < rows * size ? args.groups.rows[first + number(u) / size] : -1;
#pragma unroll
  for (unsigned u = 0; u < kEach; ++u)
    place[u] = number(u) < rows * size
                   ? args.groups.slots[first + number(u) / size] * size + number(u) % size
                   : 0U;
  if (threadIdx.x < units) unit[threadIdx.x] = args.groups.units[blockIdx.x * units + threadIdx.x];
  const auto all = static_cast<std::uint32_t>(args.rows);
  const std::uint32_t copies = min(units, (all + kUnit - 1) / kUnit - blockIdx.x * units);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&barrier, copies);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x < copies) {
    const std::uint32_t begin = unit[threadIdx.x] * kUnit,
                        bytes =
                            min(kUnit, all - begin) * record * static_cast<unsigned>(sizeof(float));
    bulk_copy(blocks + threadIdx.x * kUnit * record,
              static_cast<const float *>(args.diagonal) + static_cast<std::size_t>(begin) * record,
              (bytes + kPiece - 1) / kPiece * kPiece, &barrier);
  }
#pragma unroll
  for (unsigned u = 0; u < kEach; ++u)
    value[u] =
        row[u] >= 0 ? array[static_cast<std::size_t>(row[u]) * size + number(u) % size] : 0.0;
  barrier_wait(&barrier, 0);
#pragma unroll
  for (unsigned u = 0; u < kEach; ++u)
    if (row[u] >= 0) in[place[u]] = counted<size>(blocks, place[u] / size, args.factor * value[u]);
  __syncthreads();
  const auto plan_row = [&](unsigned k) {
    return static_cast<std::size_t>(unit[k / size / kUnit]) * kUnit + k / size % kUnit;
  };
  unsigned beyond = 0;
#pragma unroll
  for (unsigned u = 0; u < kEach; ++u) {
    const unsigned k = number(u);
    if (k >= rows * size || plan_row(k) >= all) continue;
    const float sum = narrow_product<size>(blocks, k / size, static_cast<int>(k % size),
                                           [&](int j) { return in[k / size * size + j]; });
    if (!isfinite(sum)) beyond |= 1U << u;
    vector[plan_row(k) * size + k % size] = sum;
  }
  for (; beyond != 0; beyond &= beyond - 1) {
    const unsigned k = number(static_cast<unsigned>(__ffs(static_cast<int>(beyond))) - 1);
    const double *b = array + static_cast<std::size_t>(args.row_of[plan_row(k)]) * size;
    vector[plan_row(k) * size + k % size] =
        static_cast<float>(args.factor * diagonal_product<size, true>(
                                             blocks, k / size, size, static_cast<int>(k % size),
                                             false, [&](int j) { return b[j]; }));
  }
}

// Reads vector in plan order and writes the user's array in matrix order. Threads go by the rows of
// the array, because scattered reads cost less than scattered writes. product: the vector is
// multiplied by the diagonal blocks' inverses.
template <int size, bool single, bool product, class T>
__global__ void __launch_bounds__(kThreads, Tuning::kStoreBlocks)
    store_kernel(VectorArgs args, const T *vector, double *array)
{
  const int bs = size > 0 ? size : args.bs, nrhs = single ? 1 : args.nrhs;
  for_components<size, single, double>(
      args, args.plan_row,
      [&](std::size_t, std::size_t row, unsigned r, int i) {
        const T *in = vector + (row * nrhs + r) * bs;
        const auto unscaled = [&](int j) { return args.factor * static_cast<double>(in[j]); };
        if constexpr (product)
          return diagonal_product<size, narrow<size, T>>(args.diagonal, row, bs, i, args.transposed,
                                                         unscaled);
        else
          return scaled(args, i, unscaled(i));
      },
      [&](std::size_t row, unsigned r, int i, double value) {
        array[r * args.ld + row * bs + i] = value;
      });
}

// Calls call<size, single>(grid). size: bs if it is small, otherwise 0. single: one right-hand
// side.
template <class Call> void launch_by_size(VectorArgs &args, const Call &call)
{
  args.rows_per_block = std::max(1U, kEach * kThreads / static_cast<unsigned>(args.bs * args.nrhs));
  const std::size_t grid = grid_of(static_cast<std::size_t>(args.rows), args.rows_per_block);
  with_block_size<1, kMaxSmallBlock>(args.bs, [&]<int size> {
    with_bool(args.nrhs == 1, [&]<bool single> { call.template operator()<size, single>(grid); });
  });
}

// Returns the units sorted by place: the relative position of a unit's first row in its part.
std::vector<std::uint32_t> units_by_place(const ColorPlan &plan)
{
  std::vector<double> places;
  const std::vector<Row> parts = part_begins(plan);
  std::size_t part = 0;
  for (Row row = 0; row < plan.rows; row += static_cast<Row>(kUnit)) {
    while (row >= parts[part + 1]) ++part;
    const Row begin = parts[part], end = parts[part + 1];
    places.push_back(static_cast<double>(row - begin) / static_cast<double>(end - begin));
  }
  std::vector<std::uint32_t> units(places.size());
  std::iota(units.begin(), units.end(), 0U);
  std::stable_sort(units.begin(), units.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return places[a] < places[b]; });
  return units;
}

} // namespace

GatherGroups make_gather_groups(const ColorPlan &plan)
{
  GatherGroups groups;
  const std::size_t most = group_rows(plan.bs), each = most / kUnit;
  if (most == 0) return groups;
  groups.units = units_by_place(plan);
  const std::size_t behind = groups.units.size(), count = (behind + each - 1) / each;
  std::vector<std::size_t> slots;
  groups.units.resize(count * each, static_cast<std::uint32_t>(behind));
  groups.rows.resize(count * most, -1);
  groups.slots.resize(count * most, 0);
  for (std::size_t p = 0; p < count; ++p) {
    const std::uint32_t *units = groups.units.data() + p * each;
    const auto plan_row = [&](std::size_t slot) {
      return static_cast<std::size_t>(units[slot / kUnit]) * kUnit + slot % kUnit;
    };
    const auto row = [&](std::size_t slot) { return plan.row_of[plan_row(slot)]; };
    slots.clear();
    for (std::size_t slot = 0; slot < most; ++slot)
      if (plan_row(slot) < static_cast<std::size_t>(plan.rows)) slots.push_back(slot);
    std::sort(slots.begin(), slots.end(),
              [&](std::size_t a, std::size_t b) { return row(a) < row(b); });
    for (std::size_t k = 0; k < slots.size(); ++k) {
      groups.rows[p * most + k] = row(slots[k]);
      groups.slots[p * most + k] = static_cast<std::uint16_t>(slots[k]);
    }
  }
  return groups;
}

void load_vector(VectorArgs args, bool double_vectors, const double *array, void *vector,
                 cudaStream_t stream)
{
  launch_by_size(args, [&]<int size, bool single>(std::size_t grid) {
    if constexpr (size > 0 && single)
      if (!double_vectors && args.diagonal && !args.transposed) {
        launch(load_product<size>, grid_of(static_cast<std::size_t>(args.rows), group_rows(size)),
               kThreads, stream, args, array, static_cast<float *>(vector));
        return;
      }
    with_vectors<PC_MCPI_PRECISION_FP32>(double_vectors, [&]<class T> {
      launch(load_kernel<size, single, T>, grid, kThreads, stream, args, array,
             static_cast<T *>(vector));
    });
  });
}

void store_vector(VectorArgs args, bool double_vectors, const void *vector, double *array,
                  cudaStream_t stream)
{
  launch_by_size(args, [&]<int size, bool single>(std::size_t grid) {
    with_vectors<PC_MCPI_PRECISION_FP32>(double_vectors, [&]<class T> {
      with_bool(args.diagonal, [&]<bool product> {
        launch(store_kernel<size, single, product, T>, grid, kThreads, stream, args,
               static_cast<const T *>(vector), array);
      });
    });
  });
}

} // namespace mcpi::cuda
