// What becomes of the sum of a row (RowUpdate). Included once for each instruction set.
#if defined(MCPI_SIMD_UPDATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MCPI_SIMD_UPDATE_INL_H
#undef MCPI_SIMD_UPDATE_INL_H
#else
#define MCPI_SIMD_UPDATE_INL_H
#endif

#include <algorithm>

#include "backend/host/simd_stored-inl.h"

#if !MCPI_PLAIN_ONLY
HWY_BEFORE_NAMESPACE();
namespace mcpi {
namespace HWY_NAMESPACE {

// Stores the first lanes of v, and leaves the memory behind them as it is. Masked stores
// delayed later loads.
template <int count, class D> HWY_INLINE void store_first(D d, hn::VFromD<D> v, hn::TFromD<D> *to)
{
  constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  if constexpr (count == lanes) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    if constexpr (count <= lanes / 2) {
      store_first<count>(half, hn::LowerHalf(half, v), to);
    } else {
      hn::StoreU(hn::LowerHalf(half, v), half, to);
      store_first<count - lanes / 2>(half, hn::UpperHalf(half, v), to + lanes / 2);
    }
  }
}

// Takes sums vector by vector. count: lanes of the sum; at: place of the first one in x. All
// products are fused with their sums explicitly, so no compiler option changes a bit.
template <typename T> class RowUpdater {
public:
  explicit RowUpdater(const RowUpdate &update)
      : rhs_(static_cast<const T *>(update.rhs)), x_(static_cast<T *>(update.x)),
        kept_(static_cast<T *>(update.kept)), alpha_(static_cast<T>(update.alpha)),
        omega_(static_cast<T>(update.omega)), from_zero_(update.from_zero),
        add_kept_(update.add_kept), keep_(update.keep)
  {
  }

  // Whether the sum over the first of two triangles is kept. It is then added by update().
  bool keeps_first() const { return keep_ == Keep::sum; }

  template <int count, class D> HWY_INLINE void keep(D d, hn::VFromD<D> sum, std::size_t at) const
  {
    store_first<count>(d, sum, kept_ + at);
  }

  // first_kept: whether keep() has taken the sum over the first of two triangles
  template <int count, class D>
  HWY_INLINE void update(D d, hn::VFromD<D> sum, std::size_t at, bool first_kept) const
  {
    const hn::VFromD<D> own = sum, omega = hn::Set(d, omega_);
    if (add_kept_ || first_kept) sum = hn::Add(sum, hn::LoadU(d, kept_ + at));
    if (keep_ != Keep::no && !first_kept)
      keep<count>(d, keep_ == Keep::sum ? own : hn::Zero(d), at);
    auto x = hn::NegMulAdd(hn::Set(d, alpha_), sum, hn::LoadU(d, rhs_ + at));
    if (omega_ != T(1)) {
      x = hn::Mul(omega, x);
      if (!from_zero_) x = hn::MulAdd(hn::Set(d, T(1) - omega_), hn::LoadU(d, x_ + at), x);
    }
    store_first<count>(d, x, x_ + at);
  }

private:
  const T *rhs_;
  T *x_, *kept_;
  T alpha_, omega_;
  bool from_zero_, add_kept_;
  Keep keep_;
};

} // namespace HWY_NAMESPACE
} // namespace mcpi
HWY_AFTER_NAMESPACE();
#endif
#endif
