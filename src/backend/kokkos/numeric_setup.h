// Numeric set-up by kernels of the execution space. It turns the values of the matrix into inverse
// diagonal blocks and stored off-diagonal blocks.
#pragma once

#include <bit>
#include <limits>

#include "backend/kokkos/operator.h"
#include "backend/kokkos/values_in_place.h"
#include "core/scale_updater.h"

namespace mcpi::kokkos {

template <class Space, class Style> class NumericSetup {
public:
  NumericSetup(const Space &space, const BackendConfig &config, Operator<Space, Style> &target,
               const ColorPlan &plan, const Row *row_of)
      : config_(config.numeric), target_(target), plan_(plan), row_of_(row_of),
        square_(static_cast<std::size_t>(plan.bs) * plan.bs), updater_(config.numeric, plan.bs)
  {
    diagonal_.resize(space, static_cast<std::size_t>(plan.rows) * square_);
    scales_.resize(space, 2 * static_cast<std::size_t>(plan.bs));
    maxima_.resize(space, square_ + 2);
    bad_.resize(space, 1);
  }

  // Collective, because of reduce. See StoredMatrix::refresh().
  int refresh(const Space &space, BlockRows &source, const MaxReduce &reduce, NumericStatus &status)
  {
    return updater_.refresh(
        [&](ScaleUpdater::Pass kind) {
          convert(space, source, kind == ScaleUpdater::Pass::store, status);
        },
        reduce, status);
  }

  const Scales &scales() const { return updater_.scales(); }
  const InverseRange &inverse_range() const { return inverse_range_; }
  const double *diagonal() const { return diagonal_.data(); }
  const double *left() const { return scales_.data(); }
  const double *right() const { return scales_.data() + plan_.bs; }
  std::size_t bytes() const
  {
    return diagonal_.bytes() + scales_.bytes() + maxima_.bytes() + values_.bytes() +
           replaced_.bytes() + in_place_.bytes();
  }

private:
  // most bytes of values at a time, unless a single row has more
  static constexpr std::size_t kMostBytes = 32UL << 20U;

  // Blocks of the plan rows before a row, diagonal blocks included
  Offset blocks_before(Row row) const { return row + plan_.lower.ptr[row] + plan_.upper.ptr[row]; }

  void convert(const Space &space, BlockRows &source, bool store, NumericStatus &status)
  {
    scales_.copy_in(space, scales().left.data(), scales().left.size());
    scales_.copy_in(space, scales().right.data(), scales().right.size(), scales().left.size());
    maxima_.fill(space, 0);
    bad_.fill(space, ~0ULL);
    SetupArgs args{};
    target_.set(args);
    args.row_of = row_of_;
    args.diagonal = diagonal_.data();
    args.left = left();
    args.right = right();
    args.maxima = maxima_.data();
    args.bad = bad_.data();
    args.prescaled = config_.form == PC_MCPI_FORM_PRESCALED;
    args.store = store;
    const ValueArrays arrays = source.arrays();
    if (arrays.device && arrays.diagonal) {
      const auto count = static_cast<std::size_t>(plan_.rows) * square_;
      if (replaced_.size() < count) replaced_.resize(space, count);
      replaced_.copy_in(space, arrays.diagonal, count);
      args.replaced = replaced_.data();
    }
    if (arrays.device) {
      in_place_.prepare(space, source, plan_);
      Kokkos::fence("mcpi values made"); // The matrix may have been assembled on any stream.
    }
    for (Row begin = 0; begin < plan_.rows;) {
      Row end = begin + 1;
      while (end < plan_.rows && numbers(begin, end + 1) * sizeof(double) <= kMostBytes) ++end;
      args.begin = begin;
      args.end = end;
      args.first = blocks_before(begin);
      args.values = arrays.device ? copy(space, arrays, args) : read(space, source, begin, end);
      invert_diagonals<Space>(space, team_size<Space>(Style::setup_team), args);
      target_.kernel_table().convert(space, args);
      begin = end;
    }
    unsigned long long bad = 0;
    std::vector<unsigned long long> maxima(square_ + 2);
    bad_.copy_out(space, &bad, 1);
    maxima_.copy_out(space, maxima.data(), maxima.size());
    if (bad != ~0ULL)
      status = {static_cast<Defect>(SetupArgs::kDefects - 1 - bad % SetupArgs::kDefects),
                static_cast<Row>(bad / SetupArgs::kDefects)};
    inverse_range_ = {std::bit_cast<double>(maxima[square_]),
                      std::bit_cast<double>(maxima[square_ + 1])};
    maxima.resize(square_);
    std::transform(maxima.begin(), maxima.end(), updater_.maxima().begin(),
                   [](unsigned long long bits) { return std::bit_cast<double>(bits); });
  }

  std::size_t numbers(Row begin, Row end) const
  {
    return static_cast<std::size_t>(blocks_before(end) - blocks_before(begin)) * square_;
  }

  // Copies the values of the plan rows [args.begin, args.end) to values_, from the memory of the
  // execution space.
  const double *copy(const Space &space, const ValueArrays &arrays, const SetupArgs &args)
  {
    const std::size_t count = numbers(args.begin, args.end);
    if (values_.size() < count) {
      space.fence("mcpi values"); // The previous values have been read.
      values_.resize(space, count);
    }
    in_place_.copy(space, arrays, args, values_.data());
    return values_.data();
  }
  // Reads the values of plan rows from host memory, row by row. Returns them where the execution
  // space can read them.
  const double *read(const Space &space, BlockRows &source, Row begin, Row end)
  {
    const std::size_t count = numbers(begin, end);
    space.fence("mcpi values"); // The previous values have been read.
    if (host_.size() < count) host_.resize(count);
    double *out = host_.data();
    for (Row row = begin; row < end; ++row) {
      const double *diagonal = nullptr;
      const double *const *offdiag = nullptr;
      source.row(plan_.row_of[row], diagonal, offdiag);
      out = std::copy_n(diagonal, square_, out);
      for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
        for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k)
          out = std::copy_n(offdiag[triangle->source[k]], square_, out);
    }
    if constexpr (reaches_host<Space>) return host_.data();
    if (values_.size() < count) values_.resize(space, count);
    values_.copy_in(space, host_.data(), count);
    return values_.data();
  }

  const NumericConfig config_;
  Operator<Space, Style> &target_;
  const ColorPlan &plan_;
  const Row *row_of_;
  const std::size_t square_;
  ScaleUpdater updater_;
  InverseRange inverse_range_;
  std::vector<double> host_;
  Array<Space, double> diagonal_, scales_, values_, replaced_;
  Array<Space, unsigned long long> maxima_, bad_;
  ValuesInPlace<Space, Style> in_place_;
};

} // namespace mcpi::kokkos
