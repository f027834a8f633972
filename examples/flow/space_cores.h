// This header defines where the loops of the solver run: on the cores of a rank. space_cuda.h has
// the same for a CUDA device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "space.h"

namespace flow {

// The cores of a rank.
class Cores {
public:
  template <class T> using Array = std::vector<T>;
  // Components of a cell's unknowns that a call computes together: fewer take fewer registers
  template <int bs> static constexpr int columns = bs;

  explicit Cores(int threads) : threads_(threads) {}

  // Calls body(k) for all k below count, in any order, by several threads at a time.
  template <class Body> PetscErrorCode each(std::size_t count, const Body &body) const
  {
#pragma omp parallel for num_threads(threads_)
    for (std::size_t k = 0; k < count; ++k) body(k);
    return PETSC_SUCCESS;
  }
  // Sets to to the values of from.
  template <class T> PetscErrorCode upload(const std::vector<T> &from, std::vector<T> *to) const
  {
    *to = from;
    return PETSC_SUCCESS;
  }
  // Sets on_host to an address of the values on the host, which is in copy if they are elsewhere.
  template <class T>
  PetscErrorCode on_host(const std::vector<T> &values, std::vector<T> *, const T **on_host) const
  {
    *on_host = values.data();
    return PETSC_SUCCESS;
  }
  template <class T> PetscErrorCode resize(std::size_t count, std::vector<T> *array) const
  {
    array->resize(count);
    return PETSC_SUCCESS;
  }
  // Adds numbers in a fixed order.
  PetscErrorCode sum(const std::vector<double> &numbers, double *sum) const
  {
    *sum = 0.0;
    for (const double number : numbers) *sum += number;
    return PETSC_SUCCESS;
  }
  // The least of 1 and the numbers.
  PetscErrorCode least(const std::vector<double> &numbers, double *least) const
  {
    *least = 1.0;
    for (const double number : numbers) *least = std::min(*least, number);
    return PETSC_SUCCESS;
  }
  PetscErrorCode wait() const
  {
    return PETSC_SUCCESS;
  }

private:
  int threads_;
};

} // namespace flow
