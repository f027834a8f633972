// Relaxation with blocks above 8, stored as records. A team takes a row. Each of its threads sums
// components. If the team has more threads than the block has rows, several groups of threads share
// the columns of each block: group g takes the columns g, g + groups, ... The sums of the groups
// are added in order.
#pragma once

#include "backend/kokkos/kernels.h"

namespace mcpi::kokkos {

// Reads ptr, col, blocks, read, rhs, kept and diagonal; writes x and kept. The kernel begins after
// the previous launch has ended.
template <class Space, PCMCPIPrecision storage, class T> struct RelaxRecords {
  static constexpr int threads = team_size<Space>(kLargeTeam);
  using Policy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<threads, 0>>;
  using Member = typename Policy::member_type;

  RelaxArgs args;

  // Groups of threads
  static MCPI_HD int groups(int bs)
  {
    const int wanted = threads / bs;
    return wanted < 1 ? 1 : wanted > bs ? bs : wanted;
  }
  // Bytes of scratch memory: each group's sums over both triangles, and the residual
  static KOKKOS_FUNCTION std::size_t scratch_bytes(int bs)
  {
    return static_cast<std::size_t>(bs) * static_cast<std::size_t>(2 * groups(bs) + 1) * sizeof(T) +
           16;
  }

  KOKKOS_FUNCTION void operator()(const Member &team) const
  {
    const int bs = args.shape.bs;
    const Row row = args.begin + team.league_rank();
    T *scratch =
          static_cast<T *>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(bs) - 16, 16)),
      *value = scratch + 2 * groups(bs) * bs;
    for (int r = 0; r < args.nrhs; ++r) {
      for (int task = team.team_rank(); task < bs * groups(bs); task += threads) {
        const int i = task % bs, group = task / bs;
        T *sums = scratch + 2 * group * bs + i;
        sums[0] = args.flags & kLower ? triangle_sum(0, row, r, i, group) : T(0);
        sums[bs] = args.flags & kUpper ? triangle_sum(1, row, r, i, group) : T(0);
      }
      team.team_barrier();
      const std::size_t at = (static_cast<std::size_t>(row) * static_cast<std::size_t>(args.nrhs) +
                              static_cast<std::size_t>(r)) *
                             static_cast<std::size_t>(bs);
      const T *rhs = static_cast<const T *>(args.rhs) + at;
      for (int i = team.team_rank(); i < bs; i += threads) {
        TriangleSums<T> sums;
        for (int group = 0; group < groups(bs); ++group) {
          sums.lower += scratch[2 * group * bs + i];
          sums.upper += scratch[(2 * group + 1) * bs + i];
        }
        value[i] =
            residual<T>(args, rhs[i], sums, kept_sum<T>(args, at + static_cast<std::size_t>(i)),
                        at + static_cast<std::size_t>(i));
        if (!(args.flags & kFactored))
          store_component<T>(args, value[i], at + static_cast<std::size_t>(i));
      }
      team.team_barrier();
      if (args.flags & kFactored) {
        for (int i = team.team_rank(); i < bs; i += threads)
          store_component<T>(args,
                             apply_diagonal<0, T>(args, static_cast<std::size_t>(row), i,
                                                  [&](int j) { return value[j]; }),
                             at + static_cast<std::size_t>(i));
        team.team_barrier();
      }
    }
  }

private:
  // Component i of a row's products over one triangle, for the columns group, group + groups, ...
  // of each block
  MCPI_HD T triangle_sum(int triangle, Row row, int r, int i, int group) const
  {
    const int bs = args.shape.bs, step = groups(bs);
    T sum = 0;
    for (Offset k = args.ptr[triangle][row]; k < args.ptr[triangle][row + 1]; ++k) {
      const std::byte *record =
          args.blocks + static_cast<std::size_t>(k + triangle * args.lowers) * args.shape.record;
      const T *x =
          static_cast<const T *>(args.read) +
          (static_cast<std::size_t>(args.col[triangle][k]) * static_cast<std::size_t>(args.nrhs) +
           static_cast<std::size_t>(r)) *
              static_cast<std::size_t>(bs);
      T factor = 1;
      if constexpr (has_exponent(storage))
        factor = power_of_two<T>(static_cast<std::int8_t>(*record++));
      for (int j = group; j < bs; j += step)
        sum += number(record, args.shape.in_record(i, j)) * (factor * x[j]);
    }
    return sum;
  }

  // Number n of a record
  static MCPI_HD T number(const std::byte *record, std::size_t n)
  {
    if constexpr (storage == PC_MCPI_PRECISION_INT4) {
      const auto two = static_cast<std::uint8_t>(record[n / 2]);
      return decoded<storage, T>(static_cast<std::uint8_t>(n % 2 ? two >> 4 : two & 15));
    } else {
      return decoded<storage, T>(reinterpret_cast<const Raw<storage> *>(record)[n]);
    }
  }
};

template <class Space, PCMCPIPrecision storage, class T>
void relax_records(const Space &space, const RelaxArgs &args)
{
  using Kernel = RelaxRecords<Space, storage, T>;
  typename Kernel::Policy policy(space, args.end - args.begin, Kernel::threads);
  policy.set_scratch_size(0,
                          Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(args.shape.bs))));
  Kokkos::parallel_for("mcpi relax", policy, Kernel{args});
}

} // namespace mcpi::kokkos
