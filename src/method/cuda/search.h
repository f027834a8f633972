// How a device finds what a factorization multiplies. The code also runs on a CPU, for tests.
#pragma once

#include "backend/device/numbers.h"
#include "method/elimination.h"

namespace mcpi::device {

// Members of SearchLists
struct SearchArgs {
  const BlockNumber *row_begin, *lower, *lower_begin;
  const std::uint32_t *col;
  const Row *plan_row;
  const BlockNumber *ghost_begin, *ghost_end;
  BlockNumber first_inverse, first_ghost;
  bool ascending;
};

constexpr BlockNumber kNone = Elimination::kNone;

// Blocks one after the other
struct Blocks {
  BlockNumber begin, end;
  BlockNumber shift; // from the place of a block's column to its number
};

// The elimination of one neighbor j: L_ij, -E_j^{-1}, the block of U_j in the column of row i or
// kNone, and all off-diagonal blocks of row j
struct Step {
  BlockNumber lower, inverse, opposite;
  Blocks blocks;
};

// The block in a column, or kNone
MCPI_HD BlockNumber find(const SearchArgs &args, const Blocks &in, std::uint32_t column)
{
  constexpr std::uint32_t kColumn = ~Elimination::kLower;
  BlockNumber begin = in.begin, end = in.end;
  // Those of ghosts are in the order of global columns.
  while (args.ascending && in.shift == 0 && end - begin > 1) {
    const BlockNumber middle = begin + (end - begin) / 2;
    if ((args.col[middle] & kColumn) > column)
      end = middle;
    else
      begin = middle;
  }
  for (; begin < end; ++begin)
    if ((args.col[begin - in.shift] & kColumn) == column) return begin;
  return kNone;
}

// The off-diagonal blocks of a matrix row
MCPI_HD Blocks blocks_of(const SearchArgs &args, std::uint32_t matrix_row)
{
  return {args.row_begin[matrix_row] + 1, args.row_begin[matrix_row + 1], 0};
}

// number: of a step, in SearchLists::lower. matrix_row: from which it eliminates
MCPI_HD Step find_step(const SearchArgs &args, BlockNumber number, std::uint32_t matrix_row)
{
  Step step{args.lower[number], 0, 0, {}};
  const std::uint32_t column = args.col[step.lower] & ~Elimination::kLower,
                      rows = args.first_ghost - args.first_inverse;
  if (column < rows) {
    step.inverse = args.first_inverse + static_cast<BlockNumber>(args.plan_row[column]);
    step.blocks = blocks_of(args, column);
  } else {
    step.inverse = args.ghost_begin[column - rows];
    step.blocks = {step.inverse + 1, args.ghost_end[column - rows], rows};
  }
  step.opposite = find(args, step.blocks, matrix_row);
  return step;
}

// The off-diagonal block of row i in the column of a block of row j, if this is a block of U_j;
// otherwise kNone. own: the off-diagonal blocks of row i
MCPI_HD BlockNumber find_target(const SearchArgs &args, const Step &step, const Blocks &own,
                                BlockNumber block)
{
  if (block >= step.blocks.end) return kNone;
  const std::uint32_t column = args.col[block - step.blocks.shift];
  return (column & Elimination::kLower) == 0 ? find(args, own, column) : kNone;
}

} // namespace mcpi::device
