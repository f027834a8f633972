#include "core/stored_matrix.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/codec.h"
#include "core/dense.h"
#include "core/held_exceptions.h"

namespace mcpi {
StoredMatrix::StoredMatrix(const ColorPlan &plan, const NumericConfig &config,
                           const CpuKernels &kernels)
    : plan_(plan), config_(config), kernels_(kernels),
      block_size_squared_(static_cast<std::size_t>(plan.bs) * plan.bs),
      record_size_(record_bytes(config.storage, plan.bs)), updater_(config, plan.bs),
      dmap_(plan.rows * block_size_squared_), left_(block_size_squared_),
      inverse_(block_size_squared_), work_(3 * static_cast<std::size_t>(plan.bs)), pivot_(plan.bs),
      lower_(plan.lower.col.size() * record_size_ + kReadPadding),
      upper_(plan.upper.col.size() * record_size_ + kReadPadding)
{
  const std::size_t longest = std::max(longest_row(plan.lower.ptr), longest_row(plan.upper.ptr));
  scaled_.resize(longest * block_size_squared_);
  pointers_.resize(longest);
}

Defect StoredMatrix::convert_triangle(const Triangle &triangle, Row plan_row,
                                      const double *const *offdiag, Pass pass, std::byte *records)
{
  const Offset begin = triangle.ptr[plan_row];
  const int count = static_cast<int>(triangle.ptr[plan_row + 1] - begin);
  if (count == 0) return Defect::none;
  for (int k = 0; k < count; ++k) pointers_[k] = offdiag[triangle.source[begin + k]];
  std::byte *out = records + static_cast<std::size_t>(begin) * record_size_;
  if (!kernels_.premultiply(plan_.bs, left_.data(), scales().right.data(), pointers_.data(), count,
                            scaled_.data(), updater_.maxima().data())) {
    std::fill(out, out + static_cast<std::size_t>(count) * record_size_, std::byte{0});
    const auto finite_block = [this](const double *block) {
      return std::all_of(block, block + block_size_squared_,
                         [](double value) { return std::isfinite(value); });
    };
    return std::all_of(pointers_.begin(), pointers_.begin() + count, finite_block)
               ? Defect::unrepresentable
               : Defect::nonfinite_offdiagonal;
  }
  if (pass == Pass::maxima_only) return Defect::none;
  return kernels_.encode(config_.storage, plan_.bs, scaled_.data(), count, out) < 0
             ? Defect::none
             : Defect::unrepresentable;
}

Defect StoredMatrix::convert_row(Row plan_row, BlockRows &source, Pass pass)
{
  const int bs = plan_.bs;
  const double *diagonal = nullptr;
  const double *const *offdiag = nullptr;
  const Row row = plan_.row_of[plan_row];
  source.row(row, diagonal, offdiag);
  double *dmap = dmap_.data() + static_cast<std::size_t>(plan_row) * block_size_squared_;
  double condition = 0.0;
  const Inversion verdict = invert_rest(bs, diagonal, source.empty_of(row, bs), inverse_.data(),
                                        work_.data(), pivot_.data(), &condition);
  if (verdict != Inversion::done) return defect_of(verdict);
  inverse_range_.condition = std::max(inverse_range_.condition, condition);
  // See diagonal_map() and Scales for the two forms.
  const bool prescaled = config_.form == PC_MCPI_FORM_PRESCALED;
  for (int j = 0; j < bs; ++j) {
    double largest = 0.0;
    for (int i = 0; i < bs; ++i) {
      const double d = inverse_[j * bs + i];
      dmap[j * bs + i] = d / scales().right[i] / (prescaled ? 1.0 : scales().left[j]);
      largest = std::max(largest, std::fabs(dmap[j * bs + i]));
      left_[j * bs + i] = prescaled ? scales().left[i] * d : (i == j ? scales().left[i] : 0.0);
    }
    if (!std::isfinite(largest)) return Defect::unrepresentable;
    inverse_range_.include(largest);
  }
  const Defect lower = convert_triangle(plan_.lower, plan_row, offdiag, pass, lower_.data());
  const Defect upper = convert_triangle(plan_.upper, plan_row, offdiag, pass, upper_.data());
  return std::max(lower, upper);
}

void StoredMatrix::convert(BlockRows &source, Pass pass, NumericStatus &status)
{
  const HeldExceptions held;
  status = NumericStatus();
  inverse_range_ = InverseRange();
  for (Row row = 0; row < plan_.rows; ++row) {
    const Defect defect = convert_row(row, source, pass);
    if (defect == Defect::none || (status.row >= 0 && status.row < plan_.row_of[row])) continue;
    status = {defect, plan_.row_of[row]};
  }
}

int StoredMatrix::refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status)
{
  const auto pass = [&](Pass kind) { convert(source, kind, status); };
  // std::function allocates nothing for a reference.
  return updater_.refresh(std::cref(pass), reduce, status);
}

const std::byte *StoredMatrix::record(Offset stored) const
{
  const Offset lowers = static_cast<Offset>(plan_.lower.col.size());
  return stored < lowers ? lower_.data() + static_cast<std::size_t>(stored) * record_size_
                         : upper_.data() + static_cast<std::size_t>(stored - lowers) * record_size_;
}

void StoredMatrix::pack_records(const std::vector<Offset> &stored, std::byte *records) const
{
  for (const Offset block : stored) {
    std::copy_n(record(block), record_size_, records);
    records += record_size_;
  }
}

void StoredMatrix::adopt_records(const std::byte *records)
{
  const std::size_t lower = plan_.lower.col.size() * record_size_,
                    upper = plan_.upper.col.size() * record_size_;
  std::copy_n(records, lower, lower_.data());
  std::copy_n(records + lower, upper, upper_.data());
}

void StoredMatrix::build_transposed(const ColorPlan &transposed, const std::byte *received)
{
  transposed_plan_ = &transposed;
  const auto fill = [&](const Triangle &triangle, std::vector<std::byte> &records) {
    records.resize(triangle.col.size() * record_size_ + kReadPadding);
    std::byte *out = records.data();
    for (const Offset stored : triangle.source) {
      const Offset remote = stored - plan_.blocks();
      transpose_record(config_.storage, plan_.bs,
                       remote < 0 ? record(stored)
                                  : received + static_cast<std::size_t>(remote) * record_size_,
                       out);
      out += record_size_;
    }
  };
  fill(transposed.lower, transposed_lower_);
  fill(transposed.upper, transposed_upper_);
}

StoredTriangle StoredMatrix::lower(bool transposed) const
{
  const Triangle &triangle = transposed ? transposed_plan_->lower : plan_.lower;
  return {triangle.ptr.data(), triangle.col.data(),
          (transposed ? transposed_lower_ : lower_).data(),
          static_cast<Offset>(triangle.col.size())};
}

StoredTriangle StoredMatrix::upper(bool transposed) const
{
  const Triangle &triangle = transposed ? transposed_plan_->upper : plan_.upper;
  return {triangle.ptr.data(), triangle.col.data(),
          (transposed ? transposed_upper_ : upper_).data(),
          static_cast<Offset>(triangle.col.size())};
}

std::size_t StoredMatrix::memory_bytes() const
{
  return dmap_.size() * sizeof(double) + lower_.size() + upper_.size() + transposed_lower_.size() +
         transposed_upper_.size();
}

} // namespace mcpi
