#include "method/elimination.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/memory.h"

namespace mcpi {
namespace {

constexpr BlockNumber kNone = std::numeric_limits<BlockNumber>::max();

class Builder {
public:
  Builder(const ColorPlan &plan, const GhostRows &ghosts, bool fill)
      : plan_(plan), ghosts_(ghosts), fill_(fill)
  {
  }

  Elimination build()
  {
    number_blocks();
    set_turns();
    target_.assign(turn_.size(), kNone);
    result_.step_begin.push_back(0);
    for (Row row = 0; row < plan_.rows; ++row) {
      eliminate_from(row);
      result_.step_begin.push_back(static_cast<BlockNumber>(result_.steps.size()));
    }
    result_.steps.push_back({0, 0, number(static_cast<Offset>(result_.updates.size()))});
    result_.steps.shrink_to_fit();
    result_.updates.shrink_to_fit();
    result_.offered.shrink_to_fit();
    return std::move(result_);
  }

private:
  static BlockNumber number(Offset wide)
  {
    if (wide >= static_cast<Offset>(kNone))
      throw std::runtime_error("too many blocks on a rank for a factorization: use more ranks");
    return static_cast<BlockNumber>(wide);
  }

  void number_blocks()
  {
    const std::vector<Offset> begin = block_begins(plan_);
    result_.first_inverse = number(begin.back());
    result_.first_offered = number(begin.back() + plan_.rows);
    result_.row_begin.assign(begin.begin(), begin.end());
    list_offered();
    const Offset first_ghost = result_.first_offered + static_cast<Offset>(result_.offered.size());
    result_.first_ghost = number(first_ghost);
    result_.blocks = number(first_ghost + static_cast<Offset>(ghosts_.col.size()));
  }

  void list_offered()
  {
    for (int color = 0; color < plan_.colors; ++color) {
      result_.offered_begin.push_back(static_cast<BlockNumber>(result_.offered.size()));
      for (Row row = plan_.color_begin[color]; row < plan_.boundary_end[color]; ++row) {
        result_.offered.push_back(inverse(row));
        for (Offset k = plan_.upper.ptr[row]; k < plan_.upper.ptr[row + 1]; ++k)
          result_.offered.push_back(block(row, plan_.upper, k));
      }
    }
    result_.offered_begin.push_back(static_cast<BlockNumber>(result_.offered.size()));
  }

  // Orders the columns as they are eliminated: by color, and in clusters by their place in the
  // color. Rows of a color without clusters are not coupled.
  void set_turns()
  {
    turn_.resize(static_cast<std::size_t>(plan_.rows) + plan_.ghosts);
    for (int color = 0; color < plan_.colors; ++color) {
      const auto set = [&](Row column, Row place) {
        turn_[column] = (static_cast<std::int64_t>(color) << 32U) + (plan_.clustered ? place : 0);
      };
      for (Row p = plan_.color_begin[color]; p < plan_.color_begin[color + 1]; ++p) set(p, p);
      for (Row g = plan_.ghost_begin[color]; g < plan_.ghost_begin[color + 1]; ++g)
        set(plan_.rows + g, ghosts_.place[g]);
    }
  }

  // The diagonal block of a plan row, and block k of one of its triangles
  BlockNumber diagonal(Row row) const { return result_.row_begin[plan_.row_of[row]]; }
  BlockNumber block(Row row, const Triangle &triangle, Offset k) const
  {
    return diagonal(row) + 1 + static_cast<BlockNumber>(triangle.source[k]);
  }
  BlockNumber inverse(Row row) const
  {
    return result_.first_inverse + static_cast<BlockNumber>(row);
  }

  // Notes the blocks of a row that change, or forgets them.
  void set_targets(Row row, bool changing)
  {
    target_[row] = changing ? diagonal(row) : kNone;
    if (!fill_) return;
    for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
      for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k)
        target_[triangle->col[k]] = changing ? block(row, *triangle, k) : kNone;
  }

  void update(BlockNumber upper, Row column)
  {
    if (target_[column] != kNone) result_.updates.push_back({upper, target_[column]});
  }

  void eliminate_from(Row row)
  {
    order_.clear();
    for (Offset k = plan_.lower.ptr[row]; k < plan_.lower.ptr[row + 1]; ++k) order_.push_back(k);
    std::sort(order_.begin(), order_.end(), [&](Offset a, Offset b) {
      return std::pair(turn_[plan_.lower.col[a]], a) < std::pair(turn_[plan_.lower.col[b]], b);
    });
    set_targets(row, true);
    for (const Offset k : order_) {
      const Row column = plan_.lower.col[k];
      const auto before = static_cast<BlockNumber>(result_.updates.size());
      BlockNumber by = 0;
      if (column < plan_.rows) {
        by = inverse(column);
        for (Offset n = plan_.upper.ptr[column]; n < plan_.upper.ptr[column + 1]; ++n)
          update(block(column, plan_.upper, n), plan_.upper.col[n]);
      } else {
        const Row ghost = column - plan_.rows;
        by = result_.first_ghost + static_cast<BlockNumber>(ghosts_.ptr[ghost]);
        for (Offset n = ghosts_.ptr[ghost] + 1; n < ghosts_.ptr[ghost + 1]; ++n)
          update(result_.first_ghost + static_cast<BlockNumber>(n), ghosts_.col[n]);
      }
      if (result_.updates.size() > before)
        result_.steps.push_back({block(row, plan_.lower, k), by, before});
    }
    set_targets(row, false);
  }

  const ColorPlan &plan_;
  const GhostRows &ghosts_;
  const bool fill_;
  Elimination result_;
  std::vector<std::int64_t> turn_;  // by plan column
  std::vector<BlockNumber> target_; // by plan column: the block of the present row that changes
  std::vector<Offset> order_;       // blocks of L of the present row as they are eliminated
};

} // namespace

Elimination make_elimination(const ColorPlan &plan, const GhostRows &ghosts, bool fill)
{
  return Builder(plan, ghosts, fill).build();
}

double memory_bytes(const Elimination &elimination)
{
  return bytes_of(elimination.row_begin, elimination.step_begin, elimination.steps,
                  elimination.updates, elimination.offered, elimination.offered_begin);
}

} // namespace mcpi
