// Relaxation with small blocks on a CPU, stored in the layout sell. A thread takes a tile. SIMD
// instructions work on the rows of the tile, one row in each lane. The kernel reads sell_tiles,
// sell_rows, blocks, read, rhs, kept and diagonal; it writes x and kept. It begins after the
// previous launch has ended.
#pragma once

#include "backend/kokkos/relax.h"
#include "backend/kokkos/simd_vector.h"

namespace mcpi::kokkos {

template <PCMCPIPrecision storage, class T, int bs> struct RelaxSell {
  static constexpr int lanes = kLanes<T>;
  using Sums = T[bs][lanes];

  RelaxArgs args;

  KOKKOS_FUNCTION void operator()(const std::uint32_t t) const
  {
    const SellTile &tile = args.sell_tiles[t];
    // The sums over the triangles are kept apart only if one of them is needed by itself.
    const bool lower = args.flags & kLower, upper = args.flags & kUpper,
               apart = args.flags & kKeepSum;
    for (int r = 0; r < args.nrhs; ++r) {
      Sums low = {}, up = {};
      if (lower && upper && !apart) {
        products<false>(tile, 0, tile.steps, true, r, low);
      } else {
        if (lower) products<true>(tile, 0, tile.lower_steps, true, r, low);
        if (upper) products<true>(tile, tile.upper_begin, tile.steps, false, r, up);
      }
      update(tile, r, low, up);
    }
  }

private:
  // Prefetches the blocks 4096 bytes ahead. Steps lie one after the other in memory, those of the
  // next tiles as well. CPUs themselves prefetch no further than the end of a page.
  static KOKKOS_FORCEINLINE_FUNCTION void fetch_ahead(const std::byte *step, std::size_t bytes)
  {
    constexpr std::size_t kAhead = 4096, kLine = 64;
    for (std::size_t line = 0; line < bytes; line += kLine)
      __builtin_prefetch(step + kAhead + line);
  }
  // Computes the sums over the steps [from, to). masked: only the blocks of one triangle count, the
  // lower one or the upper one.
  template <bool masked>
  KOKKOS_FUNCTION void products(const SellTile &tile, int from, int to, bool lower, int r,
                                Sums &sums) const
  {
    const std::size_t entry = static_cast<std::size_t>(args.nrhs) * bs,
                      step_bytes = args.shape.step_bytes();
    const T *x = static_cast<const T *>(args.read) + static_cast<std::size_t>(r) * bs;
    int first[lanes], last[lanes];
    for (int l = 0; masked && l < lanes; ++l) {
      const SellRow row = args.sell_rows[tile.row + (l < tile.rows ? l : 0)];
      first[l] = lower ? 0 : row.lower;
      last[l] = l < tile.rows ? (lower ? row.lower : row.all) : 0;
    }
    SimdVector<T> sum[bs];
    const std::byte *step = args.blocks + tile.base + static_cast<std::size_t>(from) * step_bytes;
    for (int k = from; k < to; ++k, step += step_bytes) {
      const Row *column = reinterpret_cast<const Row *>(step);
      const auto *power = reinterpret_cast<const std::int8_t *>(step + lanes * sizeof(Row));
      const std::byte *numbers = step + args.shape.step_numbers();
      const T *at[lanes];
      fetch_ahead(step, step_bytes);
      for (int l = 0; l < lanes; ++l) at[l] = x + static_cast<std::size_t>(column[l]) * entry;
#pragma GCC unroll 8
      for (int j = 0; j < bs; ++j) {
        const SimdVector<T> xj = gathered<T>([&](int l) {
          T v = at[l][j];
          if constexpr (masked) v = k >= first[l] && k < last[l] ? v : T(0);
          if constexpr (device::has_exponent(storage)) v *= power_of_two<T>(power[l]);
          return v;
        });
#pragma GCC unroll 8
        for (int i = 0; i < bs; ++i)
          multiply_add(sum[i], stored_numbers<storage, T>(numbers, j * bs + i), xj);
      }
    }
    for (int i = 0; i < bs; ++i) std::memcpy(sums[i], &sum[i], sizeof(sum[i]));
  }

  // Updates x of the tile's rows from the sums over both triangles.
  KOKKOS_FORCEINLINE_FUNCTION void update(const SellTile &tile, int r, const Sums &low,
                                          const Sums &up) const
  {
    const T *rhs = static_cast<const T *>(args.rhs);
    T value[lanes * bs]; // row by row
    for (int l = 0; l < tile.rows; ++l) {
      const std::size_t first =
          (static_cast<std::size_t>(tile.row + l) * static_cast<std::size_t>(args.nrhs) +
           static_cast<std::size_t>(r)) *
          bs;
      for (int i = 0; i < bs; ++i)
        value[l * bs + i] = residual<T>(args, rhs[first + static_cast<std::size_t>(i)],
                                        {low[i][l], up[i][l]}, first + static_cast<std::size_t>(i));
      if (args.flags & kFactored) {
        T v[bs];
        for (int i = 0; i < bs; ++i)
          v[i] = static_cast<T>(apply_diagonal(args.diagonal, tile.row + l, bs, i,
                                               args.flags & kTransposed, value + l * bs));
        for (int i = 0; i < bs; ++i) value[l * bs + i] = v[i];
      }
      for (int i = 0; i < bs; ++i)
        relax_component<T>(args, value[l * bs + i], first + static_cast<std::size_t>(i));
    }
  }
};

template <class Space, PCMCPIPrecision storage, class T, int bs>
void relax_sell(const Space &space, const RelaxArgs &args)
{
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::uint32_t>>;
  Kokkos::parallel_for("mcpi relax", Policy(space, args.first_tile, args.last_tile),
                       RelaxSell<storage, T, bs>{args});
}

} // namespace mcpi::kokkos
