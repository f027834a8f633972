// The incomplete LU factorizations without fill: ILU(0), which changes the stored blocks, and DILU,
// which changes the diagonal blocks only. Y. Saad, Iterative Methods for Sparse Linear Systems,
// SIAM 2003, section 10.3; D. Pommerell, Solution of large unsymmetric systems of linear equations,
// 1992.
#include <algorithm>
#include <cmath>

#include "core/dense.h"
#include "core/held_exceptions.h"
#include "method/elimination.h"
#include "method/method.h"

namespace mcpi {
namespace {

// Blocks of the matrix as an Elimination arranges them
class ArrangedBlocks final : public BlockRows {
public:
  ArrangedBlocks(const std::vector<BlockNumber> &row_begin, const std::vector<double> &blocks,
                 std::size_t square)
      : row_begin_(row_begin), blocks_(blocks), square_(square)
  {
    BlockNumber longest = 1;
    for (std::size_t row = 0; row + 1 < row_begin.size(); ++row)
      longest = std::max(longest, row_begin[row + 1] - row_begin[row]);
    offdiag_.resize(longest);
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
      : plan_(plan), square_(static_cast<std::size_t>(plan.bs) * plan.bs),
        elimination_(make_elimination(plan, ghosts, fill)),
        factors_(elimination_.row_begin, blocks_, square_), left_(square_),
        vectors_(3 * static_cast<std::size_t>(plan.bs)), pivot_(static_cast<std::size_t>(plan.bs))
  {
  }

  void read(BlockRows &values) override
  {
    const double *diagonal = nullptr;
    const double *const *offdiag = nullptr;
    blocks_.resize(elimination_.blocks * square_);
    factors_.set_empty(values.empty());
    for (Row row = 0; row < plan_.rows; ++row) {
      const BlockNumber begin = elimination_.row_begin[row], end = elimination_.row_begin[row + 1];
      values.row(row, diagonal, offdiag);
      double *to = std::copy_n(diagonal, square_, block(begin));
      for (BlockNumber k = begin + 1; k < end; ++k)
        to = std::copy_n(offdiag[k - begin - 1], square_, to);
    }
  }

  int factor(Halo &halo) override
  {
    const HeldExceptions held;
    double *exchanged = block(elimination_.first_offered);
    if (const int error = halo.prepare(square_ * sizeof(double))) return error;
    for (int color = 0; color < plan_.colors; ++color) {
      for (Row row = plan_.color_begin[color]; row < plan_.boundary_end[color]; ++row)
        factor_row(row);
      offer(color);
      if (const int error = halo.begin(color, exchanged)) return error;
      for (Row row = plan_.boundary_end[color]; row < plan_.color_begin[color + 1]; ++row)
        factor_row(row);
      if (const int error = halo.end(color, exchanged)) return error;
    }
    return 0;
  }

  BlockRows &factors() override { return factors_; }
  void release() noexcept override { std::vector<double>().swap(blocks_); }
  double host_bytes() const override { return memory_bytes(elimination_); }

private:
  double *block(BlockNumber number) { return blocks_.data() + number * square_; }

  // A row without an inverse E, or with a block that is not finite, counts as one whose E is
  // infinite. So rows after it stay finite, and the first bad row is reported.
  void factor_row(Row row)
  {
    for (BlockNumber s = elimination_.step_begin[row]; s < elimination_.step_begin[row + 1]; ++s)
      take(elimination_.steps[s], elimination_.steps[s + 1].first);
    const Row at = plan_.row_of[row];
    const double *own = block(elimination_.row_begin[at]);
    double *inverse = block(elimination_.first_inverse + static_cast<BlockNumber>(row));
    const bool good =
        invert_rest(plan_.bs, own, factors_.empty_of(at, plan_.bs), inverse, vectors_.data(),
                    pivot_.data()) == Inversion::done &&
        std::all_of(own, static_cast<const double *>(block(elimination_.row_begin[at + 1])),
                    [](double number) { return std::isfinite(number); });
    for (std::size_t n = 0; n < square_; ++n) inverse[n] = good ? -inverse[n] : 0.0;
  }

  // end: the end of the updates of this step
  void take(const Elimination::Step &step, BlockNumber end)
  {
    const double *inverse = block(step.inverse);
    if (std::all_of(inverse, inverse + square_, [](double n) { return n == 0.0; })) return;
    std::fill(left_.begin(), left_.end(), 0.0);
    add_product(plan_.bs, block(step.lower), inverse, left_.data());
    for (BlockNumber u = step.first; u < end; ++u)
      add_product(plan_.bs, left_.data(), block(elimination_.updates[u].upper),
                  block(elimination_.updates[u].target));
  }

  // Copies the boundary rows of a color to the blocks that this rank offers.
  void offer(int color)
  {
    for (BlockNumber k = elimination_.offered_begin[color];
         k < elimination_.offered_begin[color + 1]; ++k)
      std::copy_n(block(elimination_.offered[k]), square_, block(elimination_.first_offered + k));
  }

  const ColorPlan &plan_;
  const std::size_t square_;
  const Elimination elimination_;
  std::vector<double> blocks_;
  ArrangedBlocks factors_;             // reads elimination_ and blocks_
  std::vector<double> left_, vectors_; // left_: -L_ij E_j^{-1}
  std::vector<std::int64_t> pivot_;
};

} // namespace

std::unique_ptr<Method> make_method(PCMCPIMethod method, const ColorPlan &plan,
                                    const GhostRows &ghosts)
{
  return std::make_unique<IncompleteLU>(plan, ghosts, changes_offdiagonal(method));
}

} // namespace mcpi
