#include "backend/host/entries_backend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <utility>

#include "core/held_exceptions.h"
#include "core/memory.h"
#include "core/scaling.h"
#include "core/sparse_factors.h"

namespace mcpi {
namespace {

// A block as it travels to another rank: the number of its entries, then places and values, with
// room for the entries of the fullest block
struct Record {
  explicit Record(std::size_t most) : most_(most) {}

  std::size_t bytes() const
  {
    return sizeof(std::uint64_t) + most_ * (sizeof(SparseEntries::Place) + sizeof(double));
  }
  void pack(const SparseEntries &from, std::size_t block, std::byte *record) const
  {
    const auto begin = static_cast<std::size_t>(from.begin[block]);
    const std::uint64_t count = static_cast<std::size_t>(from.begin[block + 1]) - begin;
    std::memset(record, 0, bytes());
    if (count == 0) return; // memcpy() takes no null pointer
    std::memcpy(record, &count, sizeof(count));
    std::memcpy(record + sizeof(count), from.value.data() + begin, count * sizeof(double));
    std::memcpy(record + sizeof(count) + most_ * sizeof(double), from.place.data() + begin,
                count * sizeof(SparseEntries::Place));
  }
  void unpack(const std::byte *record, SparseEntries *to) const
  {
    std::uint64_t count;
    std::memcpy(&count, record, sizeof(count));
    for (std::size_t k = 0; k < count; ++k) {
      double value;
      SparseEntries::Place place;
      std::memcpy(&value, record + sizeof(count) + k * sizeof(value), sizeof(value));
      std::memcpy(&place, record + sizeof(count) + most_ * sizeof(value) + k * sizeof(place),
                  sizeof(place));
      to->add(place.row, place.column, value);
    }
    to->end_block();
  }

private:
  std::size_t most_;
};

class EntriesBackend final : public Backend {
public:
  explicit EntriesBackend(const ColorPlan &plan)
      : plan_(plan), factors_(plan.bs), scales_(unit_scales(plan.bs))
  {
  }

  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status) override
  {
    unsigned long long bad = kNoBadRow;
    const HeldExceptions hold; // factors out of range are singular blocks
    factors_.clear();
    lower_.clear();
    upper_.clear();
    most_ = 0;
    // A rank whose memory ends still takes part in the reduction.
    try {
      for (Row row = 0; row < plan_.rows; ++row) {
        const Defect defect = read_row(row, source);
        if (defect != Defect::none) bad = std::min(bad, bad_key(plan_.row_of[row], defect));
      }
    } catch (const std::exception &error) {
      status.defect = Defect::backend;
      status.problem = error.what();
    }
    lower_.shrink();
    upper_.shrink();
    factors_.shrink();
    if (status.defect == Defect::none) status.set(bad);
    double most = static_cast<double>(most_);
    const int error = reduce(&most, 1);
    most_ = static_cast<std::size_t>(most);
    return error;
  }

  void pack_records(const std::vector<Offset> &stored, std::byte *records) override
  {
    const Record record(most_);
    for (std::size_t k = 0; k < stored.size(); ++k) {
      const auto [entries, block] = at(static_cast<std::size_t>(stored[k]));
      record.pack(*entries, block, records + k * record.bytes());
    }
  }

  // The blocks of the transposed plan, before they are transposed: add_entries() transposes them.
  void build_transposed(const ColorPlan &plan, const std::byte *received) override
  {
    const Record record(most_);
    const auto own = static_cast<std::size_t>(plan_.blocks());
    const auto collect = [&](const Triangle &triangle) {
      SparseEntries collected;
      for (const Offset source : triangle.source) {
        const auto number = static_cast<std::size_t>(source);
        if (number >= own) {
          record.unpack(received + (number - own) * record.bytes(), &collected);
          continue;
        }
        const auto [entries, block] = at(number);
        for (Offset k = entries->begin[block]; k < entries->begin[block + 1]; ++k)
          collected.add(entries->place[k].row, entries->place[k].column, entries->value[k]);
        collected.end_block();
      }
      return collected;
    };
    transposed_plan_ = &plan;
    transposed_lower_ = collect(plan.lower);
    transposed_upper_ = collect(plan.upper);
  }

  OperatorInfo info() const override
  {
    const auto of = [](const SparseEntries &entries) {
      return bytes_of(entries.begin, entries.place, entries.value);
    };
    const double bytes = of(lower_) + of(upper_) + of(transposed_lower_) + of(transposed_upper_) +
                         bytes_of(x_, rhs_, kept_, near_, far_, update_);
    OperatorInfo result;
    result.record_bytes = Record(most_).bytes();
    result.memory_bytes = static_cast<std::size_t>(bytes) + factors_.memory_bytes();
    result.scales = &scales_;
    const auto mean = [](std::size_t entries, std::size_t count) {
      return static_cast<double>(std::max<std::size_t>(entries, 1)) /
             static_cast<double>(std::max<std::size_t>(count, 1));
    };
    result.block_entries =
        mean(lower_.value.size() + upper_.value.size(), static_cast<std::size_t>(plan_.blocks()));
    result.factor_entries = mean(factors_.entries(), static_cast<std::size_t>(plan_.rows));
    return result;
  }

  std::unique_ptr<Backend> with_vectors(bool double_vectors, bool, bool) override
  {
    if (!double_vectors) return nullptr;
    return std::make_unique<EntriesBackend>(std::move(*this));
  }

  void reserve(int nrhs) override
  {
    const std::size_t local = static_cast<std::size_t>(plan_.rows) * plan_.bs * nrhs;
    const std::size_t all = local + static_cast<std::size_t>(plan_.ghosts) * plan_.bs * nrhs;
    if (x_.size() < all) x_.resize(all);
    if (rhs_.size() < local) rhs_.resize(local);
    if (kept_.size() < local) kept_.resize(local);
  }
  void load_rhs(const ApplyArgs &apply, const ConstColumns &b) override
  {
    reserve(apply.nrhs);
    load(apply, b, rhs_);
  }
  void load_guess(const ApplyArgs &apply, const ConstColumns &x) override
  {
    reserve(apply.nrhs);
    load(apply, x, x_);
  }
  void store(const ApplyArgs &apply, const MutableColumns &x) override
  {
    for_rows(apply, x, x_, [&](double *out, const double *in) {
      for (int i = 0; i < plan_.bs; ++i) out[i] = in[i] / apply.scale;
    });
  }

  void relax(const ApplyArgs &apply, const RelaxStep &step) override
  {
    for (Row k = 0; k < step.end - step.begin; ++k)
      for (int r = 0; r < apply.nrhs; ++r)
        relax_row(apply, step, step.forward ? step.begin + k : step.end - 1 - k, r);
  }

  void *vector() override { return x_.data(); }
  RowBytes row_bytes(const ApplyArgs &apply) const override
  {
    return {sizeof(double) * plan_.bs * apply.nrhs, 0};
  }
  void transfer(const ApplyArgs &apply, Row begin, Row end, Transfer kind, bool) override
  {
    if (kind == Transfer::zero)
      std::fill(entry(x_, apply, begin, 0), entry(x_, apply, end, 0), 0.0);
  }

private:
  // Where the entries of a stored block are. Blocks are numbered from the lower to the upper
  // triangle.
  std::pair<const SparseEntries *, std::size_t> at(std::size_t stored) const
  {
    const std::size_t lower = plan_.lower.col.size();
    if (stored < lower) return {&lower_, stored};
    return {&upper_, stored - lower};
  }

  double *entry(std::vector<double> &v, const ApplyArgs &apply, Row row, int r) const
  {
    return v.data() + (static_cast<std::size_t>(row) * apply.nrhs + r) * plan_.bs;
  }

  // Calls work(numbers of the user's array, numbers of v) for each row and right-hand side.
  template <class Number, class Work>
  void for_rows(const ApplyArgs &apply, const Columns<Number> &of, std::vector<double> &v,
                const Work &work) const
  {
    for (Row row = 0; row < plan_.rows; ++row)
      for (int r = 0; r < apply.nrhs; ++r)
        work(of.data + r * of.ld + static_cast<std::ptrdiff_t>(plan_.row_of[row]) * plan_.bs,
             entry(v, apply, row, r));
  }
  void load(const ApplyArgs &apply, const ConstColumns &from, std::vector<double> &to) const
  {
    for_rows(apply, from, to, [&](const double *in, double *out) {
      for (int i = 0; i < plan_.bs; ++i) out[i] = in[i] * apply.scale;
    });
  }

  Defect read_row(Row row, BlockRows &source)
  {
    const double *diagonal;
    const double *const *offdiag;
    bool finite = true;
    source.row(plan_.row_of[row], diagonal, offdiag);
    const Inversion verdict = factors_.add(diagonal, source.empty_of(plan_.row_of[row], plan_.bs));
    const auto read = [&](const Triangle &triangle, SparseEntries &entries) {
      for (Offset k = triangle.ptr[row]; k < triangle.ptr[row + 1]; ++k)
        finite = read_block(offdiag[triangle.source[k]], entries) && finite;
    };
    read(plan_.lower, lower_);
    read(plan_.upper, upper_);
    return std::max(defect_of(verdict), finite ? Defect::none : Defect::nonfinite_offdiagonal);
  }

  bool read_block(const double *block, SparseEntries &entries)
  {
    bool finite = true;
    for (int j = 0; j < plan_.bs; ++j)
      for (int i = 0; i < plan_.bs; ++i) {
        const double number = block[static_cast<std::size_t>(j) * plan_.bs + i];
        if (number == 0.0) continue;
        finite = finite && std::isfinite(number);
        entries.add(i, j, number);
      }
    most_ = std::max(most_, static_cast<std::size_t>(static_cast<Offset>(entries.value.size()) -
                                                     entries.begin.back()));
    entries.end_block();
    return finite;
  }

  void add_products(const ApplyArgs &apply, bool lower, Row row, int r, std::vector<double> &sum)
  {
    const ColorPlan &plan = apply.transposed ? *transposed_plan_ : plan_;
    const Triangle &triangle = lower ? plan.lower : plan.upper;
    const SparseEntries &entries = apply.transposed
                                       ? (lower ? transposed_lower_ : transposed_upper_)
                                       : (lower ? lower_ : upper_);
    for (Offset k = triangle.ptr[row]; k < triangle.ptr[row + 1]; ++k)
      add_entries(entries, static_cast<std::size_t>(k), apply.transposed,
                  entry(x_, apply, triangle.col[k], r), sum.data());
  }

  void relax_row(const ApplyArgs &apply, const RelaxStep &step, Row row, int r)
  {
    const int bs = plan_.bs;
    near_.assign(bs, 0.0);
    far_.assign(bs, 0.0);
    update_.resize(bs);
    if (step.lower) add_products(apply, true, row, r, step.keep_lower ? near_ : far_);
    if (step.upper) add_products(apply, false, row, r, step.keep_lower ? far_ : near_);
    const double *rhs = entry(rhs_, apply, row, r);
    double *x = entry(x_, apply, row, r), *kept = entry(kept_, apply, row, r);
    for (int i = 0; i < bs; ++i)
      far_[i] = rhs[i] - (near_[i] + far_[i] + (step.use_kept ? kept[i] : 0.0));
    if (step.keep == Keep::sum) std::copy(near_.begin(), near_.end(), kept);
    if (step.keep == Keep::zero) std::fill(kept, kept + bs, 0.0);
    factors_.solve(static_cast<std::size_t>(row), apply.transposed, far_.data(), update_.data());
    for (int i = 0; i < bs; ++i)
      x[i] = (step.from_zero ? 0.0 : (1.0 - apply.omega) * x[i]) + apply.omega * update_[i];
  }

  const ColorPlan &plan_;
  const ColorPlan *transposed_plan_ = nullptr;
  SparseFactors factors_; // of the diagonal blocks, in plan order
  Scales scales_;         // units
  SparseEntries lower_, upper_, transposed_lower_, transposed_upper_;
  std::size_t most_ = 0; // the entries of the fullest off-diagonal block of all ranks
  std::vector<double> x_, rhs_, kept_;
  std::vector<double> near_, far_, update_; // of one row
};

} // namespace

std::unique_ptr<Backend> make_entries_backend(const ColorPlan &plan)
{
  return std::make_unique<EntriesBackend>(plan);
}

} // namespace mcpi
