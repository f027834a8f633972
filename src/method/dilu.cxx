// DILU, the incomplete LU factorization that changes only the diagonal blocks: D. Pommerell,
// Solution of large unsymmetric systems of linear equations, 1992; also R. Barrett et al.,
// Templates for the solution of linear systems, SIAM 1994, section 3.4.2.
#include <algorithm>

#include "core/dense.h"
#include "method/method.h"

namespace mcpi {
namespace {

// The values of a matrix with other diagonal blocks
class OtherDiagonal final : public BlockRows {
public:
  void set(BlockRows &values, const std::vector<double> &diagonal, std::size_t square)
  {
    values_ = &values;
    diagonal_ = diagonal.data();
    square_ = square;
  }
  void row(Row local_row, const double *&diagonal, const double *const *&offdiag) override
  {
    values_->row(local_row, diagonal, offdiag);
    diagonal = diagonal_ + static_cast<std::size_t>(local_row) * square_;
  }
  ValueArrays arrays() override
  {
    ValueArrays arrays = values_->arrays();
    arrays.diagonal = diagonal_;
    return arrays;
  }
  PieceStructure structure(int piece) const override { return values_->structure(piece); }

private:
  BlockRows *values_ = nullptr;
  const double *diagonal_ = nullptr;
  std::size_t square_ = 0;
};

class Dilu final : public Method {
public:
  Dilu(const ColorPlan &plan, const ColorPlan &transposed)
      : plan_(plan), transposed_(transposed), square_(static_cast<std::size_t>(plan.bs) * plan.bs)
  {
  }

  // Keeps the upper triangle, whose blocks are read by later rows. factor() reads the rows again.
  void read(BlockRows &values) override
  {
    const double *diagonal = nullptr;
    const double *const *offdiag = nullptr;
    upper_.resize(plan_.upper.col.size() * square_);
    diagonal_.resize(plan_.rows * square_);
    const std::size_t columns = static_cast<std::size_t>(plan_.rows) + plan_.ghosts;
    inverse_.assign(columns * square_, 0.0);
    partner_of_.assign(columns, -1);
    double *out = upper_.data();
    for (Row row = 0; row < plan_.rows; ++row) {
      values.row(plan_.row_of[row], diagonal, offdiag);
      for (Offset k = plan_.upper.ptr[row]; k < plan_.upper.ptr[row + 1]; ++k)
        out = std::copy_n(offdiag[plan_.upper.source[k]], square_, out);
    }
  }

  // A block of the lower triangle belongs to a column of an earlier color. No rank reads it for
  // that column, so zeros are sent.
  void pack(const std::vector<Offset> &stored, double *blocks) const override
  {
    for (const Offset block : stored) {
      const double *from = upper_block(block);
      blocks = from ? std::copy_n(from, square_, blocks) : std::fill_n(blocks, square_, 0.0);
    }
  }

  int factor(BlockRows &values, const double *received, Halo &halo) override
  {
    Work work{std::vector<double>(square_), std::vector<double>(square_),
              std::vector<double>(3 * static_cast<std::size_t>(plan_.bs)),
              std::vector<std::int64_t>(static_cast<std::size_t>(plan_.bs))};
    if (const int error = halo.prepare(square_ * sizeof(double))) return error;
    for (int color = 0; color < plan_.colors; ++color) {
      const auto rows = [&](Row begin, Row end) {
        for (Row row = begin; row < end; ++row) factor_row(row, values, received, work);
      };
      rows(plan_.color_begin[color], plan_.boundary_end[color]);
      if (const int error = halo.begin(color, inverse_.data())) return error;
      rows(plan_.boundary_end[color], plan_.color_begin[color + 1]);
      if (const int error = halo.end(color, inverse_.data())) return error;
    }
    upper_ = {};
    inverse_ = {};
    partner_of_ = {};
    return 0;
  }

  BlockRows &prepared(BlockRows &values) override
  {
    prepared_.set(values, diagonal_, square_);
    return prepared_;
  }

private:
  struct Work {
    std::vector<double> product, left, vectors;
    std::vector<std::int64_t> pivot;
  };

  // A block of the upper triangle by its number among the stored blocks; null: another block
  const double *upper_block(Offset stored) const
  {
    const Offset number = stored - static_cast<Offset>(plan_.lower.col.size());
    return number < 0 ? nullptr : upper_.data() + static_cast<std::size_t>(number) * square_;
  }

  // E_i = A_ii - sum over earlier j of A_ij E_j^{-1} A_ji, summed by ascending global columns. An
  // E_j without an inverse counts as infinite, so that later rows stay finite and the first bad row
  // is reported.
  void factor_row(Row row, BlockRows &values, const double *received, Work &work)
  {
    const double *own = nullptr;
    const double *const *offdiag = nullptr;
    values.row(plan_.row_of[row], own, offdiag);
    double *e = diagonal_.data() + static_cast<std::size_t>(plan_.row_of[row]) * square_;
    std::copy_n(own, square_, e);
    const Triangle &partners = transposed_.lower;
    for (Offset t = partners.ptr[row]; t < partners.ptr[row + 1]; ++t)
      partner_of_[partners.col[t]] = t;
    for (Offset k = plan_.lower.ptr[row]; k < plan_.lower.ptr[row + 1]; ++k) {
      const Offset t = partner_of_[plan_.lower.col[k]];
      if (t < partners.ptr[row]) continue; // A_ji is not stored
      const Offset source = partners.source[t], remote = source - plan_.blocks();
      const double *partner =
          remote < 0 ? upper_block(source) : received + static_cast<std::size_t>(remote) * square_;
      const double *inverse =
          inverse_.data() + static_cast<std::size_t>(plan_.lower.col[k]) * square_;
      for (int j = 0; j < plan_.bs; ++j)
        multiply(plan_.bs, inverse, partner + j * plan_.bs, work.left.data() + j * plan_.bs);
      for (int j = 0; j < plan_.bs; ++j)
        multiply(plan_.bs, offdiag[plan_.lower.source[k]], work.left.data() + j * plan_.bs,
                 work.product.data() + j * plan_.bs);
      for (std::size_t n = 0; n < square_; ++n) e[n] -= work.product[n];
    }
    double *inverse = inverse_.data() + static_cast<std::size_t>(row) * square_;
    if (invert(plan_.bs, e, inverse, work.vectors.data(), work.pivot.data()) != Inversion::done)
      std::fill_n(inverse, square_, 0.0);
  }

  const ColorPlan &plan_, &transposed_;
  const std::size_t square_;
  // upper_: blocks of the upper triangle. inverse_: E^{-1} by plan column. partner_of_: by plan
  // column, the block of the transposed lower triangle that was seen last. Blocks of earlier rows
  // have smaller numbers than those of the present row. All live during a set-up only.
  std::vector<double> upper_, inverse_;
  std::vector<Offset> partner_of_;
  std::vector<double> diagonal_; // E by matrix row
  OtherDiagonal prepared_;
};

} // namespace

std::unique_ptr<Method> make_method(PCMCPIMethod method, const ColorPlan &plan,
                                    const ColorPlan &transposed)
{
  if (method == PC_MCPI_METHOD_POINT) return nullptr;
  return std::make_unique<Dilu>(plan, transposed);
}

} // namespace mcpi
