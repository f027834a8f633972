// Scales over the life of a matrix: made from the maxima of the first values, kept, and renewed where later values need it.
#pragma once

#include <functional>
#include <vector>

#include "core/numeric.h"
#include "core/scaling.h"

namespace mcpi {

class ScaleKeeper {
public:
  enum class Pass { maxima_only, store };

  ScaleKeeper(const NumericConfig &config, int bs);

  // convert reads all values, stores them with scales() unless only maxima are wanted, raises maxima() to the stored numbers' absolute values
  // and sets status. It is called once, or twice where the scales are new. Collective through reduce.
  int refresh(const std::function<void(Pass)> &convert, const MaxReduce &reduce, NumericStatus &status);

  const Scales        &scales() const { return scales_; }
  std::vector<double> &maxima() { return maxima_; }

private:
  int reduce_maxima(const MaxReduce &reduce, const NumericStatus &status);

  const NumericConfig config_;
  const int           bs_;
  Scales              scales_, candidate_;
  bool                have_scales_ = false;
  std::vector<double> maxima_, global_maxima_;
};

} // namespace mcpi
