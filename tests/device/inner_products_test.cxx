// Inner products and sums of vectors of all lengths on a device
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ksp/cuda/inner_products.h"
#include "support/dense.h"

using namespace mcpi;
using namespace mcpi::test;

namespace {

struct Arrays {
  std::vector<Vector> host; // the last one is x
  std::vector<cuda::DeviceArray<double>> device;

  Arrays(std::size_t count, std::size_t n) : device(count + 1)
  {
    for (std::size_t k = 0; k <= count; ++k) {
      host.push_back(random_vector(static_cast<Row>(n), static_cast<int>(k) + 1));
      device[k].upload(host[k]);
    }
  }
  std::vector<const double *> v() const
  {
    std::vector<const double *> pointers;
    for (std::size_t k = 0; k + 1 < device.size(); ++k) pointers.push_back(device[k].data());
    return pointers;
  }
};

Vector download(const cuda::DeviceArray<double> &array, std::size_t n)
{
  Vector result(n, std::numeric_limits<double>::quiet_NaN());
  if (n > 0)
    MCPI_CUDA(cudaMemcpy(result.data(), array.data(), n * sizeof(double), cudaMemcpyDeviceToHost));
  return result;
}

void check(std::size_t count, std::size_t n)
{
  Arrays arrays(count, n);
  const Vector &x = arrays.host[count];
  cuda::InnerProducts products;
  std::vector<double> result(count, std::numeric_limits<double>::quiet_NaN()), again = result;
  products.compute(arrays.v(), arrays.device[count].data(), n, result.data(), nullptr);
  products.compute(arrays.v(), arrays.device[count].data(), n, again.data(), nullptr);
  EXPECT_EQ(result, again);
  Vector left = x;
  for (std::size_t k = 0; k < count; ++k) {
    long double sum = 0.0L;
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<long double>(arrays.host[k][i]) * x[i];
    EXPECT_NEAR(result[k], static_cast<double>(sum), 1e-15 * static_cast<double>(n) + 1e-15);
    result[k] = static_cast<double>(k) - 2.5; // coefficients from here on
    for (std::size_t i = 0; i < n; ++i) left[i] -= result[k] * arrays.host[k][i];
  }
  cuda::subtract_combination(arrays.v(), result, arrays.device[count].data(), n, nullptr);
  const Vector now = download(arrays.device[count], n);
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_NEAR(now[i], left[i], 1e-14 * static_cast<double>((count + 1) * (count + 1))) << i;
}

} // namespace

TEST(InnerProducts, agree_with_long_sums_for_any_number_of_vectors)
{
  for (std::size_t count = 1; count <= 17; ++count) check(count, 5000);
  for (const std::size_t count : {63, 64, 65, 129}) check(count, 1025);
}

TEST(InnerProducts, agree_with_long_sums_for_any_length)
{
  for (const std::size_t n : {0, 1, 255, 256, 1023, 1024, 1025, 262145, 2000003}) check(9, n);
}
