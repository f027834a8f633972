// Copies between a user's arrays (matrix order, double) and the vectors of a sweep (plan order,
// vector precision).
#pragma once

#include "backend/kokkos/relax.h"
#include "core/gather.h"

namespace mcpi::kokkos {

// The arguments of these copies.
struct VectorArgs {
  const Row *row_of; // matrix row of a plan row
  Row rows;
  int bs, nrhs;
  long long ld; // leading dimension of the user's array
  // inverse diagonal blocks by which the vector is multiplied; null: scale is used
  const double *diagonal;
  bool transposed;     // multiply by transposed blocks
  const double *scale; // for each component
  bool divide;         // divide by the scale instead of multiplying
  double factor;       // multiplies all that is loaded or stored
};

// Calls visit(k) for each row and right-hand side: k = row*nrhs + r.
template <class Space, class Visit>
void for_entries(const Space &space, const char *name, const VectorArgs &args, const Visit &visit)
{
  Kokkos::parallel_for(name,
                       Kokkos::RangePolicy<Space>(space, 0,
                                                  static_cast<std::size_t>(args.rows) *
                                                      static_cast<std::size_t>(args.nrhs)),
                       visit);
}

KOKKOS_FORCEINLINE_FUNCTION double scaled(const VectorArgs &args, int i, double value)
{
  return args.divide ? value / args.scale[i] : value * args.scale[i];
}

template <class Space, class T>
void load_vector(const Space &space, const VectorArgs &args, const double *array, T *vector)
{
  for_entries(
      space, "mcpi load", args, KOKKOS_LAMBDA(const std::size_t k) {
        const auto nrhs = static_cast<std::size_t>(args.nrhs),
                   bs = static_cast<std::size_t>(args.bs);
        const Row row = static_cast<Row>(k / nrhs);
        const double *in = array + static_cast<long long>(k % nrhs) * args.ld +
                           static_cast<long long>(args.row_of[row]) * args.bs;
        T *out = vector + k * bs;
        for (int i = 0; i < args.bs; ++i)
          out[i] = static_cast<T>(args.diagonal
                                      ? args.factor * apply_diagonal(args.diagonal, row, args.bs, i,
                                                                     args.transposed, in)
                                      : scaled(args, i, args.factor * in[i]));
      });
}

template <class Space, class T>
void store_vector(const Space &space, const VectorArgs &args, const T *vector, double *array)
{
  for_entries(
      space, "mcpi store", args, KOKKOS_LAMBDA(const std::size_t k) {
        const auto nrhs = static_cast<std::size_t>(args.nrhs),
                   bs = static_cast<std::size_t>(args.bs);
        const Row row = static_cast<Row>(k / nrhs);
        const T *in = vector + k * bs;
        double *out = array + static_cast<long long>(k % nrhs) * args.ld +
                      static_cast<long long>(args.row_of[row]) * args.bs;
        for (int i = 0; i < args.bs; ++i)
          out[i] = args.diagonal ? args.factor * apply_diagonal(args.diagonal, row, args.bs, i,
                                                                args.transposed, in)
                                 : scaled(args, i, args.factor * static_cast<double>(in[i]));
      });
}

// Writes the rounded copy of x as core/gather.h defines it.
template <class Space, class T>
void round_vector(const Space &space, const T *x, std::size_t begin, std::size_t end, int bs,
                  T *gathered)
{
  Kokkos::parallel_for(
      "mcpi round", Kokkos::RangePolicy<Space>(space, begin, end),
      KOKKOS_LAMBDA(const std::size_t entry) {
        const T *in = x + entry * static_cast<std::size_t>(bs);
        T *out = gathered + entry * static_cast<std::size_t>(bs);
        std::uint32_t largest = 0;
        for (int i = 0; i < bs; ++i) {
          const std::uint32_t magnitude =
              Kokkos::bit_cast<std::uint32_t>(static_cast<float>(in[i])) & 0x7fffffffU;
          largest = magnitude > largest ? magnitude : largest;
        }
        const bool finite = largest < 0x7f800000U;
        const int exponent = static_cast<int>(largest >> 23) - 126,
                  e = exponent > kMinGatherExponent ? exponent : kMinGatherExponent;
        constexpr float kToInteger = 0x1.8p23f;
        constexpr auto kLimit = static_cast<float>(kGatherLimit);
        for (int i = 0; i < bs; ++i) {
          if (!finite) {
            out[i] = static_cast<T>(as_float(0x7fc00000U));
            continue;
          }
          const float scaled_up = static_cast<float>(in[i]) * power_of_two<float>(15 - e),
                      sum = scaled_up + kToInteger, q = sum - kToInteger;
          out[i] = static_cast<T>((q > kLimit    ? kLimit
                                   : q < -kLimit ? -kLimit
                                                 : q) *
                                  power_of_two<float>(e - 15));
        }
      });
}

} // namespace mcpi::kokkos
