// Scales over the life of a matrix: made from the maxima of the first values, kept, and renewed
// where later values need it.
#pragma once

#include <functional>
#include <vector>

#include "core/numeric.h"
#include "core/scaling.h"

namespace mcpi {

class ScaleUpdater {
public:
  enum class Pass { maxima_only, store };

  // limited: what stores the values holds numbers of some range below largest(); then they are
  // stored again when they leave it, too. The same on all ranks, since then the scales are renewed.
  ScaleUpdater(const NumericConfig &config, int bs, bool limited = false);

  // convert reads all values, stores them with scales() unless only maxima are wanted, raises
  // maxima() to the stored numbers' absolute values and sets status. It is called once, or twice
  // where the scales are new. Collective through reduce: if it throws, this rank keeps step with
  // the others and says so in status. Without keep_scales in the configuration every call makes new
  // scales.
  int refresh(const std::function<void(Pass)> &convert, const MaxReduce &reduce,
              NumericStatus &status);

  const Scales &scales() const { return scales_; }
  std::vector<double> &maxima() { return maxima_; }
  double largest() const
  {
    return largest_;
  }                                 // stored number of all ranks when the scales were made
  static constexpr int kGrowth = 4; // up to which values may grow unnoticed
  static constexpr double kShrinkage = 0x1p-16; // and down to which they may shrink

private:
  int reduce_maxima(const MaxReduce &reduce, const NumericStatus &status);

  const NumericConfig config_;
  const int bs_;
  const bool limited_;
  ScaleMethods methods_;
  Scales scales_, candidate_;
  bool have_scales_ = false;
  double largest_ = 0.0;
  std::vector<double> maxima_, global_maxima_;
};

} // namespace mcpi
