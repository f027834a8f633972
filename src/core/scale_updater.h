// Choice of scales while the values of a matrix change. Scales are computed from the maxima of the
// first values. They are kept until later values need other ones.
#pragma once

#include <functional>
#include <vector>

#include "core/numeric.h"
#include "core/scaling.h"

namespace mcpi {

class ScaleUpdater {
public:
  enum class Pass { maxima_only, store };

  // limited: the storage holds only a limited range of numbers below largest(). In that case the
  // scales are also renewed when the largest value leaves the range given by kGrowth and
  // kShrinkage. limited must be the same on all ranks, since scales are renewed on all of them.
  ScaleUpdater(const NumericConfig &config, int bs, bool limited = false);

  // Converts all values by calls of convert, and renews the scales if necessary. convert reads all
  // values, raises maxima() to the absolute values of the scaled numbers, and sets status. With
  // Pass::store it also stores the numbers, scaled by scales(). It is called a second time after
  // the scales were renewed, or to find out which row is bad.
  //
  // The call is collective because of reduce. If convert throws, this rank still takes part in the
  // reduction, and status reports the failure. Without NumericConfig::keep_scales every call makes
  // new scales. Returns 0 or the error code of reduce.
  int refresh(const std::function<void(Pass)> &convert, const MaxReduce &reduce,
              NumericStatus &status);

  // Takes over the scales and their largest number.
  void take(const ScaleUpdater &from);
  const Scales &scales() const { return scales_; }
  std::vector<double> &maxima() { return maxima_; }
  // The largest scaled number on all ranks when the scales were made
  double largest() const { return largest_; }
  // With limited storage, the largest scaled number may change by these factors before the scales
  // are renewed.
  static constexpr int kGrowth = 4;
  static constexpr double kShrinkage = 0x1p-16;

private:
  int reduce_maxima(const MaxReduce &reduce, const NumericStatus &status);

  const NumericConfig config_;
  const int bs_;
  const bool limited_;
  ScaleMethods methods_;
  Scales scales_, candidate_; // candidate_: scales for the latest values
  bool have_scales_ = false;
  double largest_ = 0.0;
  // maxima_: the maxima of this rank's scaled numbers; global_maxima_: see reduce_maxima()
  std::vector<double> maxima_, global_maxima_;
};

} // namespace mcpi
