// The incomplete LU factorizations without fill: ILU(0), which changes the stored blocks, and DILU,
// which changes the diagonal blocks only. Y. Saad, Iterative Methods for Sparse Linear Systems,
// SIAM 2003, section 10.3; D. Pommerell, Solution of large unsymmetric systems of linear equations,
// 1992.
#include <algorithm>
#include <cmath>

#include "core/add_product.h"
#include "core/dense.h"
#include "core/dispatch.h"
#include "core/held_exceptions.h"
#include "core/memory.h"
#include "core/tuning.h"
#include "method/elimination.h"
#include "method/method.h"

namespace mcpi {
namespace {

// Blocks of the matrix as an Elimination arranges them
class ArrangedBlocks final : public BlockRows {
public:
  ArrangedBlocks(const std::vector<BlockNumber> &row_begin, const std::vector<double> &blocks,
                 std::size_t square)
      : row_begin_(row_begin), blocks_(blocks), square_(square), offdiag_(longest_row(row_begin))
  {
  }
  void row(Row local_row, const double *&diagonal, const double *const *&offdiag) override
  {
    const BlockNumber begin = row_begin_[local_row], end = row_begin_[local_row + 1];
    diagonal = blocks_.data() + begin * square_;
    for (BlockNumber k = begin + 1; k < end; ++k)
      offdiag_[k - begin - 1] = blocks_.data() + k * square_;
    offdiag = offdiag_.data();
  }

private:
  const std::vector<BlockNumber> &row_begin_;
  const std::vector<double> &blocks_;
  const std::size_t square_;
  std::vector<const double *> offdiag_;
};

class IncompleteLU final : public Method {
public:
  IncompleteLU(const ColorPlan &plan, const GhostRows &ghosts, bool fill)
      : plan_(plan), ghosts_(ghosts), square_(static_cast<std::size_t>(plan.bs) * plan.bs),
        fill_(fill), elimination_(plan, ghosts, fill),
        factors_(elimination_.row_begins(), blocks_, square_), left_(square_),
        vectors_(3 * static_cast<std::size_t>(plan.bs)), pivot_(static_cast<std::size_t>(plan.bs)),
        target_(fill ? static_cast<std::size_t>(plan.rows) + plan.ghosts : 0, elimination_.blocks())
  {
  }

  void read(BlockRows &values) override
  {
    const double *diagonal = nullptr;
    const double *const *offdiag = nullptr;
    blocks_.resize(elimination_.blocks() * square_);
    factors_.set_empty(values.empty());
    sent_.reserve(most_sent(ghosts_) * square_); // begin() must not throw.
    for (Row row = 0; row < plan_.rows; ++row) {
      const BlockNumber begin = elimination_.row_begin(row), end = elimination_.row_begin(row + 1);
      values.row(row, diagonal, offdiag);
      double *to = std::copy_n(diagonal, square_, block(begin));
      for (BlockNumber k = begin + 1; k < end; ++k)
        to = std::copy_n(offdiag[k - begin - 1], square_, to);
    }
  }

  int factor(BlockExchange *exchange) override
  {
    const HeldExceptions held;
    if (exchange)
      if (const int error = exchange->prepare(square_ * sizeof(double))) return error;
    for (int color = 0; color < plan_.colors; ++color) {
      factor_rows(plan_.color_begin[color], plan_.boundary_end[color]);
      if (exchange)
        if (const int error = begin(color, *exchange)) return error;
      factor_rows(plan_.boundary_end[color], plan_.color_begin[color + 1]);
      if (exchange)
        if (const int error = exchange->end()) return error;
    }
    return 0;
  }

  BlockRows &factors() override { return factors_; }
  void release() noexcept override
  {
    std::vector<double>().swap(blocks_);
    std::vector<double>().swap(sent_);
  }
  double host_bytes() const override { return elimination_.memory_bytes() + bytes_of(target_); }

private:
  double *block(BlockNumber number) { return blocks_.data() + number * square_; }

  void factor_rows(Row begin, Row end)
  {
    with_block_size<1, 8>(plan_.bs, [&]<int size> {
      for (Row row = begin; row < end; ++row) {
        fill_ ? eliminate_with_fill<size>(row) : eliminate<size>(row);
        invert_diagonal(row);
      }
    });
  }

  // A row without an inverse E, or with a block that is not finite, counts as one whose E is
  // infinite. So rows after it stay finite, and the first bad row is reported.
  void invert_diagonal(Row row)
  {
    const Row at = plan_.row_of[row];
    const double *own = block(elimination_.row_begin(at));
    double *inverse = block(elimination_.inverse(row));
    const bool good =
        invert_rest(plan_.bs, own, factors_.empty_of(at, plan_.bs), inverse, vectors_.data(),
                    pivot_.data()) == Inversion::done &&
        std::all_of(own, static_cast<const double *>(block(elimination_.row_begin(at + 1))),
                    [](double number) { return std::isfinite(number); });
    for (std::size_t n = 0; n < square_; ++n) inverse[n] = good ? -inverse[n] : 0.0;
  }

  // DILU: only the diagonal block of the row changes.
  template <int size> void eliminate(Row row)
  {
    const std::span<const BlockNumber> lower = elimination_.lower(row),
                                       opposite = elimination_.opposite(row);
    const BlockNumber target = elimination_.diagonal(row);
    for (std::size_t n = 0; n < lower.size(); ++n)
      if (opposite[n] != Elimination::kNone && make_left<size>(row, lower[n]))
        update<size>(opposite[n], target);
  }

  // ILU(0)
  template <int size> void eliminate_with_fill(Row row)
  {
    const BlockNumber begin = elimination_.diagonal(row);
    const auto blocks =
        static_cast<BlockNumber>(1 + plan_.lower.ptr[row + 1] - plan_.lower.ptr[row] +
                                 plan_.upper.ptr[row + 1] - plan_.upper.ptr[row]);
    for_blocks(row, [&](Row column, BlockNumber target) { target_[column] = target; });
    for (const BlockNumber k : elimination_.lower(row)) {
      if (!make_left<size>(row, k)) continue;
      const Elimination::Upper upper = elimination_.upper(plan_.lower.col[k]);
      if (upper.col.size() > std::size_t{CommonTuning::kManyTimes} * blocks) // row i's are sought
        for_blocks(row, [&](Row column, BlockNumber target) {
          const std::size_t n = elimination_.find(upper, column);
          if (n < upper.col.size()) update<size>(upper.block(n), target);
        });
      else
        for (std::size_t n = 0; n < upper.col.size(); ++n)
          if (const BlockNumber target = target_[upper.col[n]]; target - begin < blocks)
            update<size>(upper.block(n), target);
    }
  }

  // Calls visit(column, block) for all blocks of a plan row.
  template <class Visit> void for_blocks(Row row, const Visit &visit) const
  {
    const BlockNumber diagonal = elimination_.diagonal(row);
    visit(row, diagonal);
    for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
      for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k)
        visit(triangle->col[k], diagonal + 1 + static_cast<BlockNumber>(triangle->source[k]));
  }

  // Sets left_ for block k of the lower triangle. Returns false if it is zero.
  template <int size> bool make_left(Row row, BlockNumber k)
  {
    const double *inverse = block(elimination_.inverse(plan_.lower.col[k]));
    if (std::all_of(inverse, inverse + square_, [](double n) { return n == 0.0; })) return false;
    std::fill(left_.begin(), left_.end(), 0.0);
    add_product<size>(plan_.bs, block(elimination_.block(row, plan_.lower, k)), inverse,
                      left_.data());
    return true;
  }

  template <int size> void update(BlockNumber upper, BlockNumber target)
  {
    add_product<size>(plan_.bs, left_.data(), block(upper), block(target));
  }

  // Sends the blocks of a color that other ranks read.
  int begin(int color, BlockExchange &exchange)
  {
    sent_.resize((ghosts_.sent_begin[color + 1] - ghosts_.sent_begin[color]) * square_);
    double *to = sent_.data();
    elimination_.for_sent(color,
                          [&](BlockNumber from) { to = std::copy_n(block(from), square_, to); });
    const auto ghosts = static_cast<BlockNumber>(ghosts_.ptr[plan_.ghost_begin[color]]);
    return exchange.begin(color, sent_.data(), block(elimination_.first_ghost() + ghosts));
  }

  const ColorPlan &plan_;
  const GhostRows &ghosts_;
  const std::size_t square_;
  const bool fill_;
  const Elimination elimination_;
  std::vector<double> blocks_, sent_;  // sent_: of the present color
  ArrangedBlocks factors_;             // reads elimination_ and blocks_
  std::vector<double> left_, vectors_; // left_: -L_ij E_j^{-1}
  std::vector<std::int64_t> pivot_;
  // By plan column: the block of the last row that had one there. Blocks of other rows than the
  // present one tell nothing.
  std::vector<BlockNumber> target_;
};

} // namespace

std::unique_ptr<Method> make_method(PCMCPIMethod method, const ColorPlan &plan,
                                    const GhostRows &ghosts)
{
  return std::make_unique<IncompleteLU>(plan, ghosts, changes_offdiagonal(method));
}

} // namespace mcpi
