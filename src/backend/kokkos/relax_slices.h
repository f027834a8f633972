// Relaxation with small blocks on a device, stored as block slices. A team of threads takes a tile
// of whole rows. First each thread multiplies some slices and stores the partial products in the
// team's scratch memory. Then each thread sums the partial products of one row, or of one component
// of a row, and updates x.
#pragma once

#include "backend/kokkos/kernels.h"

namespace mcpi::kokkos {

// simple: a kernel with fewer registers for what most sweeps need: one right-hand side, the
// prescaled form, no row with more slices than a team takes at a time.
template <class Space, PCMCPIPrecision storage, class T, int bs, bool simple> struct RelaxSlices {
  static constexpr SliceLaunch launch = slice_launch(storage, sizeof(T) == sizeof(double), bs);
  static constexpr int threads = team_size<Space>(launch.threads);
  static constexpr int capacity = launch.capacity(), each = capacity / threads;
  static constexpr bool by_row = launch.by_row;
  static constexpr int own = by_row ? bs : 1; // components that a thread sums
  using MySlice = BlockSlice<storage, bs, false>;
  // slices whose partial products are loaded together, as registers allow
  static constexpr int at_once = SpaceTraits<Space>::teams ? partials_at_once(bs) : 1;
  using MyPartials = PartialProducts<T, bs, capacity, by_row, at_once>;
  static constexpr std::size_t kPartialBytes =
      static_cast<std::size_t>(round_up(MyPartials::size * static_cast<int>(sizeof(T)), kPiece));
  using Policy = Kokkos::TeamPolicy<
      Space,
      Kokkos::LaunchBounds<threads, simple && SpaceTraits<Space>::teams ? launch.resident : 1>>;
  using Member = typename Policy::member_type;
  // Bytes of scratch memory: partial products, and residuals for the factored form
  static KOKKOS_FUNCTION std::size_t scratch_bytes(unsigned flags)
  {
    return kPartialBytes +
           (flags & kFactored ? static_cast<std::size_t>(capacity) * bs * sizeof(T) : 0) + 16;
  }

  RelaxArgs args;

  // A team's tile. rows, then slices: of the lower and of the upper triangle, those that are
  // stored, and the range [begin, end) of those that are read.
  struct Tile {
    const std::byte *blocks;
    Row row;
    int rows, lower, upper, stored, begin, end;
  };

  // Relaxes a team's tile. Reads tiles, ends, blocks, read, rhs, kept and diagonal; writes x and
  // kept. Before relax_tile() waits for the color before it, it loads all that does not depend on
  // x: slices, ends and right-hand side.
  KOKKOS_FUNCTION void operator()(const Member &team) const
  {
    SpaceTraits<Space>::let_next_begin();
    const device::Tile head =
        args.tiles[args.first_tile + static_cast<std::uint32_t>(team.league_rank())];
    Tile tile;
    tile.blocks = args.blocks + static_cast<std::size_t>(head.offset) * kPiece;
    tile.row = static_cast<Row>(head.row);
    tile.rows = static_cast<int>(rows_of(head));
    tile.lower = static_cast<int>(head.rows_lower & kLowerMask);
    tile.upper = static_cast<int>(head.upper);
    tile.stored = static_cast<int>(stored_slices(head));
    tile.begin = args.flags & kLower ? 0 : tile.lower;
    tile.end = args.flags & kUpper ? tile.lower + tile.upper : tile.lower;
    T *scratch = static_cast<T *>(
        team.team_scratch(0).get_shmem_aligned(scratch_bytes(args.flags) - 16, 16));
    relax_tile(team, tile, MyPartials{scratch}, scratch + kPartialBytes / sizeof(T));
  }

private:
  MCPI_HD std::size_t nrhs() const { return simple ? 1 : static_cast<std::size_t>(args.nrhs); }
  MCPI_HD bool factored() const { return !simple && (args.flags & kFactored); }

  // Loads a thread's slices of a chunk.
  MCPI_HD void load(const Member &team, const Tile &tile, int chunk, MySlice (&slice)[each]) const
  {
    MCPI_UNROLL
    for (int u = 0; u < each; ++u)
      if (const int k = chunk + team.team_rank() + u * threads; k < tile.end)
        slice[u].load(tile.blocks, static_cast<std::uint32_t>(tile.stored),
                      static_cast<std::uint32_t>(k));
  }

  // Multiplies a thread's slices by x and stores the partial products.
  MCPI_HD void multiply(const Member &team, const Tile &tile, int chunk, int r,
                        const MySlice (&slice)[each], const MyPartials &partials) const
  {
    constexpr int columns = MySlice::shape.columns, slices = MySlice::shape.slices;
    T x[each][columns];
    MCPI_UNROLL
    for (int u = 0; u < each; ++u)
      if (const int k = chunk + team.team_rank() + u * threads; k < tile.end) {
        const int first = slices > 1 ? k % slices * columns : 0;
        const T *from =
            static_cast<const T *>(args.read) +
            (static_cast<std::size_t>(slice[u].column({})) * nrhs() + static_cast<std::size_t>(r)) *
                bs +
            first;
        if constexpr (slices == 1) {
          load_run(from, x[u]);
        } else {
          MCPI_UNROLL
          for (int j = 0; j < columns; ++j)
            x[u][j] = slices * columns == bs || first + j < bs ? from[j] : T(0);
        }
      }
    MCPI_UNROLL
    for (int u = 0; u < each; ++u)
      if (chunk + team.team_rank() + u * threads < tile.end) {
        T product[bs];
        slice[u].multiply([&](int j) { return x[u][j]; }, {}, product);
        partials.store(static_cast<std::uint32_t>(team.team_rank() + u * threads), product);
      }
  }

  // Where a row's slices of both triangles begin and end in its tile
  struct Ends {
    RowEnds from{0, 0}, to{0, 0};
  };
  MCPI_HD Ends load_ends(const Tile &tile, int my_row) const
  {
    Ends ends;
    if (tile.rows > 1) { // A single row may have more slices than these numbers can count.
      const RowEnds *of_row = args.ends + tile.row + my_row;
      ends.to = of_row[0];
      if (my_row > 0) ends.from = of_row[-1];
    }
    return ends;
  }
  // Where the row's slices lie in a chunk
  MCPI_HD void spans(const Tile &tile, const Ends &ends, int chunk, Span &lower, Span &upper) const
  {
    const auto first = static_cast<std::uint32_t>(chunk),
               lowers = static_cast<std::uint32_t>(tile.lower);
    lower =
        span_in<false>(ends.from.lower, tile.rows > 1 ? ends.to.lower : lowers, first, capacity);
    upper = span_in<false>(
        lowers + ends.from.upper,
        lowers + (tile.rows > 1 ? ends.to.upper : static_cast<std::uint32_t>(tile.upper)), first,
        capacity);
    if (!(args.flags & kLower)) lower.size = 0; // A triangle that is not read has no slices here.
    if (!(args.flags & kUpper)) upper.size = 0;
  }

  MCPI_HD std::size_t place(Row row, int r) const
  {
    return (static_cast<std::size_t>(row) * nrhs() + static_cast<std::size_t>(r)) * bs;
  }

  // Relaxes a tile, one right-hand side after the other. The team takes all slices at once, except
  // those of a single row that has too many.
  MCPI_HD void relax_tile(const Member &team, const Tile &tile, const MyPartials &partials,
                          T *residuals) const
  {
    constexpr int components = by_row ? 1 : bs;
    // A thread of a device has one task. On a host it has all, and keeps the sums of a single row.
    constexpr int held = SpaceTraits<Space>::teams ? 1 : components;
    MySlice slice[each];
    load(team, tile, tile.begin, slice);
    // A thread prepares its first task while its blocks are being loaded.
    const int mine = team.team_rank(), tasks = tile.rows * components;
    T rhs[own] = {};
    Ends ends;
    if (mine < tasks) {
      ends = load_ends(tile, mine / components);
      load_rhs(tile, mine, 0, rhs);
    }
    SpaceTraits<Space>::await_launched();
    const bool many = !simple && tile.end - tile.begin > capacity;
    for (int r = 0; r < static_cast<int>(nrhs()); ++r) {
      TriangleSums<T> sums[held][own];
      int chunk = tile.begin;
      do {
        if (!simple && (chunk != tile.begin || r > 0)) {
          if (many) load(team, tile, chunk, slice);
          team.team_barrier(); // The previous partial products have been summed.
        }
        multiply(team, tile, chunk, r, slice, partials);
        team.team_barrier();
        const bool last = simple || chunk + capacity >= tile.end;
        for (int task = mine; task < tasks; task += threads) {
          if (task != mine || (r > 0 && tasks > threads)) ends = load_ends(tile, task / components);
          if (last && (task != mine || r > 0)) load_rhs(tile, task, r, rhs);
          Span lower, upper;
          spans(tile, ends, chunk, lower, upper);
          auto &sum = sums[task % held];
          if (chunk == tile.begin) {
            MCPI_UNROLL
            for (int c = 0; c < own; ++c) sum[c] = {};
          }
          if constexpr (by_row)
            partials.add(lower, upper, sum);
          else
            partials.add(lower, upper, static_cast<unsigned>(task % bs), sum);
          if (last) finish(tile, task, r, rhs, sum, residuals);
          if constexpr (simple && SpaceTraits<Space>::teams)
            break; // A tile has no more tasks than the team has threads.
        }
        chunk += capacity;
      } while (!simple && chunk < tile.end);
      if (factored()) {
        team.team_barrier();
        apply_diagonals(team, tile, r, residuals);
      }
    }
  }

  MCPI_HD void load_rhs(const Tile &tile, int task, int r, T (&rhs)[own]) const
  {
    const T *from = static_cast<const T *>(args.rhs) +
                    place(tile.row + (by_row ? task : task / bs), r) + (by_row ? 0 : task % bs);
    load_run(from, rhs);
  }

  // Finishes a task (a row, or one of its components): updates x, or, in the factored form, stores
  // the residual.
  MCPI_HD void finish(const Tile &tile, int task, int r, const T (&rhs)[own],
                      const TriangleSums<T> (&sums)[own], T *residuals) const
  {
    const int my_row = by_row ? task : task / bs, i = by_row ? 0 : task % bs;
    const std::size_t at = place(tile.row + my_row, r) + static_cast<std::size_t>(i);
    T value[own];
    MCPI_UNROLL
    for (int c = 0; c < own; ++c)
      value[c] =
          residual<T>(args, rhs[c], sums[c], kept_sum<T>(args, at + static_cast<std::size_t>(c)),
                      at + static_cast<std::size_t>(c));
    if (!factored()) return relax_components(args, value, at);
    MCPI_UNROLL
    for (int c = 0; c < own; ++c) residuals[my_row * bs + i + c] = value[c];
  }

  // Factored form: multiplies the tile's residuals by inverse diagonal blocks and updates x.
  MCPI_HD void apply_diagonals(const Member &team, const Tile &tile, int r,
                               const T *residuals) const
  {
    for (int task = team.team_rank(); task < tile.rows * bs; task += threads) {
      const Row row = tile.row + task / bs;
      store_component<T>(
          args,
          apply_diagonal<bs, T>(args, static_cast<std::size_t>(row), task % bs,
                                [&](int j) { return residuals[task / bs * bs + j]; }),
          place(row, r) + static_cast<std::size_t>(task % bs));
    }
  }
};

template <class Kernel, class Space> void launch_slices(const Space &space, const RelaxArgs &args)
{
  if (args.first_tile == args.last_tile) return; // No kernel would follow launch_early().
  typename Kernel::Policy policy(space, static_cast<int>(args.last_tile - args.first_tile),
                                 Kernel::threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(args.flags))));
  SpaceTraits<Space>::launch_early(space);
  // The desired occupancy makes Kokkos reserve shared memory for as many teams as find registers,
  // and no more. The rest of that memory is a cache for x. Kokkos does not count the KB that a
  // device reserves for each team. For some block sizes, one or two teams fewer fit (fp32 with bs
  // 4: five instead of six).
  Kokkos::parallel_for(
      "mcpi relax",
      Kokkos::Experimental::prefer(policy, Kokkos::Experimental::DesiredOccupancy{100}),
      Kernel{args});
}

template <class Space, PCMCPIPrecision storage, class T, int bs>
void relax_slices(const Space &space, const RelaxArgs &args)
{
  if constexpr (sizeof(T) == sizeof(float))
    if (args.nrhs == 1 && !args.long_rows && !(args.flags & kFactored))
      return launch_slices<RelaxSlices<Space, storage, T, bs, true>>(space, args);
  launch_slices<RelaxSlices<Space, storage, T, bs, false>>(space, args);
}

} // namespace mcpi::kokkos
