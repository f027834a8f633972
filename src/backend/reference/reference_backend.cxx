// The reference backend, with which tests compare the others. It runs sweeps in double precision on
// the decoded stored blocks, in plain loops.
#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <utility>

#include "core/codec.h"
#include "core/dense.h"
#include "core/gather.h"

namespace mcpi {
namespace {

class ReferenceBackend final : public Backend {
public:
  ReferenceBackend(const ColorPlan &plan, const BackendConfig &config)
      : plan_(plan), rounds_(config.bfp16_gather), matrix_(plan, config.numeric, plain_kernels())
  {
  }

  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status) override
  {
    return matrix_.refresh(source, reduce, status);
  }
  void pack_records(const std::vector<Offset> &stored, std::byte *records) override
  {
    matrix_.pack_records(stored, records);
  }
  // See adopt_records().
  void adopt(const std::byte *records) { matrix_.adopt_records(records); }
  void build_transposed(const ColorPlan &plan, const std::byte *received) override
  {
    matrix_.build_transposed(plan, received);
  }

  std::unique_ptr<Backend> with_vectors(bool, bool bfp16_gather, bool) override
  {
    auto made = std::make_unique<ReferenceBackend>(std::move(*this));
    made->rounds_ = bfp16_gather;
    return made;
  }

  void reserve(int nrhs) override
  {
    const std::size_t local = static_cast<std::size_t>(plan_.rows) * plan_.bs * nrhs;
    const std::size_t all = local + static_cast<std::size_t>(plan_.ghosts) * plan_.bs * nrhs;
    if (x_.size() < all) x_.resize(all);
    if (rounds_ && gathered_.size() < all) gathered_.resize(all);
    if (rhs_.size() < local) rhs_.resize(local);
    if (kept_.size() < local) kept_.resize(local);
  }
  void load_rhs(const ApplyArgs &apply, const ConstColumns &b) override
  {
    reserve(apply.nrhs);
    const std::vector<double> &left = matrix_.scales().left, &right = matrix_.scales().right;
    std::vector<double> scaled(plan_.bs);
    for (Row row = 0; row < plan_.rows; ++row)
      for (int r = 0; r < apply.nrhs; ++r) {
        const double *in =
            b.data + r * b.ld + static_cast<std::ptrdiff_t>(plan_.row_of[row]) * plan_.bs;
        for (int i = 0; i < plan_.bs; ++i)
          scaled[i] = in[i] * (apply.transposed ? right[i] : prescaled() ? 1.0 : left[i]);
        double *rhs = entry(rhs_, apply, row, r);
        if (prescaled() && !apply.transposed)
          multiply(plan_.bs, matrix_.diagonal_map(row), scaled.data(), rhs);
        else
          std::copy(scaled.begin(), scaled.end(), rhs);
        for (int i = 0; i < plan_.bs; ++i) rhs[i] *= apply.scale;
      }
  }

  void load_guess(const ApplyArgs &apply, const ConstColumns &x) override
  {
    reserve(apply.nrhs);
    for (Row row = 0; row < plan_.rows; ++row)
      for (int r = 0; r < apply.nrhs; ++r) {
        const double *in =
            x.data + r * x.ld + static_cast<std::ptrdiff_t>(plan_.row_of[row]) * plan_.bs;
        for (int i = 0; i < plan_.bs; ++i)
          entry(x_, apply, row, r)[i] = in[i] * apply.scale / matrix_.scales().right[i];
      }
    round_rows(apply, 0, plan_.rows);
  }

  void transfer(const ApplyArgs &apply, Row begin, Row end, Transfer kind, bool) override
  {
    if (kind == Transfer::publish) return;
    if (kind == Transfer::zero)
      std::fill(entry(x_, apply, begin, 0), entry(x_, apply, end, 0), 0.0);
    round_rows(apply, begin, end);
  }

  void relax(const ApplyArgs &apply, const RelaxStep &step) override
  {
    const StoredTriangle lower = matrix_.lower(apply.transposed),
                         upper = matrix_.upper(apply.transposed);
    const int bs = plan_.bs;
    std::vector<double> near(bs), far(bs), residual(bs), update(bs);
    for (Row row = step.begin; row < step.end; ++row)
      for (int r = 0; r < apply.nrhs; ++r) {
        std::vector<double> &low = step.keep_lower ? near : far, &up = step.keep_lower ? far : near;
        std::fill(near.begin(), near.end(), 0.0);
        std::fill(far.begin(), far.end(), 0.0);
        if (step.lower) add_product(apply, lower, row, r, low);
        if (step.upper) add_product(apply, upper, row, r, up);
        double *x = entry(x_, apply, row, r), *kept = entry(kept_, apply, row, r);
        for (int i = 0; i < bs; ++i)
          residual[i] =
              entry(rhs_, apply, row, r)[i] -
              matrix_.scales().alpha * (near[i] + far[i] + (step.use_kept ? kept[i] : 0.0));
        if (step.keep == Keep::sum) std::copy(near.begin(), near.end(), kept);
        if (step.keep == Keep::zero) std::fill(kept, kept + bs, 0.0);
        if (prescaled())
          update = residual;
        else
          apply_diagonal(apply, row, residual.data(), update.data());
        for (int i = 0; i < bs; ++i)
          x[i] = (step.from_zero ? 0.0 : (1.0 - apply.omega) * x[i]) + apply.omega * update[i];
      }
    round_rows(apply, step.begin, step.end);
  }

  void store(const ApplyArgs &apply, const MutableColumns &x) override
  {
    const std::vector<double> &left = matrix_.scales().left, &right = matrix_.scales().right;
    std::vector<double> solution(plan_.bs);
    for (Row row = 0; row < plan_.rows; ++row)
      for (int r = 0; r < apply.nrhs; ++r) {
        const double *in = entry(x_, apply, row, r);
        double *out = x.data + r * x.ld + static_cast<std::ptrdiff_t>(plan_.row_of[row]) * plan_.bs;
        for (int i = 0; i < plan_.bs; ++i) solution[i] = in[i] / apply.scale;
        if (apply.transposed && prescaled()) {
          multiply_transposed(plan_.bs, matrix_.diagonal_map(row), solution.data(), out);
        } else {
          for (int i = 0; i < plan_.bs; ++i)
            out[i] = solution[i] * (apply.transposed ? left[i] : right[i]);
        }
      }
  }

  void *vector() override { return x_.data(); }
  RowBytes row_bytes(const ApplyArgs &apply) const override
  {
    const std::size_t entry = sizeof(double) * plan_.bs * apply.nrhs;
    return {entry, rounds_ ? entry : 0};
  }
  OperatorInfo info() const override
  {
    const std::size_t vectors = x_.size() + gathered_.size() + rhs_.size() + kept_.size();
    return {matrix_.record_size(), matrix_.memory_bytes() + sizeof(double) * vectors,
            matrix_.inverse_range(), &matrix_.scales()};
  }

private:
  bool prescaled() const { return matrix_.config().form == PC_MCPI_FORM_PRESCALED; }

  double *entry(std::vector<double> &v, const ApplyArgs &apply, Row row, int r) const
  {
    return v.data() + (static_cast<std::size_t>(row) * apply.nrhs + r) * plan_.bs;
  }

  // Writes the rounded copy of the plan columns [begin, end) of x, if products read it.
  void round_rows(const ApplyArgs &apply, Row begin, Row end)
  {
    for (Row row = begin; row < end && rounds_; ++row)
      for (int r = 0; r < apply.nrhs; ++r)
        round_gathered(plan_.bs, entry(x_, apply, row, r), entry(gathered_, apply, row, r));
  }

  void apply_diagonal(const ApplyArgs &apply, Row row, const double *in, double *out) const
  {
    (apply.transposed ? multiply_transposed : multiply)(plan_.bs, matrix_.diagonal_map(row), in,
                                                        out);
  }

  // Adds the products of a row's blocks in one triangle to sum.
  void add_product(const ApplyArgs &apply, const StoredTriangle &triangle, Row row, int r,
                   std::vector<double> &sum)
  {
    const int bs = plan_.bs;
    std::vector<double> block(static_cast<std::size_t>(bs) * bs), product(bs);
    for (Offset k = triangle.ptr[row]; k < triangle.ptr[row + 1]; ++k) {
      decode_block(matrix_.config().storage, bs,
                   triangle.records + static_cast<std::size_t>(k) * matrix_.record_size(),
                   block.data());
      multiply(bs, block.data(), entry(rounds_ ? gathered_ : x_, apply, triangle.col[k], r),
               product.data());
      for (int i = 0; i < bs; ++i) sum[i] += product[i];
    }
  }

  const ColorPlan &plan_;
  bool rounds_; // whether products read gathered_ instead of x_
  StoredMatrix matrix_;
  std::vector<double> x_, gathered_, rhs_, kept_;
};

} // namespace

std::unique_ptr<Backend> make_reference_backend(const ColorPlan &plan, const BackendConfig &config)
{
  return std::make_unique<ReferenceBackend>(plan, config);
}

void adopt_records(Backend &reference, const std::byte *records)
{
  dynamic_cast<ReferenceBackend &>(reference).adopt(records);
}

} // namespace mcpi
