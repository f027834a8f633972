// The incomplete LU factorizations without fill: ILU(0), which changes the stored blocks, and DILU,
// which changes the diagonal blocks only. Y. Saad, Iterative Methods for Sparse Linear Systems,
// SIAM 2003, section 10.3; D. Pommerell, Solution of large unsymmetric systems of linear equations,
// 1992.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/dense.h"
#include "method/method.h"

namespace mcpi {
namespace {

// The values of a matrix with other diagonal blocks
class OtherDiagonal final : public BlockRows {
public:
  OtherDiagonal(BlockRows &values, const double *diagonal, std::size_t square)
      : values_(values), diagonal_(diagonal), square_(square)
  {
  }
  void row(Row local_row, const double *&diagonal, const double *const *&offdiag) override
  {
    values_.row(local_row, diagonal, offdiag);
    diagonal = diagonal_ + static_cast<std::size_t>(local_row) * square_;
  }
  ValueArrays arrays() override
  {
    ValueArrays arrays = values_.arrays();
    arrays.diagonal = diagonal_;
    return arrays;
  }
  PieceStructure structure(int piece) const override { return values_.structure(piece); }

private:
  BlockRows &values_;
  const double *diagonal_;
  const std::size_t square_;
};

// Blocks in the order of the plan, and diagonal blocks by matrix row
class OtherBlocks final : public BlockRows {
public:
  OtherBlocks(const ColorPlan &plan, const double *lower, const double *upper,
              const double *diagonal)
      : plan_(plan), square_(static_cast<std::size_t>(plan.bs) * plan.bs), first_{lower, upper},
        diagonal_(diagonal), plan_row_(static_cast<std::size_t>(plan.rows)),
        blocks_(longest_row(plan.lower) + longest_row(plan.upper))
  {
    for (Row p = 0; p < plan.rows; ++p) plan_row_[plan.row_of[p]] = p;
  }
  void row(Row local_row, const double *&diagonal, const double *const *&offdiag) override
  {
    const Row p = plan_row_[local_row];
    for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
      for (Offset k = triangle->ptr[p]; k < triangle->ptr[p + 1]; ++k)
        blocks_[triangle->source[k]] =
            first_[triangle == &plan_.upper] + static_cast<std::size_t>(k) * square_;
    diagonal = diagonal_ + static_cast<std::size_t>(local_row) * square_;
    offdiag = blocks_.data();
  }

private:
  const ColorPlan &plan_;
  const std::size_t square_;
  const double *const first_[2], *const diagonal_;
  std::vector<Row> plan_row_; // of a matrix row
  std::vector<const double *> blocks_;
};

// Row i is made by elimination of its earlier neighbors j, one after the other:
//   L_ij E_j^{-1} U_j* is subtracted from row i of A, where row i has blocks (ILU(0)),
//   or from its diagonal block alone (DILU).
// What is left of row i then is L_i*, E_i and U_i*.
class IncompleteLU final : public Method {
public:
  IncompleteLU(const ColorPlan &plan, const GhostRows &ghosts, bool fill)
      : plan_(plan), ghosts_(ghosts), fill_(fill),
        square_(static_cast<std::size_t>(plan.bs) * plan.bs)
  {
  }

  void read(BlockRows &values) override
  {
    const double *diagonal = nullptr;
    const double *const *offdiag = nullptr;
    lower_.resize(plan_.lower.col.size() * square_);
    upper_.resize(plan_.upper.col.size() * square_);
    diagonal_.resize(plan_.rows * square_);
    std::pair<const Triangle *, double *> out[] = {{&plan_.lower, lower_.data()},
                                                   {&plan_.upper, upper_.data()}};
    for (Row row = 0; row < plan_.rows; ++row) {
      values.row(plan_.row_of[row], diagonal, offdiag);
      std::copy_n(diagonal, square_, diagonal_block(row));
      for (auto &[triangle, to] : out)
        for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k)
          to = std::copy_n(offdiag[triangle->source[k]], square_, to);
    }
    if (fill_) other_blocks_.emplace(plan_, lower_.data(), upper_.data(), diagonal_.data());
    prepare_factor();
  }

  int factor(Halo &halo) override
  {
    double *offered = exchanged_.data();
    if (const int error = halo.prepare(square_ * sizeof(double))) return error;
    for (int color = 0; color < plan_.colors; ++color) {
      for (Row row = plan_.color_begin[color]; row < plan_.boundary_end[color]; ++row) {
        factor_row(row);
        offered = offer(row, offered);
      }
      if (const int error = halo.begin(color, exchanged_.data())) return error;
      for (Row row = plan_.boundary_end[color]; row < plan_.color_begin[color + 1]; ++row)
        factor_row(row);
      if (const int error = halo.end(color, exchanged_.data())) return error;
    }
    inverse_ = {};
    exchanged_ = {};
    target_ = {};
    turn_ = {};
    if (fill_) return 0;
    lower_ = {};
    upper_ = {};
    return 0;
  }

  BlockRows &prepared(BlockRows &values) override
  {
    if (fill_) return *other_blocks_;
    return other_diagonal_.emplace(values, diagonal_.data(), square_);
  }

private:
  // An eliminated row: -E^{-1}, the blocks of U, and their columns
  struct Eliminated {
    const double *inverse, *upper;
    const Row *begin, *end;
  };

  double *diagonal_block(Row row)
  {
    return diagonal_.data() + static_cast<std::size_t>(plan_.row_of[row]) * square_;
  }
  double *lower_block(Offset k) { return lower_.data() + static_cast<std::size_t>(k) * square_; }
  double *upper_block(Offset k) { return upper_.data() + static_cast<std::size_t>(k) * square_; }

  // Makes all that factor() needs, which must not run out of memory between exchanges. A turn
  // orders the columns as they are eliminated: by color, and in clusters by their place in the
  // color. Rows of a color without clusters are not coupled.
  void prepare_factor()
  {
    const auto columns = static_cast<std::size_t>(plan_.rows) + plan_.ghosts;
    Offset offered = 0;
    turn_.resize(columns);
    for (int color = 0; color < plan_.colors; ++color) {
      const auto set = [&](Row column, Row place) {
        turn_[column] = (static_cast<std::int64_t>(color) << 32U) + (plan_.clustered ? place : 0);
      };
      for (Row p = plan_.color_begin[color]; p < plan_.color_begin[color + 1]; ++p) set(p, p);
      for (Row g = plan_.ghost_begin[color]; g < plan_.ghost_begin[color + 1]; ++g)
        set(plan_.rows + g, ghosts_.place[g]);
      const Row begin = plan_.color_begin[color], end = plan_.boundary_end[color];
      offered += end - begin + plan_.upper.ptr[end] - plan_.upper.ptr[begin];
    }
    target_.assign(columns, nullptr);
    inverse_.resize(plan_.rows * square_);
    offered_ = static_cast<std::size_t>(offered) * square_;
    exchanged_.resize(offered_ + ghosts_.col.size() * square_);
    const auto bs = static_cast<std::size_t>(plan_.bs);
    left_.resize(square_);
    vectors_.resize(3 * bs);
    pivot_.resize(bs);
    order_.reserve(longest_row(plan_.lower));
  }

  Eliminated eliminated(Row column) const
  {
    if (column < plan_.rows) {
      const Offset begin = plan_.upper.ptr[column], end = plan_.upper.ptr[column + 1];
      return {inverse_.data() + static_cast<std::size_t>(column) * square_,
              upper_.data() + static_cast<std::size_t>(begin) * square_,
              plan_.upper.col.data() + begin, plan_.upper.col.data() + end};
    }
    const Offset begin = ghosts_.ptr[column - plan_.rows],
                 end = ghosts_.ptr[column - plan_.rows + 1];
    const double *first = exchanged_.data() + offered_ + static_cast<std::size_t>(begin) * square_;
    return {first, first + square_, ghosts_.col.data() + begin + 1, ghosts_.col.data() + end};
  }

  // Notes the blocks of a row that change, or forgets them.
  void set_targets(Row row, bool changing)
  {
    target_[row] = changing ? diagonal_block(row) : nullptr;
    if (!fill_) return;
    for (Offset k = plan_.lower.ptr[row]; k < plan_.lower.ptr[row + 1]; ++k)
      target_[plan_.lower.col[k]] = changing ? lower_block(k) : nullptr;
    for (Offset k = plan_.upper.ptr[row]; k < plan_.upper.ptr[row + 1]; ++k)
      target_[plan_.upper.col[k]] = changing ? upper_block(k) : nullptr;
  }

  // Subtracts L_ij E_j^{-1} U_j* from the targets. lower: L_ij
  void eliminate(const double *lower, const Eliminated &from)
  {
    bool first = true;
    const double *block = from.upper;
    for (const Row *column = from.begin; column != from.end; ++column, block += square_) {
      double *target = target_[*column];
      if (!target) continue;
      if (first) {
        std::fill(left_.begin(), left_.end(), 0.0);
        add_product(plan_.bs, lower, from.inverse, left_.data());
      }
      first = false;
      add_product(plan_.bs, left_.data(), block, target);
    }
  }

  // Blocks of the same turn are subtracted by ascending global columns, so that the sums do not
  // depend on the partition. A row without an inverse E, or with a U that is not finite, counts as
  // one whose E is infinite. So rows after it stay finite, and the first bad row is reported.
  void factor_row(Row row)
  {
    order_.clear();
    for (Offset k = plan_.lower.ptr[row]; k < plan_.lower.ptr[row + 1]; ++k) order_.push_back(k);
    std::sort(order_.begin(), order_.end(), [&](Offset a, Offset b) {
      return std::pair(turn_[plan_.lower.col[a]], a) < std::pair(turn_[plan_.lower.col[b]], b);
    });
    set_targets(row, true);
    for (const Offset k : order_) {
      const Eliminated from = eliminated(plan_.lower.col[k]);
      if (std::any_of(from.inverse, from.inverse + square_, [](double n) { return n != 0.0; }))
        eliminate(lower_block(k), from);
    }
    set_targets(row, false);
    double *inverse = inverse_.data() + static_cast<std::size_t>(row) * square_;
    const bool good =
        invert(plan_.bs, diagonal_block(row), inverse, vectors_.data(), pivot_.data()) ==
            Inversion::done &&
        std::all_of(upper_block(plan_.upper.ptr[row]), upper_block(plan_.upper.ptr[row + 1]),
                    [](double number) { return std::isfinite(number); });
    for (std::size_t n = 0; n < square_; ++n) inverse[n] = good ? -inverse[n] : 0.0;
  }

  // Copies a boundary row to the blocks that this rank offers.
  double *offer(Row row, double *out)
  {
    out = std::copy_n(inverse_.data() + static_cast<std::size_t>(row) * square_, square_, out);
    return std::copy(upper_block(plan_.upper.ptr[row]), upper_block(plan_.upper.ptr[row + 1]), out);
  }

  const ColorPlan &plan_;
  const GhostRows &ghosts_;
  const bool fill_;
  const std::size_t square_;
  std::vector<double> lower_, upper_; // blocks in the order of the plan
  std::vector<double> diagonal_;      // E by matrix row
  // Of factor() only. inverse_: -E^{-1} by plan row. exchanged_: the blocks that this rank offers,
  // offered_ numbers, then those of ghosts. left_: -L_ij E_j^{-1}. By plan column: turn_; target_,
  // the block of the present row that changes
  std::vector<double> inverse_, exchanged_, left_, vectors_;
  std::size_t offered_ = 0;
  std::vector<std::int64_t> turn_;
  std::vector<double *> target_;
  std::vector<std::int64_t> pivot_;
  std::vector<Offset> order_; // blocks of L of the present row as they are eliminated
  std::optional<OtherBlocks> other_blocks_;
  std::optional<OtherDiagonal> other_diagonal_;
};

} // namespace

bool changes_offdiagonal(PCMCPIMethod method)
{
  return method == PC_MCPI_METHOD_ILU0;
}

std::unique_ptr<Method> make_method(PCMCPIMethod method, const ColorPlan &plan,
                                    const GhostRows &ghosts)
{
  if (method == PC_MCPI_METHOD_POINT) return nullptr;
  return std::make_unique<IncompleteLU>(plan, ghosts, changes_offdiagonal(method));
}

} // namespace mcpi
