// Kernels of one storage precision: conversion of off-diagonal blocks, records of stored blocks,
// and the blocks of a transposed plan.
#pragma once

#include "backend/kokkos/setup.h"

namespace mcpi::kokkos {

// A team takes a row; each thread takes one block of the row after the other. Reads args.values,
// and args.diagonal for the prescaled form. Writes args.blocks and raises args.maxima.
template <class Space, class Style, PCMCPIPrecision storage> struct ConvertBlocks {
  static constexpr int threads = team_size<Space>(Style::setup_team);
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;

  SetupArgs args;

  KOKKOS_FUNCTION void operator()(const Member &team) const
  {
    const Row row = args.begin + team.league_rank();
    const Offset lowers = args.ptr[0][row + 1] - args.ptr[0][row],
                 blocks = lowers + args.ptr[1][row + 1] - args.ptr[1][row];
    for (Offset k = team.team_rank(); k < blocks; k += threads) {
      const Offset stored =
          k < lowers ? args.ptr[0][row] + k : args.lowers + args.ptr[1][row] + k - lowers;
      convert(row,
              args.values +
                  static_cast<std::size_t>(args.blocks_before(row) + 1 + k) * args.square(),
              args.slot(stored));
    }
  }

private:
  // Returns number (p, q) of a block as it is stored, before rounding.
  MCPI_HD double scaled(Row row, const double *in, int p, int q) const
  {
    const int bs = args.shape.bs;
    const double *column = in + q * bs;
    if (!args.prescaled) return args.left[p] * column[p] * args.right[q];
    // The factor left[p] * right[p] turns args.diagonal, which holds D^{-1} divided by right, into
    // D^{-1} times left.
    const double *map = args.diagonal + static_cast<std::size_t>(row) * args.square() + p;
    double sum = 0.0;
    for (int l = 0; l < bs; ++l) sum += map[l * bs] * column[l];
    return sum * (args.left[p] * args.right[p]) * args.right[q];
  }

  // Converts one block: finds its maxima, then stores it if args.store is set.
  KOKKOS_FUNCTION void convert(Row row, const double *in, const Slot &slot) const
  {
    const int bs = args.shape.bs;
    unsigned long long largest = 0;
    for (int q = 0; q < bs; ++q)
      for (int p = 0; p < bs; ++p) {
        const unsigned long long bits = raise_to(args.maxima + p + q * bs, scaled(row, in, p, q));
        largest = bits > largest ? bits : largest;
      }
    if (largest >> 32 >= overflow_from<storage>(args.store)) {
      bool finite = true;
      for (int n = 0; n < bs * bs; ++n) finite = finite && is_finite(in[n]);
      args.report(row, finite ? Defect::unrepresentable : Defect::nonfinite_offdiagonal);
    } else if (args.store) {
      put(row, in, std::bit_cast<double>(largest), slot);
    }
  }

  // Rounds and stores a block.
  KOKKOS_FUNCTION void put(Row row, const double *in, double max_abs, const Slot &slot) const
  {
    const int bs = args.shape.bs;
    int e = 0;
    if constexpr (has_exponent(storage)) {
      e = shared_exponent(max_abs, integer_limit(storage));
      for (int part = 0; part < exponent_copies(args.shape); ++part)
        *exponent_at(args.shape, args.blocks, slot, part) =
            static_cast<std::byte>(static_cast<std::int8_t>(e));
    }
    for (int q = 0; q < bs; ++q)
      for (int p = 0; p < bs; ++p)
        put_number<storage>(args.shape, args.blocks, slot, p, q,
                            number_bits<storage>(scaled(row, in, p, q), e));
  }
};

template <class Space, class Style, PCMCPIPrecision storage>
void convert_blocks(const Space &space, const SetupArgs &args)
{
  using Kernel = ConvertBlocks<Space, Style, storage>;
  if (args.begin < args.end)
    Kokkos::parallel_for("mcpi convert",
                         typename Kernel::Policy(space, args.end - args.begin, Kernel::threads),
                         Kernel{args});
}

// Each thread writes the record of one stored block of the list args.stored.
template <class Space, PCMCPIPrecision storage>
void read_records(const Space &space, const RecordsArgs &args)
{
  Kokkos::parallel_for(
      "mcpi read records", Kokkos::RangePolicy<Space>(space, 0, args.size),
      KOKKOS_LAMBDA(const std::size_t k) {
        const Shape &from = args.from;
        const Offset stored = args.stored[k];
        const Slot slot = from.kind == LayoutKind::records
                              ? Slot{static_cast<std::uint64_t>(stored) * from.record, 0, 0}
                              : args.slots[stored];
        const Slot to{k * args.to.record, 0, 0};
        if constexpr (has_exponent(storage))
          *exponent_at(args.to, args.records, to, 0) =
              *exponent_at(from, const_cast<std::byte *>(args.blocks), slot, 0);
        for (int j = 0; j < from.bs; ++j)
          for (int i = 0; i < from.bs; ++i)
            put_number<storage>(args.to, args.records, to, i, j,
                                get_number<storage>(from, args.blocks, slot, i, j));
      });
}

// Each thread writes one block of a transposed plan, from a stored block of this rank or from a
// received record.
template <class Space, PCMCPIPrecision storage>
void write_transposed(const Space &space, const RecordsArgs &args)
{
  Kokkos::parallel_for(
      "mcpi transpose", Kokkos::RangePolicy<Space>(space, 0, args.size),
      KOKKOS_LAMBDA(const std::size_t k) {
        const Offset source = args.stored[k], remote = source - args.count;
        Shape from = args.from;
        if (remote >= 0) from.kind = LayoutKind::records;
        const std::byte *blocks = remote >= 0 ? args.received : args.blocks;
        const Slot slot =
            from.kind == LayoutKind::records
                ? Slot{static_cast<std::uint64_t>(remote >= 0 ? remote : source) * from.record, 0,
                       0}
                : args.slots[source];
        const Slot to =
            args.to.kind == LayoutKind::records ? Slot{k * args.to.record, 0, 0} : args.to_slots[k];
        if constexpr (has_exponent(storage))
          for (int part = 0; part < exponent_copies(args.to); ++part)
            *exponent_at(args.to, args.records, to, part) =
                *exponent_at(from, const_cast<std::byte *>(blocks), slot, 0);
        for (int j = 0; j < from.bs; ++j)
          for (int i = 0; i < from.bs; ++i)
            put_number<storage>(args.to, args.records, to, i, j,
                                get_number<storage>(from, blocks, slot, j, i));
      });
}

} // namespace mcpi::kokkos
