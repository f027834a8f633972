// Relaxation with small blocks on a device: a team of threads takes a tile of whole rows, each
// thread some slices, then each a row or a component of one.
#pragma once

#include <type_traits>
#include <utility>

#include "backend/kokkos/relax.h"

namespace mcpi::kokkos {

// Part of a row's slices in a chunk of the tile's
struct Span {
  int first, size;
};

// Of the slices [begin, end) those in [from, from + count), as places in the chunk
KOKKOS_FORCEINLINE_FUNCTION Span span_in(int begin, int end, int from, int count)
{
  const int first = begin > from ? begin : from, last = end < from + count ? end : from + count;
  return {first - from, last > first ? last - first : 0};
}

template <class Space, PCMCPIPrecision storage, int bs> struct BlockSlice {
  static constexpr device::SliceShape shape = device::slice_shape(storage, bs);
  static constexpr int words = shape.bytes / 4;
  std::uint32_t word[words];

  // BlockSlice k of a tile of count stored slices. The column comes first: what it leads to is
  // loaded while the numbers are still on their way.
  KOKKOS_FORCEINLINE_FUNCTION void load(const std::byte *tile, std::uint32_t count, std::uint32_t k)
  {
    using Traits = SpaceTraits<Space>;
    constexpr int pieces = shape.pieces();
    const Words4 *piece = reinterpret_cast<const Words4 *>(tile) + k;
    const std::byte *rest = tile + static_cast<std::size_t>(pieces) * device::kPiece * count;
    if constexpr ((shape.bytes & 4) != 0) {
      const std::byte *last =
          rest + ((shape.bytes & 8) != 0 ? static_cast<std::size_t>(8) * count : 0);
      word[words - 1] = Traits::load_once(reinterpret_cast<const std::uint32_t *>(last) + k);
    }
    if constexpr ((shape.bytes & 8) != 0) {
      const Words2 w = Traits::load_once(reinterpret_cast<const Words2 *>(rest) + k);
      MCPI_UNROLL
      for (int n = 0; n < 2; ++n) word[4 * pieces + n] = w.v[n];
    }
    MCPI_UNROLL
    for (int q = pieces - 1; q >= 0; --q) {
      const Words4 w = Traits::load_once(piece + static_cast<std::size_t>(q) * count);
      MCPI_UNROLL
      for (int n = 0; n < 4; ++n) word[4 * q + n] = w.v[n];
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION Row column() const { return static_cast<Row>(word[words - 1]); }
  KOKKOS_FORCEINLINE_FUNCTION int exponent() const
  {
    constexpr int at = shape.numbers;
    return static_cast<std::int8_t>(word[at / 4] >> (8 * (at % 4)));
  }
  // sum[i] = over its columns j of number(i, j) * x[j]
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(const T (&x)[shape.columns], T (&sum)[bs]) const
  {
    MCPI_UNROLL
    for (int i = 0; i < bs; ++i) sum[i] = 0;
    MCPI_UNROLL
    for (int j = 0; j < shape.columns; ++j) {
      MCPI_UNROLL
      for (int i = 0; i < bs; ++i) sum[i] += number<storage, T>(word, j * bs + i) * x[j];
    }
    if constexpr (device::has_exponent(storage)) {
      const T scale = power_of_two<T>(exponent());
      MCPI_UNROLL
      for (int i = 0; i < bs; ++i) sum[i] *= scale;
    }
  }
};

// The slices' products on their way to the rows' sums in a team's scratch memory: each component by
// itself, so that threads with the components of a row read different banks; where threads sum
// whole rows, up to four components of a slice side by side. at_once: slices whose parts are
// loaded together
template <class T, int bs, int capacity, bool by_row, int at_once> struct PartialProducts {
  static constexpr int fours = by_row ? bs / 4 : 0,
                       pairs = by_row ? bs % 4 / 2 : 0; // how many groups of so many components
  static constexpr int groups = fours + pairs + (bs - 4 * fours - 2 * pairs);
  static constexpr int stride = by_row ? capacity : capacity + 1;
  static constexpr std::size_t bytes =
      (static_cast<std::size_t>(bs) * stride * sizeof(T) + 15) / 16 * 16;

  T *value;

  static constexpr int size_of(int group)
  {
    return group < fours ? 4 : group < fours + pairs ? 2 : 1;
  }
  static constexpr int first_of(int group)
  {
    int first = 0;
    for (int g = 0; g < group; ++g) first += size_of(g);
    return first;
  }
  // Calls visit(first component, how many, where they are of slice k) for all groups.
  template <class Visit, int... g>
  KOKKOS_FORCEINLINE_FUNCTION void for_groups(int k, const Visit &visit,
                                              std::integer_sequence<int, g...>) const
  {
    (visit(std::integral_constant<int, first_of(g)>(), std::integral_constant<int, size_of(g)>(),
           value + first_of(g) * stride + size_of(g) * k),
     ...);
  }
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_groups(int k, const Visit &visit) const
  {
    for_groups(k, visit, std::make_integer_sequence<int, groups>());
  }
  KOKKOS_FORCEINLINE_FUNCTION void store(int k, const T (&y)[bs]) const
  {
    for_groups(k, [&](auto first, auto size, T *group) {
      T v[size];
      MCPI_UNROLL
      for (int n = 0; n < size; ++n) v[n] = y[first + n];
      store_run(v, group);
    });
  }
  // Adds component i of both triangles in order, side by side: their loads do not wait for each
  // other.
  KOKKOS_FORCEINLINE_FUNCTION void add(Span lower, Span upper, int i,
                                       TriangleSums<T> (&sums)[1]) const
  {
    const T *low = value + i * stride + lower.first, *up = value + i * stride + upper.first;
    const int size = lower.size > upper.size ? lower.size : upper.size;
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#pragma unroll 4
#endif
    for (int k = 0; k < size; ++k) {
      if (k < lower.size) sums[0].lower += low[k];
      if (k < upper.size) sums[0].upper += up[k];
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void add(Span lower, Span upper, TriangleSums<T> (&sums)[bs]) const
  {
    add_span(lower, [&](int i) -> T & { return sums[i].lower; });
    add_span(upper, [&](int i) -> T & { return sums[i].upper; });
  }
  // Component i of slice k
  KOKKOS_FORCEINLINE_FUNCTION T part(int i, int k) const
  {
    T found = 0;
    for_groups(k, [&](auto first, auto size, const T *group) {
      if (i >= first && i < first + size) found = group[i - first];
    });
    return found;
  }

private:
  // Several slices at a time without a branch: rows of other lengths beside it would take their
  // turns.
  template <class Sum> KOKKOS_FORCEINLINE_FUNCTION void add_span(Span span, const Sum &sum) const
  {
    const int last = span.first + span.size;
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#pragma unroll(at_once > 1 ? 1 : 4)
#endif
    for (int k = span.first; k < last; k += at_once) {
      T v[at_once][bs];
      MCPI_UNROLL
      for (int n = 0; n < at_once; ++n)
        if (k + n < last) load(k + n, v[n]);
      MCPI_UNROLL
      for (int n = 0; n < at_once; ++n)
        if (k + n < last) {
          MCPI_UNROLL
          for (int i = 0; i < bs; ++i) sum(i) += v[n][i];
        }
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void load(int k, T (&y)[bs]) const
  {
    for_groups(k, [&](auto first, auto size, const T *group) {
      T v[size];
      load_run(group, v);
      MCPI_UNROLL
      for (int n = 0; n < size; ++n) y[first + n] = v[n];
    });
  }
};

// simple: what most sweeps are, in fewer registers: one right-hand side, the prescaled form, no row
// with more slices than a team takes at a time
template <class Space, PCMCPIPrecision storage, class T, int bs, bool simple> struct RelaxSlices {
  static constexpr SliceLaunch launch = slice_launch(storage, sizeof(T) == sizeof(double), bs);
  static constexpr int threads = team_size<Space>(launch.threads);
  static constexpr int capacity = launch.capacity(), each = capacity / threads;
  static constexpr bool by_row = launch.by_row;
  static constexpr int own = by_row ? bs : 1; // components that a thread sums
  using MySlice = BlockSlice<Space, storage, bs>;
  static constexpr int at_once = SpaceTraits<Space>::teams
                                     ? (bs <= 3   ? 4
                                        : bs <= 6 ? 2
                                                  : 1)
                                     : 1; // slices in a sum; as registers allow
  using MyPartials = PartialProducts<T, bs, capacity, by_row, at_once>;
  using Policy = Kokkos::TeamPolicy<
      Space,
      Kokkos::LaunchBounds<threads, simple && SpaceTraits<Space>::teams ? launch.resident : 1>>;
  using Member = typename Policy::member_type;
  // products, sums of a row that has more slices than a team takes at a time, and residuals of the
  // factored form
  static KOKKOS_FUNCTION std::size_t scratch_bytes(unsigned flags)
  {
    return MyPartials::bytes + 2 * bs * sizeof(T) +
           (flags & kFactored ? static_cast<std::size_t>(capacity) * bs * sizeof(T) : 0) + 16;
  }

  RelaxArgs args;

  // What a team knows of its tile
  struct Tile {
    const std::byte *blocks;
    Row row;
    int rows, lower, upper, stored, begin, end; // slices, those that are read
  };

  KOKKOS_FUNCTION void operator()(const Member &team) const
  {
    SpaceTraits<Space>::let_next_begin();
    const device::Tile head =
        args.tiles[args.first_tile + static_cast<std::uint32_t>(team.league_rank())];
    Tile tile;
    tile.blocks = args.blocks + static_cast<std::size_t>(head.offset) * device::kPiece;
    tile.row = static_cast<Row>(head.row);
    tile.rows = static_cast<int>(device::rows_of(head));
    tile.lower = static_cast<int>(head.rows_lower & device::kLowerMask);
    tile.upper = static_cast<int>(head.upper);
    tile.stored = static_cast<int>(device::stored_slices(head));
    tile.begin = args.flags & kLower ? 0 : tile.lower;
    tile.end = args.flags & kUpper ? tile.lower + tile.upper : tile.lower;
    T *scratch = static_cast<T *>(
        team.team_scratch(0).get_shmem_aligned(scratch_bytes(args.flags) - 16, 16));
    const MyPartials partials{scratch};
    T *long_sums = scratch + MyPartials::bytes / sizeof(T), *residuals = long_sums + 2 * bs;
    if (simple || tile.end - tile.begin <= capacity)
      relax_tile(team, tile, partials, residuals);
    else if constexpr (!simple)
      relax_long_row(team, tile, partials, long_sums, residuals);
  }

private:
  KOKKOS_FORCEINLINE_FUNCTION std::size_t nrhs() const
  {
    return simple ? 1 : static_cast<std::size_t>(args.nrhs);
  }
  KOKKOS_FORCEINLINE_FUNCTION bool factored() const { return !simple && (args.flags & kFactored); }

  KOKKOS_FORCEINLINE_FUNCTION void load(const Member &team, const Tile &tile, int chunk,
                                        MySlice (&slice)[each]) const
  {
    MCPI_UNROLL
    for (int u = 0; u < each; ++u)
      if (const int k = chunk + team.team_rank() + u * threads; k < tile.end)
        slice[u].load(tile.blocks, static_cast<std::uint32_t>(tile.stored),
                      static_cast<std::uint32_t>(k));
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Member &team, const Tile &tile, int chunk, int r,
                                            const MySlice (&slice)[each],
                                            const MyPartials &partials) const
  {
    constexpr int columns = MySlice::shape.columns, slices = MySlice::shape.slices;
    T x[each][columns];
    MCPI_UNROLL
    for (int u = 0; u < each; ++u)
      if (const int k = chunk + team.team_rank() + u * threads; k < tile.end) {
        const int first = slices > 1 ? k % slices * columns : 0;
        const T *from =
            static_cast<const T *>(args.read) +
            (static_cast<std::size_t>(slice[u].column()) * nrhs() + static_cast<std::size_t>(r)) *
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
        slice[u].multiply(x[u], product);
        partials.store(team.team_rank() + u * threads, product);
      }
  }

  // Where a row's slices of both triangles begin and end in its tile
  struct Ends {
    device::RowEnds from{0, 0}, to{0, 0};
  };
  KOKKOS_FORCEINLINE_FUNCTION Ends load_ends(const Tile &tile, int my_row) const
  {
    Ends ends;
    if (tile.rows > 1) { // else there may be more slices than they can count
      const device::RowEnds *of_row = args.ends + tile.row + my_row;
      ends.to = of_row[0];
      if (my_row > 0) ends.from = of_row[-1];
    }
    return ends;
  }
  // and where in a chunk
  KOKKOS_FORCEINLINE_FUNCTION void spans(const Tile &tile, const Ends &ends, int chunk, Span &lower,
                                         Span &upper) const
  {
    lower = span_in(ends.from.lower, tile.rows > 1 ? ends.to.lower : tile.lower, chunk, capacity);
    upper = span_in(tile.lower + ends.from.upper,
                    tile.lower + (tile.rows > 1 ? ends.to.upper : tile.upper), chunk, capacity);
    if (!(args.flags & kLower)) lower.size = 0; // a triangle that is not read has no slices here
    if (!(args.flags & kUpper)) upper.size = 0;
  }

  KOKKOS_FORCEINLINE_FUNCTION std::size_t place(Row row, int r) const
  {
    return (static_cast<std::size_t>(row) * nrhs() + static_cast<std::size_t>(r)) * bs;
  }

  // All slices of the tile at once, for one right-hand side after the other
  KOKKOS_FORCEINLINE_FUNCTION void relax_tile(const Member &team, const Tile &tile,
                                              const MyPartials &partials, T *residuals) const
  {
    constexpr int components = by_row ? 1 : bs;
    MySlice slice[each];
    load(team, tile, tile.begin, slice);
    const int mine = team.team_rank(),
              tasks = tile.rows *
                      components; // the first of a thread's tasks is prepared while the blocks come
    T rhs[own] = {};
    Ends ends;
    if (mine < tasks) {
      ends = load_ends(tile, mine / components);
      load_rhs(tile, mine, 0, rhs);
    }
    SpaceTraits<Space>::await_launched();
    for (int r = 0; r < static_cast<int>(nrhs()); ++r) {
      if (r > 0) team.team_barrier(); // the parts before have been summed
      multiply(team, tile, tile.begin, r, slice, partials);
      team.team_barrier();
      for (int task = mine; task < tasks; task += threads) {
        if (task != mine || (r > 0 && tasks > threads)) ends = load_ends(tile, task / components);
        if (task != mine || r > 0) load_rhs(tile, task, r, rhs);
        Span lower, upper;
        spans(tile, ends, tile.begin, lower, upper);
        TriangleSums<T> sums[own];
        if constexpr (by_row)
          partials.add(lower, upper, sums);
        else
          partials.add(lower, upper, task % bs, sums);
        finish(tile, task, r, rhs, sums, residuals);
        if constexpr (simple && SpaceTraits<Space>::teams)
          break; // a tile has no more rows than the team has threads for them
      }
      if (factored()) {
        team.team_barrier();
        apply_diagonals(team, tile, r, residuals);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_rhs(const Tile &tile, int task, int r, T (&rhs)[own]) const
  {
    const T *from = static_cast<const T *>(args.rhs) +
                    place(tile.row + (by_row ? task : task / bs), r) + (by_row ? 0 : task % bs);
    load_run(from, rhs);
  }

  // Of a row, or of one of its components: x, or in the factored form its residual
  KOKKOS_FORCEINLINE_FUNCTION void finish(const Tile &tile, int task, int r, const T (&rhs)[own],
                                          const TriangleSums<T> (&sums)[own], T *residuals) const
  {
    const int my_row = by_row ? task : task / bs, i = by_row ? 0 : task % bs;
    const std::size_t at = place(tile.row + my_row, r) + static_cast<std::size_t>(i);
    T value[own];
    MCPI_UNROLL
    for (int c = 0; c < own; ++c)
      value[c] = residual<T>(args, rhs[c], sums[c], at + static_cast<std::size_t>(c));
    if (!factored()) return relax_components(args, value, at);
    MCPI_UNROLL
    for (int c = 0; c < own; ++c) residuals[my_row * bs + i + c] = value[c];
  }

  KOKKOS_FORCEINLINE_FUNCTION void apply_diagonals(const Member &team, const Tile &tile, int r,
                                                   const T *residuals) const
  {
    for (int task = team.team_rank(); task < tile.rows * bs; task += threads) {
      const Row row = tile.row + task / bs;
      relax_component<T>(
          args,
          static_cast<T>(apply_diagonal(args.diagonal, row, bs, task % bs, args.flags & kTransposed,
                                        residuals + task / bs * bs)),
          place(row, r) + static_cast<std::size_t>(task % bs));
    }
  }

  // A tile of one row with more slices than the team takes at a time
  KOKKOS_FORCEINLINE_FUNCTION void relax_long_row(const Member &team, const Tile &tile,
                                                  const MyPartials &partials, T *sums,
                                                  T *residuals) const
  {
    SpaceTraits<Space>::await_launched();
    for (int r = 0; r < static_cast<int>(nrhs()); ++r) {
      for (int n = team.team_rank(); n < 2 * bs; n += threads) sums[n] = 0;
      for (int chunk = tile.begin; chunk < tile.end; chunk += capacity) {
        MySlice slice[each];
        load(team, tile, chunk, slice);
        multiply(team, tile, chunk, r, slice, partials);
        team.team_barrier();
        for (int i = team.team_rank(); i < bs; i += threads) {
          Span lower, upper;
          spans(tile, {}, chunk, lower, upper);
          for (int k = 0; k < lower.size; ++k) sums[i] += partials.part(i, lower.first + k);
          for (int k = 0; k < upper.size; ++k) sums[bs + i] += partials.part(i, upper.first + k);
        }
        team.team_barrier();
      }
      const T *rhs = static_cast<const T *>(args.rhs) + place(tile.row, r);
      for (int i = team.team_rank(); i < bs; i += threads) {
        const std::size_t at = place(tile.row, r) + static_cast<std::size_t>(i);
        const T value = residual<T>(args, rhs[i], {sums[i], sums[bs + i]}, at);
        if (factored())
          residuals[i] = value;
        else
          relax_component<T>(args, value, at);
      }
      team.team_barrier();
      if (factored()) {
        apply_diagonals(team, tile, r, residuals);
        team.team_barrier();
      }
    }
  }
};

template <class Kernel, class Space> void launch_slices(const Space &space, const RelaxArgs &args)
{
  if (args.first_tile == args.last_tile) return; // nothing would take what launch_early() does
  typename Kernel::Policy policy(space, static_cast<int>(args.last_tile - args.first_tile),
                                 Kernel::threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(args.flags))));
  SpaceTraits<Space>::launch_early(space);
  // Shared memory for the teams that find registers and no more: the rest is a cache for x. Kokkos
  // does not count the KB that devices keep of each team: of some sizes one or two teams fewer fit
  // (fp32 with bs 4: five of six).
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
