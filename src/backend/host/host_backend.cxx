// The host backend: sweeps of one rank on one CPU core. Products of small blocks update x row by
// row. If they read x itself, one call takes all parts of a step. All other rows are relaxed part
// by part in tiles. The sums of a tile stay in cache until x is updated.
#include "backend/host/host_backend.h"

#include <algorithm>
#include <utility>

#include "backend/host/tuning.h"
#include "core/dense.h"
#include "core/dispatch.h"
#include "core/gather.h"
#include "core/plan_parts.h"

namespace mcpi {
namespace {

// y = factor * m * x or y = factor * m' * x, computed in double. x and y are in the vectors'
// precision. Loops are unrolled, so that sums stay in registers.
template <int BS, class In, class Out>
void apply_small(int, bool transposed, const double *m, const In *x, double factor, Out *y)
{
  double sum[BS] = {};
  if (transposed) {
#pragma GCC unroll 8
    for (int i = 0; i < BS; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < BS; ++j) sum[i] += m[i * BS + j] * x[j];
  } else {
#pragma GCC unroll 8
    for (int j = 0; j < BS; ++j)
#pragma GCC unroll 8
      for (int i = 0; i < BS; ++i) sum[i] += m[j * BS + i] * x[j];
  }
#pragma GCC unroll 8
  for (int i = 0; i < BS; ++i) y[i] = static_cast<Out>(factor * sum[i]);
}

template <class In, class Out>
void apply_any(int bs, bool transposed, const double *m, const In *x, double factor, Out *y)
{
  for (int i = 0; i < bs; ++i) {
    double sum = 0.0;
    for (int j = 0; j < bs; ++j) sum += (transposed ? m[i * bs + j] : m[j * bs + i]) * x[j];
    y[i] = static_cast<Out>(factor * sum);
  }
}

template <class In, class Out>
using ApplyFn = void (*)(int, bool, const double *, const In *, double, Out *);

template <class In, class Out> ApplyFn<In, Out> select_apply(int bs)
{
  return with_block_size<1, 8>(bs, []<int size> {
    if constexpr (size == 0)
      return ApplyFn<In, Out>(apply_any<In, Out>);
    else
      return ApplyFn<In, Out>(apply_small<size, In, Out>);
  });
}

std::unique_ptr<Backend> make(const ColorPlan &plan, const BackendConfig &config,
                              const CpuKernels &kernels, std::unique_ptr<StoredMatrix> matrix);

// X: a number of the vectors in a sweep. x, rhs, kept and gathered are in plan order: component i
// of a row and right-hand side r is entry (row*nrhs + r)*bs + i.
template <class X> class HostBackend final : public Backend {
public:
  HostBackend(const ColorPlan &plan, const BackendConfig &config, const CpuKernels &kernels,
              std::unique_ptr<StoredMatrix> matrix)
      : plan_(plan), config_(config), kernels_(kernels), bs_(plan.bs), rounds_(config.bfp16_gather),
        stored_(std::move(matrix)), matrix_(*stored_),
        product_(kernels.product(config.numeric.storage, config.double_vectors, plan.bs)),
        fused_(prescaled() && product_.updates),
        in_sequence_(relaxes_in_sequence(config, plan.bs, kernels)),
        to_rhs_(select_apply<double, X>(plan.bs)),
        to_solution_(select_apply<double, double>(plan.bs)), in_sweep_(select_apply<X, X>(plan.bs)),
        scratch_(plan.bs), wide_(plan.bs)
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
  void build_transposed(const ColorPlan &plan, const std::byte *received) override
  {
    matrix_.build_transposed(plan, received);
  }

  std::unique_ptr<Backend> with_vectors(bool double_vectors, bool bfp16_gather, bool) override
  {
    BackendConfig config = config_;
    config.double_vectors = double_vectors;
    config.bfp16_gather = bfp16_gather;
    return make(plan_, config, kernels_, std::move(stored_));
  }

  void reserve(int nrhs) override
  {
    const std::size_t entry = static_cast<std::size_t>(bs_) * nrhs, local = plan_.rows * entry;
    constexpr std::size_t padding = kReadPadding / sizeof(X);
    const std::size_t all = local + plan_.ghosts * entry + padding;
    const std::size_t tile = std::max<std::size_t>(HostTuning::kTileValues, entry);
    if (x_.size() < all) x_.resize(all);
    if (rounds_ && gathered_.size() < all) gathered_.resize(all);
    if (rhs_.size() < local + padding) rhs_.resize(local + padding);
    if (kept_.size() < local + padding) kept_.resize(local + padding);
    if (fused_) return;
    if (sums_.size() < tile) sums_.resize(tile);
    if (other_sums_.size() < tile) other_sums_.resize(tile);
  }
  void load_rhs(const ApplyArgs &apply, const ConstColumns &b) override
  {
    reserve(apply.nrhs);
    const bool map = prescaled() && !apply.transposed;
    const double *scale =
        (apply.transposed ? matrix_.scales().right : matrix_.scales().left).data();
    for_entries(apply, rhs_, [&](Row row, int r, X *rhs) {
      const double *in = column(b, r) + offset(row);
      if (map) {
        to_rhs_(bs_, false, matrix_.diagonal_map(row), in, apply.scale, rhs);
      } else {
        for (int i = 0; i < bs_; ++i) rhs[i] = static_cast<X>(in[i] * scale[i] * apply.scale);
      }
    });
  }

  void load_guess(const ApplyArgs &apply, const ConstColumns &x) override
  {
    reserve(apply.nrhs);
    for_entries(apply, x_, [&](Row row, int r, X *guess) {
      const double *in = column(x, r) + offset(row);
      for (int i = 0; i < bs_; ++i)
        guess[i] = static_cast<X>(in[i] * apply.scale / matrix_.scales().right[i]);
    });
    round_rows(apply, 0, plan_.rows);
  }

  void transfer(const ApplyArgs &apply, Row begin, Row end, Transfer kind, bool) override
  {
    const std::size_t entry = static_cast<std::size_t>(bs_) * apply.nrhs;
    if (kind == Transfer::publish) return;
    if (kind == Transfer::zero) std::fill_n(x_.data() + begin * entry, (end - begin) * entry, X(0));
    round_rows(apply, begin, end);
  }

  void relax(const ApplyArgs &apply, const RelaxStep &step) override
  {
    if (in_sequence_) {
      relax_rows(apply, step, step.begin, step.end);
      return;
    }
    for_parts(parts_, step.begin, step.end, step.forward,
              [&](Row begin, Row end) { relax_part(apply, step, begin, end); });
  }

  void store(const ApplyArgs &apply, const MutableColumns &x) override
  {
    const bool map = prescaled() && apply.transposed;
    const double *scale =
        (apply.transposed ? matrix_.scales().left : matrix_.scales().right).data();
    for_entries(apply, x_, [&](Row row, int r, const X *solution) {
      double *out = column(x, r) + offset(row);
      if (map) {
        // Products with numbers in the scale of the vectors could overflow.
        for (int i = 0; i < bs_; ++i) wide_[i] = static_cast<double>(solution[i]) / apply.scale;
        to_solution_(bs_, true, matrix_.diagonal_map(row), wide_.data(), 1.0, out);
      } else {
        for (int i = 0; i < bs_; ++i)
          out[i] = static_cast<double>(solution[i]) / apply.scale * scale[i];
      }
    });
  }

  void *vector() override { return x_.data(); }
  RowBytes row_bytes(const ApplyArgs &apply) const override
  {
    const std::size_t entry = sizeof(X) * bs_ * apply.nrhs;
    return {entry, rounds_ ? entry : 0};
  }
  OperatorInfo info() const override
  {
    const std::size_t vectors = x_.size() + gathered_.size() + rhs_.size() + kept_.size() +
                                sums_.size() + other_sums_.size();
    return {matrix_.record_size(), matrix_.memory_bytes() + sizeof(X) * vectors,
            matrix_.inverse_range(), &matrix_.scales()};
  }

private:
  bool prescaled() const { return matrix_.config().form == PC_MCPI_FORM_PRESCALED; }
  std::ptrdiff_t offset(Row row) const
  {
    return static_cast<std::ptrdiff_t>(plan_.row_of[row]) * bs_;
  }

  template <class Number> static Number *column(const Columns<Number> &columns, int r)
  {
    return columns.data + r * columns.ld;
  }

  template <class Visit>
  void for_entries(const ApplyArgs &apply, std::vector<X> &v, const Visit &visit)
  {
    X *entry = v.data();
    for (Row row = 0; row < plan_.rows; ++row)
      for (int r = 0; r < apply.nrhs; ++r, entry += bs_) visit(row, r, entry);
  }

  // Writes the rounded copy of the plan columns [begin, end) of x, if products read it.
  void round_rows(const ApplyArgs &apply, Row begin, Row end)
  {
    if (!rounds_) return;
    const std::size_t entry = static_cast<std::size_t>(bs_) * apply.nrhs;
    for (std::size_t at = begin * entry; at < end * entry; at += bs_)
      round_gathered(bs_, x_.data() + at, gathered_.data() + at);
  }

  // Relaxes the rows [begin, end) of one part tile by tile.
  void relax_part(const ApplyArgs &apply, const RelaxStep &step, Row begin, Row end)
  {
    const Row most = std::max(1, HostTuning::kTileValues / (bs_ * apply.nrhs)), count = end - begin;
    const bool up = step.forward || !fused_;
    if (!step.forward && plan_.clustered && count <= most) fetch_before(apply, step, begin, end);
    for (Row done = 0, rows; done < count; done += rows) {
      rows = std::min(most, count - done);
      const Row first = up ? begin + done : end - done - rows;
      relax_rows(apply, step, first, first + rows);
    }
  }

  // Prefetches vectors and columns of the part before these rows, which a backward pass relaxes
  // next. It has about as many rows. No CPU foresees the jump back.
  void fetch_before(const ApplyArgs &apply, const RelaxStep &step, Row begin, Row end) const
  {
    const Row before = std::max(0, begin - (end - begin));
    const auto fetch = [](const auto *from, const auto *to) {
      const auto *last = reinterpret_cast<const std::byte *>(to);
      for (const auto *at = reinterpret_cast<const std::byte *>(from); at < last; at += kLineBytes)
        __builtin_prefetch(at);
    };
    const std::size_t entry = static_cast<std::size_t>(bs_) * apply.nrhs;
    for (const std::vector<X> *vector : {&rhs_, &x_, &kept_})
      fetch(vector->data() + before * entry, vector->data() + begin * entry);
    for (const bool lower : {true, false}) {
      if (!(lower ? step.lower : step.upper)) continue;
      const StoredTriangle triangle =
          lower ? matrix_.lower(apply.transposed) : matrix_.upper(apply.transposed);
      fetch(triangle.ptr + before, triangle.ptr + begin);
      fetch(triangle.col + triangle.ptr[before], triangle.col + triangle.ptr[begin]);
    }
  }

  // The arguments of products of the rows [begin, end) over one or two triangles
  ProductArgs product_args(const ApplyArgs &apply, Row begin, Row end, const StoredTriangle *first,
                           const StoredTriangle *second) const
  {
    ProductArgs args;
    if (first) args.triangles[args.count++] = *first;
    if (second) args.triangles[args.count++] = *second;
    args.bs = bs_;
    args.nrhs = apply.nrhs;
    args.begin = begin;
    args.end = end;
    args.far = x_.size() * sizeof(X) > HostTuning::kNearBytes;
    args.x = (rounds_ ? gathered_ : x_).data();
    return args;
  }

  // Relaxes the rows [begin, end). The triangle whose sum is kept comes first.
  void relax_rows(const ApplyArgs &apply, const RelaxStep &step, Row begin, Row end)
  {
    const StoredTriangle lower = matrix_.lower(apply.transposed),
                         upper = matrix_.upper(apply.transposed);
    const StoredTriangle *first = step.lower ? &lower : nullptr,
                         *second = step.upper ? &upper : nullptr;
    if (step.keep == Keep::sum && !step.keep_lower) std::swap(first, second);
    const ProductArgs args = product_args(apply, begin, end, first, second);
    if (fused_)
      update_by_product(apply, step, args);
    else
      update_by_sums(apply, step, args);
    round_rows(apply, begin, end);
  }

  void update_by_product(const ApplyArgs &apply, const RelaxStep &step, ProductArgs args)
  {
    RowUpdate update;
    update.rhs = rhs_.data();
    update.x = x_.data();
    update.kept = kept_.data();
    update.alpha = matrix_.scales().alpha;
    update.omega = apply.omega;
    update.from_zero = step.from_zero;
    update.add_kept = step.use_kept;
    update.keep = step.keep;
    args.update = &update;
    args.descending = !step.forward;
    product_(args);
  }

  // If a sum is kept and both triangles are read, the two triangles are summed one after the other.
  void update_by_sums(const ApplyArgs &apply, const RelaxStep &step, ProductArgs args)
  {
    const std::size_t entry = static_cast<std::size_t>(bs_) * apply.nrhs,
                      first = args.begin * entry, count = (args.end - args.begin) * entry;
    X *sums = sums_.data(), *kept = kept_.data() + first;
    args.sums = sums;
    if (step.keep == Keep::sum && args.count == 2) {
      args.count = 1;
      product_(args);
      std::swap(args.triangles[0], args.triangles[1]);
      args.sums = other_sums_.data();
      product_(args);
      for (std::size_t i = 0; i < count; ++i) kept[i] = sums[i];
      for (std::size_t i = 0; i < count; ++i) sums[i] += other_sums_[i];
    } else {
      product_(args);
      for (std::size_t i = 0; i < count && (step.use_kept || step.keep != Keep::no); ++i) {
        const X near = sums[i];
        if (step.use_kept) sums[i] += kept[i];
        if (step.keep != Keep::no) kept[i] = step.keep == Keep::sum ? near : X(0);
      }
    }
    update_rows(apply, step, args.begin, args.end, first, count);
  }

  // Turns the tile's sums in sums_ into residuals, multiplies these by inverse diagonal blocks if
  // the form is not prescaled, and updates x.
  void update_rows(const ApplyArgs &apply, const RelaxStep &step, Row begin, Row end,
                   std::size_t first, std::size_t count)
  {
    const X alpha = static_cast<X>(matrix_.scales().alpha), omega = static_cast<X>(apply.omega),
            old = X(1) - omega;
    const X *rhs = rhs_.data() + first;
    X *sums = sums_.data(), *x = x_.data() + first;
    for (std::size_t i = 0; i < count; ++i) sums[i] = rhs[i] - alpha * sums[i];
    if (!prescaled()) {
      X *residual = sums;
      for (Row row = begin; row < end; ++row)
        for (int r = 0; r < apply.nrhs; ++r, residual += bs_) {
          in_sweep_(bs_, apply.transposed, matrix_.diagonal_map(row), residual, 1.0,
                    scratch_.data());
          std::copy(scratch_.begin(), scratch_.end(), residual);
        }
    }
    if (apply.omega == 1.0) {
      std::copy_n(sums, count, x);
    } else if (step.from_zero) {
      for (std::size_t i = 0; i < count; ++i) x[i] = omega * sums[i];
    } else {
      for (std::size_t i = 0; i < count; ++i) x[i] = old * x[i] + omega * sums[i];
    }
  }

  const ColorPlan &plan_;
  const BackendConfig config_;
  const CpuKernels &kernels_;
  const std::vector<Row> parts_ = part_begins(plan_);
  const int bs_;
  const bool rounds_; // whether products read gathered_ instead of x_
  std::unique_ptr<StoredMatrix> stored_;
  StoredMatrix &matrix_; // *stored_
  ProductKernel product_;
  const bool fused_;       // whether products update x
  const bool in_sequence_; // see relaxes_in_sequence()
  ApplyFn<double, X> to_rhs_;
  ApplyFn<double, double> to_solution_;
  ApplyFn<X, X> in_sweep_;
  std::vector<X> x_, gathered_, rhs_, kept_, sums_, other_sums_, scratch_;
  std::vector<double> wide_; // a row of the solution
};

std::unique_ptr<Backend> make(const ColorPlan &plan, const BackendConfig &config,
                              const CpuKernels &kernels, std::unique_ptr<StoredMatrix> matrix)
{
  if (config.double_vectors)
    return std::make_unique<HostBackend<double>>(plan, config, kernels, std::move(matrix));
  return std::make_unique<HostBackend<float>>(plan, config, kernels, std::move(matrix));
}

} // namespace

bool relaxes_in_sequence(const BackendConfig &config, int bs, const CpuKernels &kernels)
{
  return config.numeric.form == PC_MCPI_FORM_PRESCALED && !config.bfp16_gather &&
         kernels.product(config.numeric.storage, config.double_vectors, bs).updates;
}

std::unique_ptr<Backend> make_host_backend(const ColorPlan &plan, const BackendConfig &config,
                                           const CpuKernels &kernels)
{
  return make(plan, config, kernels, std::make_unique<StoredMatrix>(plan, config.numeric, kernels));
}

} // namespace mcpi
