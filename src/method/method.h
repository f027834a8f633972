// The interface of a method: what a sweep takes for the diagonal blocks of the matrix. The method
// `point` takes the matrix as it is and needs no object of this class.
#pragma once

#include <memory>
#include <vector>

#include "core/numeric.h"
#include "sweep/halo.h"

namespace mcpi {

// A factorization (E + L) E^{-1} (E + U) of the matrix, made anew for new values. L and U hold the
// couplings to earlier and to later colors. One symmetric sweep from zero with omega = 1 and the
// diagonal blocks E applies the inverse of the product. The blocks E of one color depend on those
// of earlier colors, some of them on other ranks.
class Method {
public:
  virtual ~Method() = default;

  // Reads the values. The call is local and may throw.
  virtual void read(BlockRows &values) = 0;
  // Copies blocks of the forward plan, in double precision, for the ranks that own their columns.
  virtual void pack(const std::vector<Offset> &stored, double *blocks) const = 0;
  // Computes the blocks E. Collective. values: those of read(). received: the blocks of other ranks
  // that the transposed plan names. halo: exchanges blocks between ranks, color by color. Returns 0
  // or an error code of the halo. A singular block E is no error here. The backend inverts E again,
  // and reports it.
  virtual int factor(BlockRows &values, const double *received, Halo &halo) = 0;
  // The values that a backend stores. values: access for the backend, which may be on a device. The
  // result is valid as long as values and this object are.
  virtual BlockRows &prepared(BlockRows &values) = 0;
};

// plan and transposed must outlive the result. null: the method takes the matrix as it is
std::unique_ptr<Method> make_method(PCMCPIMethod method, const ColorPlan &plan,
                                    const ColorPlan &transposed);

} // namespace mcpi
