// The oracle: the sweeps in double precision on the decoded stored blocks, in plain loops.
#include "sweep/backend.h"

#include <algorithm>

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
  std::size_t record_size() const override { return matrix_.record_size(); }
  void        pack_records(const std::vector<Offset> &stored, std::byte *records) override { matrix_.pack_records(stored, records); }
  void        adopt(const std::byte *records) { matrix_.adopt_records(records); }
  void        build_transposed(const ColorPlan &plan, const std::byte *received) override { matrix_.build_transposed(plan, received); }

  void reserve(int nrhs) override
  {
    const std::size_t local = static_cast<std::size_t>(plan_.rows) * plan_.bs * nrhs;
    const std::size_t all   = local + static_cast<std::size_t>(plan_.ghosts) * plan_.bs * nrhs;
    if (x_.size() < all) x_.resize(all);
    if (rounds_ && gathered_.size() < all) gathered_.resize(all);
    if (rhs_.size() < local) rhs_.resize(local);
    if (kept_.size() < local) kept_.resize(local);
  }
  void load_rhs(const Application &application, const ConstColumns &b) override
  {
    reserve(application.nrhs);
    const std::vector<double> &left = matrix_.scales().left, &right = matrix_.scales().right;
    std::vector<double>        scaled(plan_.bs);
    for (Row row = 0; row < plan_.rows; ++row)
      for (int r = 0; r < application.nrhs; ++r) {
        const double *in = b.data + r * b.ld + static_cast<std::ptrdiff_t>(plan_.row_of[row]) * plan_.bs;
        for (int i = 0; i < plan_.bs; ++i)
          scaled[i] = in[i] * application.scale * (application.transposed ? right[i] : prescaled() ? 1.0 : left[i]);
        if (prescaled() && !application.transposed)
          multiply(plan_.bs, matrix_.diagonal_map(row), scaled.data(), entry(rhs_, application, row, r));
        else
          std::copy(scaled.begin(), scaled.end(), entry(rhs_, application, row, r));
      }
  }

  void load_guess(const Application &application, const ConstColumns &x) override
  {
    reserve(application.nrhs);
    for (Row row = 0; row < plan_.rows; ++row)
      for (int r = 0; r < application.nrhs; ++r) {
        const double *in = x.data + r * x.ld + static_cast<std::ptrdiff_t>(plan_.row_of[row]) * plan_.bs;
        for (int i = 0; i < plan_.bs; ++i) entry(x_, application, row, r)[i] = in[i] * application.scale / matrix_.scales().right[i];
      }
    round_rows(application, 0, plan_.rows);
  }

  void zero_ghosts(const Application &application) override
  {
    std::fill(entry(x_, application, plan_.rows, 0), entry(x_, application, plan_.rows + plan_.ghosts, 0), 0.0);
    accept(application, plan_.rows, plan_.rows + plan_.ghosts, false);
  }

  void accept(const Application &application, Row begin, Row end, bool) override { round_rows(application, begin, end); }

  void relax(const Application &application, const Relax &relax) override
  {
    const StoredTriangle lower = matrix_.lower(application.transposed), upper = matrix_.upper(application.transposed);
    const int            bs = plan_.bs;
    std::vector<double>  near(bs), far(bs), residual(bs), update(bs);
    for (Row row = relax.begin; row < relax.end; ++row)
      for (int r = 0; r < application.nrhs; ++r) {
        std::vector<double> &low = relax.keep_lower ? near : far, &up = relax.keep_lower ? far : near;
        std::fill(near.begin(), near.end(), 0.0);
        std::fill(far.begin(), far.end(), 0.0);
        if (relax.lower) add_product(application, lower, row, r, low);
        if (relax.upper) add_product(application, upper, row, r, up);
        double *x = entry(x_, application, row, r), *kept = entry(kept_, application, row, r);
        for (int i = 0; i < bs; ++i)
          residual[i] =
              entry(rhs_, application, row, r)[i] - matrix_.scales().alpha * (near[i] + far[i] + (relax.use_kept ? kept[i] : 0.0));
        if (relax.keep == Keep::sum) std::copy(near.begin(), near.end(), kept);
        if (relax.keep == Keep::zero) std::fill(kept, kept + bs, 0.0);
        if (prescaled())
          update = residual;
        else
          apply_diagonal(application, row, residual.data(), update.data());
        for (int i = 0; i < bs; ++i) x[i] = (relax.from_zero ? 0.0 : (1.0 - application.omega) * x[i]) + application.omega * update[i];
      }
    round_rows(application, relax.begin, relax.end);
  }

  void store(const Application &application, const MutableColumns &x) override
  {
    const std::vector<double> &left = matrix_.scales().left, &right = matrix_.scales().right;
    std::vector<double>        solution(plan_.bs);
    for (Row row = 0; row < plan_.rows; ++row)
      for (int r = 0; r < application.nrhs; ++r) {
        const double *in  = entry(x_, application, row, r);
        double       *out = x.data + r * x.ld + static_cast<std::ptrdiff_t>(plan_.row_of[row]) * plan_.bs;
        if (application.transposed && prescaled()) {
          multiply_transposed(plan_.bs, matrix_.diagonal_map(row), in, solution.data());
        } else {
          for (int i = 0; i < plan_.bs; ++i) solution[i] = in[i] * (application.transposed ? left[i] : right[i]);
        }
        for (int i = 0; i < plan_.bs; ++i) out[i] = solution[i] / application.scale;
      }
  }

  void       *vector() override { return x_.data(); }
  std::size_t entry_bytes(const Application &application) const override { return sizeof(double) * plan_.bs * application.nrhs; }
  std::size_t gathered_bytes(const Application &application) const override { return rounds_ ? entry_bytes(application) : 0; }
  std::size_t memory_bytes() const override
  {
    return matrix_.memory_bytes() + sizeof(double) * (x_.size() + gathered_.size() + rhs_.size() + kept_.size());
  }
  double        largest_inverse() const override { return matrix_.largest_inverse(); }
  const Scales &scales() const override { return matrix_.scales(); }

private:
  bool prescaled() const { return matrix_.config().form == PC_MCPI_FORM_PRESCALED; }

  double *entry(std::vector<double> &v, const Application &application, Row row, int r) const
  {
    return v.data() + (static_cast<std::size_t>(row) * application.nrhs + r) * plan_.bs;
  }

  // What products read follows x.
  void round_rows(const Application &application, Row begin, Row end)
  {
    for (Row row = begin; row < end && rounds_; ++row)
      for (int r = 0; r < application.nrhs; ++r)
        round_gathered(plan_.bs, entry(x_, application, row, r), entry(gathered_, application, row, r));
  }

  void apply_diagonal(const Application &application, Row row, const double *in, double *out) const
  {
    (application.transposed ? multiply_transposed : multiply)(plan_.bs, matrix_.diagonal_map(row), in, out);
  }

  void add_product(const Application &application, const StoredTriangle &triangle, Row row, int r, std::vector<double> &sum)
  {
    const int           bs = plan_.bs;
    std::vector<double> block(static_cast<std::size_t>(bs) * bs), product(bs);
    for (Offset k = triangle.ptr[row]; k < triangle.ptr[row + 1]; ++k) {
      decode_block(matrix_.config().storage, bs, triangle.records + static_cast<std::size_t>(k) * matrix_.record_size(), block.data());
      multiply(bs, block.data(), entry(rounds_ ? gathered_ : x_, application, triangle.col[k], r), product.data());
      for (int i = 0; i < bs; ++i) sum[i] += product[i];
    }
  }

  const ColorPlan    &plan_;
  const bool          rounds_; // products read gathered_ instead of x_
  StoredMatrix        matrix_;
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
