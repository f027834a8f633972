// What an incomplete factorization without fill does to the blocks of one rank. It depends on the
// pattern of the matrix and on the order of its rows alone.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/ghost_rows.h"

namespace mcpi {

// A block in the working memory of a factorization. That is an array of blocks:
// - the blocks of the matrix, one matrix row after the other. Of a row, the diagonal block is the
//   first, and the off-diagonal blocks follow in the order of BlockRows;
// - the negative inverse diagonal blocks, by plan row;
// - the blocks that this rank receives from others (GhostRows).
using BlockNumber = std::uint32_t;

// Row i is made by elimination of its earlier neighbors j, one after the other:
//   L_ij E_j^{-1} U_j* is subtracted from row i, where row i has blocks (ILU(0)),
//   or from its diagonal block alone (DILU).
// What is left of row i then is L_i*, E_i and U_i*. The number of products of ILU(0) grows with the
// square of a row's couplings. So no list of them is kept: each factorization finds again which
// blocks of U_j* and of row i have the same column. DILU has one product at most for each j.
class Elimination {
public:
  // plan and ghosts must outlive the object. fill: whether off-diagonal blocks change, as in ILU(0)
  Elimination(const ColorPlan &plan, const GhostRows &ghosts, bool fill);

  // The blocks of the lower triangle of a plan row, as places in ColorPlan::lower. Neighbors are
  // eliminated in the order in which they are relaxed. Those of the same color, and of the same
  // step, follow one another by ascending global columns, so that the sums do not depend on the
  // partition.
  std::span<const BlockNumber> lower(Row row) const { return of_lower(lower_, row); }
  // Only without fill: for each of them the block of U_j that lies opposite, or kNone
  static constexpr BlockNumber kNone = std::numeric_limits<BlockNumber>::max();
  std::span<const BlockNumber> opposite(Row row) const { return of_lower(opposite_, row); }

  // The blocks U_j* of an earlier neighbor, by ascending global columns. Of a ghost there are those
  // that the local rows need.
  struct Upper {
    std::span<const Row> col; // plan columns
    const Offset *source;     // null: the blocks follow one another
    BlockNumber first;
    BlockNumber block(std::size_t n) const
    {
      return first + static_cast<BlockNumber>(source ? source[n] : static_cast<Offset>(n));
    }
  };
  Upper upper(Row column) const
  {
    const bool local = column < plan_.rows;
    const Offset *ptr = local ? &plan_.upper.ptr[column] : &ghosts_.ptr[column - plan_.rows];
    if (local)
      return {std::span(plan_.upper.col).subspan(ptr[0], ptr[1] - ptr[0]),
              plan_.upper.source.data() + ptr[0], diagonal(column) + 1};
    return {std::span(ghosts_.col).subspan(ptr[0] + 1, ptr[1] - ptr[0] - 1), nullptr,
            first_ghost_ + static_cast<BlockNumber>(ptr[0] + 1)};
  }
  // The place in upper of the block of a plan column, or the number of its blocks
  std::size_t find(const Upper &upper, Row column) const;

  BlockNumber row_begin(Row matrix_row) const { return row_begin_[matrix_row]; }
  const std::vector<BlockNumber> &row_begins() const { return row_begin_; } // matrix rows + 1
  // The diagonal block of a plan row, and block k of one of its triangles
  BlockNumber diagonal(Row row) const { return diagonal_[row]; }
  BlockNumber block(Row row, const Triangle &triangle, Offset k) const
  {
    return diagonal(row) + 1 + static_cast<BlockNumber>(triangle.source[k]);
  }
  // The negative inverse of an earlier neighbor's diagonal block
  BlockNumber inverse(Row column) const
  {
    if (column < plan_.rows) return first_inverse_ + static_cast<BlockNumber>(column);
    return first_ghost_ + static_cast<BlockNumber>(ghosts_.ptr[column - plan_.rows]);
  }
  BlockNumber first_inverse() const { return first_inverse_; }

  BlockNumber first_ghost() const { return first_ghost_; }
  BlockNumber blocks() const { return blocks_; }

  // Calls visit with each block of a color that this rank sends, in their order.
  template <class Visit> void for_sent(int color, const Visit &visit) const
  {
    Row row = 0;
    for (Offset n = ghosts_.sent_begin[color]; n < ghosts_.sent_begin[color + 1]; ++n) {
      const Row entry = ghosts_.sent[n];
      if (entry < 0) row = -1 - entry;
      visit(entry < 0 ? inverse(row) : block(row, plan_.upper, plan_.upper.ptr[row] + entry));
    }
  }

  // Whether a block of the lower triangle, in SearchLists::col
  static constexpr std::uint32_t kLower = 1U << 31U;
  struct SearchLists search_lists() const;

  double memory_bytes() const;

private:
  void number_blocks();
  void order_lower();
  void find_opposite();
  std::span<const BlockNumber> of_lower(const std::vector<BlockNumber> &list, Row row) const
  {
    const Offset *ptr = &plan_.lower.ptr[row];
    return std::span(list).subspan(ptr[0], ptr[1] - ptr[0]);
  }
  // The number of a plan column among those of this rank in the order of global columns
  Row order(Row column) const
  {
    return column < plan_.rows ? ghosts_.before + plan_.row_of[column]
                               : ghosts_.order[column - plan_.rows];
  }

  // The column as a matrix row, or as rows + ghost, where ghosts are in the order of global rows.
  // The blocks of a row ascend by it in BlockRows, except in matrices whose blocks the user has
  // arranged.
  Row matrix_column(Row column) const
  {
    if (column < plan_.rows) return plan_.row_of[column];
    const Row number = ghosts_.order[column - plan_.rows];
    return number < ghosts_.before ? plan_.rows + number : number;
  }

  const ColorPlan &plan_;
  const GhostRows &ghosts_;
  std::vector<BlockNumber> row_begin_, diagonal_, lower_, opposite_;
  BlockNumber first_inverse_ = 0, first_ghost_ = 0, blocks_ = 0;
};

// An elimination for code on a device, which searches in lists of columns. A column is a matrix
// row, or rows + ghost, where ghosts are in the order of global rows.
struct SearchLists {
  std::vector<BlockNumber> row_begin; // matrix rows + 1 entries: number of blocks before a row
  // The blocks of the lower triangles as they are eliminated, and the number of them before a plan
  // row (plan rows + 1 entries)
  std::vector<BlockNumber> lower, lower_begin;
  // The columns of the blocks of the matrix, then of the blocks of ghosts; kLower is added for
  // blocks of the lower triangle. ascending: the off-diagonal blocks of each matrix row
  std::vector<std::uint32_t> col;
  bool ascending = true;
  std::vector<Row> plan_row; // by matrix row
  // By ghost: its blocks. The first is the inverse.
  std::vector<BlockNumber> ghost_begin, ghost_end;
  std::vector<BlockNumber> sent; // the blocks that are sent, see GhostRows
  BlockNumber first_inverse = 0, first_ghost = 0, blocks = 0;
};

} // namespace mcpi
