// Relaxation with small blocks on a device, stored as block slices. A team of threads takes a tile
// of whole rows. First each thread multiplies some slices and stores the partial products in the
// team's scratch memory. Then each thread sums the partial products of one row, or of one component
// of a row, and updates x.
#pragma once

#include <type_traits>
#include <utility>

#include "backend/kokkos/relax.h"

namespace mcpi::kokkos {

// A range of slices, counted from the first one of a chunk of a tile.
struct Span {
  int first, size;
};

// Returns the part of the slices [begin, end) that lies in the chunk [from, from + count).
KOKKOS_FORCEINLINE_FUNCTION Span span_in(int begin, int end, int from, int count)
{
  const int first = begin > from ? begin : from, last = end < from + count ? end : from + count;
  return {first - from, last > first ? last - first : 0};
}

// A slice as it is stored (backend/device/shapes.h), in a thread's registers.
template <class Space, PCMCPIPrecision storage, int bs> struct BlockSlice {
  static constexpr device::SliceShape shape = device::slice_shape(storage, bs);
  static constexpr int words = shape.bytes / 4;
  std::uint32_t word[words];

  // Loads slice k of a tile that stores count slices. The head word is loaded first, because the
  // loads of x need its column; they start while the numbers are still on their way.
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
  // sum[i] = sum over the slice's columns j of number(i, j) * x[j]
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

// The partial products of a tile's slices in a team's scratch memory, and their sums. If a thread
// sums one component (by_row is false), each component is stored by itself, so that threads with
// different components of a row read different banks. If a thread sums a whole row, up to four
// components of a slice lie side by side. at_once: slices whose partial products are loaded
// together.
template <class T, int bs, int capacity, bool by_row, int at_once> struct PartialProducts {
  // number of groups of four and of two components
  static constexpr int fours = by_row ? bs / 4 : 0, pairs = by_row ? bs % 4 / 2 : 0;
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
  // Calls visit(first component, number of components, their address for slice k) for all groups.
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
  // Adds component i of both triangles' slices in order. The two triangles are added side by side,
  // so that their loads do not wait for each other.
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
  // Adds all components of both triangles' slices in order.
  KOKKOS_FORCEINLINE_FUNCTION void add(Span lower, Span upper, TriangleSums<T> (&sums)[bs]) const
  {
    add_span(lower, [&](int i) -> T & { return sums[i].lower; });
    add_span(upper, [&](int i) -> T & { return sums[i].upper; });
  }
  // Returns component i of slice k.
  KOKKOS_FORCEINLINE_FUNCTION T part(int i, int k) const
  {
    T found = 0;
    for_groups(k, [&](auto first, auto size, const T *group) {
      if (i >= first && i < first + size) found = group[i - first];
    });
    return found;
  }

private:
  // Adds several slices at a time without a branch between them. With branches, threads whose rows
  // have other lengths would take turns.
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

// simple: a kernel with fewer registers for what most sweeps need: one right-hand side, the
// prescaled form, no row with more slices than a team takes at a time.
template <class Space, PCMCPIPrecision storage, class T, int bs, bool simple> struct RelaxSlices {
  static constexpr SliceLaunch launch = slice_launch(storage, sizeof(T) == sizeof(double), bs);
  static constexpr int threads = team_size<Space>(launch.threads);
  static constexpr int capacity = launch.capacity(), each = capacity / threads;
  static constexpr bool by_row = launch.by_row;
  static constexpr int own = by_row ? bs : 1; // components that a thread sums
  using MySlice = BlockSlice<Space, storage, bs>;
  // slices whose partial products are loaded together, as registers allow
  static constexpr int at_once = SpaceTraits<Space>::teams ? (bs <= 3 ? 4 : bs <= 6 ? 2 : 1) : 1;
  using MyPartials = PartialProducts<T, bs, capacity, by_row, at_once>;
  using Policy = Kokkos::TeamPolicy<
      Space,
      Kokkos::LaunchBounds<threads, simple && SpaceTraits<Space>::teams ? launch.resident : 1>>;
  using Member = typename Policy::member_type;
  // Bytes of scratch memory: partial products, the sums of a row that has more slices than a team
  // takes at a time, and residuals for the factored form
  static KOKKOS_FUNCTION std::size_t scratch_bytes(unsigned flags)
  {
    return MyPartials::bytes + 2 * bs * sizeof(T) +
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

  // Loads a thread's slices of a chunk.
  KOKKOS_FORCEINLINE_FUNCTION void load(const Member &team, const Tile &tile, int chunk,
                                        MySlice (&slice)[each]) const
  {
    MCPI_UNROLL
    for (int u = 0; u < each; ++u)
      if (const int k = chunk + team.team_rank() + u * threads; k < tile.end)
        slice[u].load(tile.blocks, static_cast<std::uint32_t>(tile.stored),
                      static_cast<std::uint32_t>(k));
  }

  // Multiplies a thread's slices by x and stores the partial products.
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
    if (tile.rows > 1) { // A single row may have more slices than these numbers can count.
      const device::RowEnds *of_row = args.ends + tile.row + my_row;
      ends.to = of_row[0];
      if (my_row > 0) ends.from = of_row[-1];
    }
    return ends;
  }
  // Where the row's slices lie in a chunk
  KOKKOS_FORCEINLINE_FUNCTION void spans(const Tile &tile, const Ends &ends, int chunk, Span &lower,
                                         Span &upper) const
  {
    lower = span_in(ends.from.lower, tile.rows > 1 ? ends.to.lower : tile.lower, chunk, capacity);
    upper = span_in(tile.lower + ends.from.upper,
                    tile.lower + (tile.rows > 1 ? ends.to.upper : tile.upper), chunk, capacity);
    if (!(args.flags & kLower)) lower.size = 0; // A triangle that is not read has no slices here.
    if (!(args.flags & kUpper)) upper.size = 0;
  }

  KOKKOS_FORCEINLINE_FUNCTION std::size_t place(Row row, int r) const
  {
    return (static_cast<std::size_t>(row) * nrhs() + static_cast<std::size_t>(r)) * bs;
  }

  // Relaxes a tile whose slices the team takes all at once, one right-hand side after the other.
  KOKKOS_FORCEINLINE_FUNCTION void relax_tile(const Member &team, const Tile &tile,
                                              const MyPartials &partials, T *residuals) const
  {
    constexpr int components = by_row ? 1 : bs;
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
    for (int r = 0; r < static_cast<int>(nrhs()); ++r) {
      if (r > 0) team.team_barrier(); // The previous partial products have been summed.
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
          break; // A tile has no more tasks than the team has threads.
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

  // Finishes a task (a row, or one of its components): updates x, or, in the factored form, stores
  // the residual.
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

  // Factored form: multiplies the tile's residuals by inverse diagonal blocks and updates x.
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

  // Relaxes a tile of a single row that has more slices than the team takes at a time.
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
