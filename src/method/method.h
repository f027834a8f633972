// The interface of a method: which blocks a sweep takes in place of those of the matrix. The method
// `point` takes the matrix as it is and needs no object of this class.
#pragma once

#include <memory>

#include "core/ghost_rows.h"
#include "core/numeric.h"
#include "sweep/block_exchange.h"

namespace mcpi {

// A factorization (E + L) E^{-1} (E + U) of the matrix, made anew for new values. E holds diagonal
// blocks, L and U couplings to earlier and to later rows. One symmetric sweep from zero with
// omega = 1 and these blocks applies the inverse of the product. The blocks of one row depend on
// those of earlier rows, some of them on other ranks. An object serves one nonzero pattern.
class Method {
public:
  virtual ~Method() = default;

  // Reads the values. The call is local and may throw.
  virtual void read(BlockRows &values) = 0;
  // Computes the blocks. Collective. exchange: between ranks, color by color; null if there is
  // none. Returns 0 or an error code of the exchange. A singular block E is no error here. The
  // backend inverts E again, and reports it.
  virtual int factor(BlockExchange *exchange) = 0;
  // The blocks that a backend stores, until release(). The call is local and throws if a device has
  // failed in factor().
  virtual BlockRows &factors() = 0;
  // Frees the blocks. The object keeps what the next factorization needs.
  virtual void release() noexcept = 0;

  // Bytes between factorizations: in host memory, and in the memory of a device
  virtual double host_bytes() const = 0;
  virtual double device_bytes() const { return 0.0; }
};

// Whether a method changes off-diagonal blocks
inline bool changes_offdiagonal(PCMCPIMethod method)
{
  return method == PC_MCPI_METHOD_ILU0;
}

// A factorization in host memory. plan and ghosts must outlive the result.
std::unique_ptr<Method> make_method(PCMCPIMethod method, const ColorPlan &plan,
                                    const GhostRows &ghosts);

} // namespace mcpi
