#include "core/scale_updater.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

namespace mcpi {
namespace {

bool finite(const std::vector<double> &values)
{
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

} // namespace

ScaleUpdater::ScaleUpdater(const NumericConfig &config, int bs, bool limited)
    : config_(config), bs_(bs), limited_(limited), methods_(bs), scales_(unit_scales(bs)),
      candidate_(scales_), maxima_(static_cast<std::size_t>(bs) * bs),
      global_maxima_(maxima_.size() + 2)
{
}

void ScaleUpdater::take(const ScaleUpdater &from)
{
  scales_ = from.scales_;
  have_scales_ = from.have_scales_;
  largest_ = from.largest_;
}

// Sets global_maxima_ to the maxima of the unscaled values over all ranks. Two more entries follow.
// The first is 1 if a value on some rank does not fit in the storage precision, else 0. The second
// is 1 if some rank has another defect, else 0.
int ScaleUpdater::reduce_maxima(const MaxReduce &reduce, const NumericStatus &status)
{
  for (int q = 0; q < bs_; ++q)
    for (int p = 0; p < bs_; ++p) {
      const double value = maxima_[p + q * bs_] / scales_.left[p] / scales_.right[q];
      // The result of MPI_MAX with a NaN is undefined.
      global_maxima_[p + q * bs_] =
          std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
    }
  const bool unrepresentable = status.defect == Defect::unrepresentable;
  global_maxima_[maxima_.size()] = unrepresentable ? 1.0 : 0.0;
  global_maxima_[maxima_.size() + 1] =
      status.defect != Defect::none && !unrepresentable ? 1.0 : 0.0;
  return reduce(global_maxima_.data(), static_cast<int>(global_maxima_.size()));
}

int ScaleUpdater::refresh(const std::function<void(Pass)> &convert, const MaxReduce &reduce,
                          NumericStatus &status)
{
  const auto pass = [&](Pass kind) {
    status = NumericStatus();
    std::fill(maxima_.begin(), maxima_.end(), 0.0);
    try {
      convert(kind);
    } catch (const std::exception &e) { // the other ranks wait in the reduction, so go on
      status = {Defect::backend, 0, e.what()};
      std::fill(maxima_.begin(), maxima_.end(), std::numeric_limits<double>::infinity());
    }
  };
  const bool first = !(have_scales_ && config_.keep_scales);
  pass(first ? Pass::maxima_only : Pass::store);
  if (const int error = reduce_maxima(reduce, status)) return error;
  const bool unrepresentable = global_maxima_[maxima_.size()] != 0.0,
             worse = global_maxima_[maxima_.size() + 1] != 0.0;
  if (!finite(global_maxima_)) {
    // Some rank reports a bad row. If there is a real defect, a row that has only outgrown the old
    // scales must not be reported instead.
    if (!first && worse && status.defect == Defect::unrepresentable) pass(Pass::maxima_only);
    return 0;
  }
  compute_scales(config_.form, config_.storage, bs_, global_maxima_, methods_, candidate_);
  const bool other = scales_.left != candidate_.left || scales_.right != candidate_.right;
  const double largest = largest_scaled(bs_, global_maxima_, scales_);
  const bool outgrown =
      limited_ && (largest / kGrowth > largest_ || largest < kShrinkage * largest_);
  if (first || outgrown || (unrepresentable ? other : scales_moved(scales_, candidate_))) {
    std::swap(scales_, candidate_);
    have_scales_ = !worse; // The maxima lack those of bad rows.
    largest_ = largest_scaled(bs_, global_maxima_, scales_);
    pass(Pass::store);
  }
  return 0;
}

} // namespace mcpi
