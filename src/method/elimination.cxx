#include "method/elimination.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/memory.h"
#include "core/tuning.h"

namespace mcpi {
namespace {

BlockNumber number(Offset wide)
{
  if (wide >= static_cast<Offset>(Elimination::kNone))
    throw std::runtime_error("too many blocks on a rank for a factorization: use more ranks");
  return static_cast<BlockNumber>(wide);
}

// Numbers the columns as they are eliminated: by color, and in clusters by their place in the
// color. Rows of a color without clusters are not coupled.
std::vector<std::int64_t> make_turns(const ColorPlan &plan, const GhostRows &ghosts)
{
  std::vector<std::int64_t> turn(static_cast<std::size_t>(plan.rows) + plan.ghosts);
  for (int color = 0; color < plan.colors; ++color) {
    const auto set = [&](Row column, Row place) {
      turn[column] = (static_cast<std::int64_t>(color) << 32U) + (plan.clustered ? place : 0);
    };
    for (Row p = plan.color_begin[color]; p < plan.color_begin[color + 1]; ++p) set(p, p);
    for (Row g = plan.ghost_begin[color]; g < plan.ghost_begin[color + 1]; ++g)
      set(plan.rows + g, ghosts.place[g]);
  }
  return turn;
}

} // namespace

Elimination::Elimination(const ColorPlan &plan, const GhostRows &ghosts, bool fill)
    : plan_(plan), ghosts_(ghosts)
{
  number_blocks();
  order_lower();
  if (!fill) find_opposite();
}

void Elimination::number_blocks()
{
  const std::vector<Offset> begin = block_begins(plan_);
  first_inverse_ = number(begin.back());
  first_ghost_ = number(begin.back() + plan_.rows);
  blocks_ = number(begin.back() + plan_.rows + static_cast<Offset>(ghosts_.col.size()));
  row_begin_.assign(begin.begin(), begin.end());
  diagonal_.resize(plan_.row_of.size());
  for (Row row = 0; row < plan_.rows; ++row) diagonal_[row] = row_begin_[plan_.row_of[row]];
}

void Elimination::order_lower()
{
  const std::vector<std::int64_t> turn = make_turns(plan_, ghosts_);
  const Triangle &lower = plan_.lower;
  lower_.resize(lower.col.size());
  std::iota(lower_.begin(), lower_.end(), 0);
  for (Row row = 0; row < plan_.rows; ++row)
    std::sort(lower_.begin() + lower.ptr[row], lower_.begin() + lower.ptr[row + 1],
              [&](BlockNumber a, BlockNumber b) {
                return std::pair(turn[lower.col[a]], a) < std::pair(turn[lower.col[b]], b);
              });
}

void Elimination::find_opposite()
{
  opposite_.reserve(lower_.size());
  for (Row row = 0; row < plan_.rows; ++row)
    for (const BlockNumber k : lower(row)) {
      const Upper there = upper(plan_.lower.col[k]);
      const std::size_t n = find(there, row);
      opposite_.push_back(n < there.col.size() ? there.block(n) : kNone);
    }
}

std::size_t Elimination::find(const Upper &upper, Row column) const
{
  const auto begin = upper.col.begin(), end = upper.col.end();
  const auto found = upper.col.size() <= CommonTuning::kFewBlocks
                         ? std::find(begin, end, column)
                         : std::lower_bound(begin, end, order(column), [this](Row at, Row wanted) {
                             return order(at) < wanted;
                           });
  return found != end && *found == column ? found - begin : upper.col.size();
}

SearchLists Elimination::search_lists() const
{
  SearchLists lists;
  lists.row_begin = row_begin_;
  lists.first_inverse = first_inverse_;
  lists.first_ghost = first_ghost_;
  lists.blocks = blocks_;
  lists.lower_begin.assign(plan_.lower.ptr.begin(), plan_.lower.ptr.end());
  lists.col.resize(first_inverse_);
  lists.plan_row.resize(plan_.row_of.size());
  for (Row row = 0; row < plan_.rows; ++row) {
    const Row own = plan_.row_of[row];
    lists.plan_row[own] = row;
    lists.col[row_begin_[own]] = static_cast<std::uint32_t>(own);
    for (const BlockNumber k : lower(row)) lists.lower.push_back(block(row, plan_.lower, k));
    for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
      for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k)
        lists.col[block(row, *triangle, k)] =
            static_cast<std::uint32_t>(matrix_column(triangle->col[k])) |
            (triangle == &plan_.lower ? kLower : 0);
    const auto less = [](std::uint32_t a, std::uint32_t b) {
      return (a & ~kLower) < (b & ~kLower);
    };
    lists.ascending =
        lists.ascending && std::is_sorted(lists.col.begin() + row_begin_[own] + 1,
                                          lists.col.begin() + row_begin_[own + 1], less);
  }
  for (const Row column : ghosts_.col)
    lists.col.push_back(static_cast<std::uint32_t>(matrix_column(column)));
  lists.ghost_begin.resize(static_cast<std::size_t>(plan_.ghosts));
  lists.ghost_end.resize(static_cast<std::size_t>(plan_.ghosts));
  for (Row g = 0; g < plan_.ghosts; ++g) {
    const Row number = matrix_column(plan_.rows + g) - plan_.rows;
    lists.ghost_begin[number] = first_ghost_ + static_cast<BlockNumber>(ghosts_.ptr[g]);
    lists.ghost_end[number] = first_ghost_ + static_cast<BlockNumber>(ghosts_.ptr[g + 1]);
  }
  for (int color = 0; color < plan_.colors; ++color)
    for_sent(color, [&](BlockNumber number) { lists.sent.push_back(number); });
  return lists;
}

double Elimination::memory_bytes() const
{
  return bytes_of(row_begin_, diagonal_, lower_, opposite_);
}

} // namespace mcpi
