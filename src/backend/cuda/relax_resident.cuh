// Relaxation with large blocks in rows that fit shared memory. One bulk copy brings all blocks of a
// row into shared memory while the kernel waits for the color before it.
#pragma once

#include <numeric>

#include "backend/cuda/loads.cuh"
#include "backend/cuda/relax.h"

namespace mcpi::cuda {

// How a team of threads takes a row. A column of a block is split among `lanes` threads with
// `vector` numbers each, so the team multiplies `slots` columns at a time.
template <PCMCPIPrecision storage, class T, int bs> struct Resident {
  static constexpr int ld = leading_dimension(storage, bs), vector = large_vector(storage, bs),
                       number = static_cast<int>(sizeof(T));
  static constexpr int column = column_bytes(storage, bs),
                       record = record_pieces(storage, bs) * kPiece, gap = record - bs * column;
  static constexpr int lanes = ld / vector, team = Tuning::resident_team(lanes, bs, record);
  static constexpr int slots = team / lanes;

  // Gathering x: a thread loads `width` entries at a time, and `gatherers` threads load the entries
  // of a block. The team loads the entries of `together` blocks at a time, and a thread has `ahead`
  // loads in flight.
  static constexpr int width = std::min(bs % 4 == 0 ? 4 : bs % 2 == 0 ? 2 : 1, 16 / number);
  static constexpr int gatherers = bs / width, together = team / gatherers;
  static constexpr int ahead = Tuning::resident_ahead(width, together);

  // The blocks in shared memory are padded by `gap` bytes. A thread's columns meet the same
  // positions in their blocks again after `repeat` columns. If `repeat` is small, as many columns
  // are loaded together.
  static constexpr int repeat = gap == 0 ? 1 : bs / std::gcd(bs, slots);
  static constexpr int at_once = gap == 0      ? (vector * value_bits(storage) > 64 ? 4 : 8)
                                 : repeat <= 8 ? repeat
                                               : 6;

  // bytes of shared memory: the threads' partial sums; all that a row needs besides blocks and x
  static constexpr int partial_bytes = round_up(team * vector * number, kPiece);
  static constexpr int fixed_bytes = partial_bytes + round_up(bs * number, kPiece) + kPiece;
  static constexpr ResidentShape shape{team, Tuning::resident_rows(team, record), record,
                                       bs *number, fixed_bytes};
};

// Adds to sum the columns slot, slot + slots, ... of a row's blocks times xs. Blocks lie in shared
// memory as records; xs holds the entries of x for all columns of the row.
template <PCMCPIPrecision storage, class T, int bs>
__device__ __forceinline__ void multiply(const std::byte *blocks, const T *xs, int columns,
                                         int lane, int slot, T *sum)
{
  using R = Resident<storage, T, bs>;
  constexpr int at_once = R::at_once;
  using N = Numbers<storage, R::vector>;
  blocks += lane * (R::vector * value_bits(storage) / 8) + slot * R::column;
  N numbers[at_once];
  T x[at_once];
  int c = slot;
  if constexpr (R::gap == 0 || R::repeat <= 8) {
    constexpr int step =
        at_once * R::slots * R::column + (R::gap == 0 ? 0 : at_once * R::slots / bs * R::gap);
    const auto load = [&](int n) {
      numbers[n].load(blocks + n * R::slots * R::column +
                      (R::gap == 0 ? 0 : (slot + n * R::slots) / bs * R::gap));
      x[n] = xs[c + n * R::slots];
    };
    for (; c + (at_once - 1) * R::slots < columns; c += at_once * R::slots, blocks += step) {
#pragma unroll
      for (int n = 0; n < at_once; ++n) load(n);
#pragma unroll
      for (int n = 0; n < at_once; ++n) numbers[n].add_times(x[n], sum);
    }
#pragma unroll
    for (int n = 0; n < at_once - 1; ++n) {
      numbers[n] = {};
      x[n] = 0;
      if (c + n * R::slots < columns) load(n);
    }
#pragma unroll
    for (int n = 0; n < at_once - 1; ++n) numbers[n].add_times(x[n], sum);
  } else {
    constexpr int step = R::slots * R::column + R::slots / bs * R::gap;
    int j = slot % bs;
    blocks += slot / bs * R::gap;
#pragma unroll at_once
    for (; c < columns; c += R::slots) {
      numbers[0].load(blocks);
      numbers[0].add_times(xs[c], sum);
      blocks += step;
      j += R::slots % bs;
      if (j >= bs) {
        j -= bs;
        blocks += R::gap;
      }
    }
  }
}

// Thread blocks of a multiprocessor
template <PCMCPIPrecision storage, class T, int bs> constexpr int resident_blocks()
{
  using R = Resident<storage, T, bs>;
  return Tuning::resident_threads(sizeof(T) == sizeof(double)) / (R::team * R::shape.rows);
}

// Relaxes args.row_count plan rows from args.first_row on; a team takes a row. Reads rows, heads,
// blocks, rhs, kept, diagonal and read; writes x and kept. It is for one right-hand side, for one
// contiguous range of a row's blocks (a single triangle, or both without a kept sum), and for rows
// with at most args.capacity blocks in a thread block.
// Before it waits for the color before it, the kernel loads heads and right-hand side and starts
// the bulk copy of the blocks. After the wait it reads x and kept.
template <PCMCPIPrecision storage, class T, int bs>
__global__ void
__launch_bounds__(Resident<storage, T, bs>::team *Resident<storage, T, bs>::shape.rows,
                  resident_blocks<storage, T, bs>()) relax_resident(LargeArgs args)
{
  using R = Resident<storage, T, bs>;
  using Entries = typename RunOf<T, R::width>::Piece;
  constexpr bool warp = R::team == 32;
  constexpr ResidentShape shape = R::shape;
  // Shared memory: records of all rows; entries of x of all rows; then for each row partial sums,
  // residuals and the barrier of the bulk copy.
  extern __shared__ __align__(128) std::byte memory[];

  cudaTriggerProgrammaticLaunchCompletion();
  const int t = static_cast<int>(threadIdx.x) % R::team,
            in = static_cast<int>(threadIdx.x) / R::team;
  const std::uint32_t place =
      blockIdx.x * static_cast<unsigned>(shape.rows) + static_cast<unsigned>(in);
  if (place >= args.row_count) return;
  const std::size_t row = args.first_row + place;
  const bool lower = args.flags & kLower, upper = args.flags & kUpper;
  const auto load_row = [&](std::size_t r) {
    return __ldg(reinterpret_cast<const uint4 *>(args.rows) + r);
  };
  const auto blocks_of = [&](uint4 r) {
    return static_cast<int>((lower ? r.y : 0U) + (upper ? r.z : 0U));
  };
  const uint4 head = load_row(row);
  int before = 0; // blocks of the earlier rows of this thread block
#pragma unroll
  for (int r = 1; r < shape.rows; ++r)
    if (r <= in) before += blocks_of(load_row(row - static_cast<unsigned>(r)));
  const std::uint32_t begin = head.x + (lower ? 0U : head.y);
  const int count = blocks_of(head), capacity = static_cast<int>(args.capacity);
  std::byte *mine = memory + before * R::record,
            *fixed = memory + shape.fixed_at(capacity) + in * R::fixed_bytes;
  T *xs = reinterpret_cast<T *>(memory + capacity * R::record) + before * bs,
    *partial = reinterpret_cast<T *>(fixed);
  T *residuals = reinterpret_cast<T *>(fixed + R::partial_bytes);
  std::uint64_t *barrier = reinterpret_cast<std::uint64_t *>(fixed + R::fixed_bytes - kPiece);

  // All that does not depend on x is loaded before the kernel waits for the color before it. The
  // heads come first, because the loads of x need them.
  const int k0 = t / R::gatherers, j0 = t % R::gatherers * R::width;
  const auto load_head = [&](int k) {
    return __ldg(reinterpret_cast<const int2 *>(args.heads) + begin + k);
  };
  int2 heads[R::ahead];
#pragma unroll
  for (int a = 0; a < R::ahead; ++a)
    if (const int k = k0 + a * R::together; k0 < R::together && k < count) heads[a] = load_head(k);
  if (t == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    if (count > 0)
      bulk_copy(mine,
                static_cast<const std::byte *>(args.blocks) +
                    static_cast<std::size_t>(begin) * R::record,
                static_cast<std::uint32_t>(count * R::record), barrier);
  }
  const std::size_t at = row * bs + t;
  T my_rhs = 0;
  if (t < bs) my_rhs = static_cast<const T *>(args.rhs)[at];
  cudaGridDependencySynchronize();
  const T my_kept = t < bs ? kept_sum<T>(args, at) : T(0);

  const auto entries = [&](int2 h) {
    const T *x = static_cast<const T *>(args.read) +
                 static_cast<std::size_t>(static_cast<std::uint32_t>(h.x)) * bs;
    Entries v = *reinterpret_cast<const Entries *>(x + j0);
    if constexpr (has_exponent(storage))
#pragma unroll
      for (int i = 0; i < R::width; ++i) v.v[i] *= power_of_two<T>(h.y);
    return v;
  };
  const auto place_of = [&](int k) { return reinterpret_cast<Entries *>(xs + k * bs + j0); };
  if (k0 < R::together) {
    Entries v[R::ahead];
#pragma unroll
    for (int a = 0; a < R::ahead; ++a)
      if (const int k = k0 + a * R::together; k < count) v[a] = entries(heads[a]);
#pragma unroll
    for (int a = 0; a < R::ahead; ++a)
      if (const int k = k0 + a * R::together; k < count) *place_of(k) = v[a];
    for (int k = k0 + R::ahead * R::together; k < count; k += R::together)
      *place_of(k) = entries(load_head(k));
  }
  team_sync<warp>();
  const int slot = t / R::lanes, lane = t % R::lanes;
  if (slot < R::slots) {
    T sum[R::vector] = {};
    if (count > 0) {
      barrier_wait(barrier, 0);
      multiply<storage, T, bs>(mine, xs, count * bs, lane, slot, sum);
    }
#pragma unroll
    for (int i = 0; i < R::vector; ++i) partial[t * R::vector + i] = sum[i];
  }
  team_sync<warp>();
  T update = 0;
  if (t < bs) { // component t, summed over the slots in order
    T total = 0;
#pragma unroll
    for (int s = 0; s < R::slots; ++s) total += partial[s * R::ld + t];
    // A sum that is to be kept is the sum of this range.
    update =
        residual(args, my_rhs, lower ? TriangleSums<T>{total, T(0)} : TriangleSums<T>{T(0), total},
                 my_kept, at);
  }
  if (args.flags & kFactored) {
    if (t < bs) residuals[t] = update;
    team_sync<warp>();
    if (t < bs) update = apply_diagonal<0, T>(args, row, t, [&](int j) { return residuals[j]; });
  }
  if (t < bs) relax_component(args, update, at);
}

} // namespace mcpi::cuda
