// Copies between a user's arrays (matrix order, double) and the vectors of a sweep (plan order,
// vector precision).
#pragma once

#include "backend/device/user_vectors.h"
#include "backend/kokkos/kernels.h"
#include "core/gather.h"

namespace mcpi::kokkos {

// Calls visit(k) for each row and right-hand side: k = row*nrhs + r.
template <class Space, class Visit>
void for_entries(const Space &space, const char *name, const VectorTerms &args, const Visit &visit)
{
  Kokkos::parallel_for(name,
                       Kokkos::RangePolicy<Space>(space, 0,
                                                  static_cast<std::size_t>(args.rows) *
                                                      static_cast<std::size_t>(args.nrhs)),
                       visit);
}

// Component i of a row's inverse diagonal block times v
template <class T> MCPI_HD double product(const VectorTerms &args, Row row, int i, const T *v)
{
  return diagonal_product<0, false>(args.diagonal, static_cast<std::size_t>(row), args.bs, i,
                                    args.transposed, [&](int j) { return v[j]; });
}

template <class Space, class T>
void load_vector(const Space &space, const VectorTerms &args, const double *array, T *vector)
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
          out[i] = static_cast<T>(args.diagonal ? args.factor * product(args, row, i, in)
                                                : scaled(args, i, args.factor * in[i]));
      });
}

template <class Space, class T>
void store_vector(const Space &space, const VectorTerms &args, const T *vector, double *array)
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
          out[i] = args.diagonal ? args.factor * product(args, row, i, in)
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
        const std::size_t first = entry * static_cast<std::size_t>(bs);
        round_gathered(bs, x + first, gathered + first);
      });
}

} // namespace mcpi::kokkos
