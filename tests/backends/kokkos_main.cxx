// Tests the Kokkos backend on a host, in the default execution space.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "backend/kokkos/kokkos_backend.h"
#include "backend/kokkos/runtime.h"
#include "engines.h"
#include "stored_product.h"

namespace mcpi::test {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

class Blocks {
public:
  Blocks(const ColorPlan &plan, const BackendConfig &config)
      : rows_(static_cast<std::size_t>(plan.rows) * static_cast<std::size_t>(plan.bs)),
        wide_(config.double_vectors), blocks_(space_, plan, config.numeric, config.double_vectors)
  {
  }

  NumericStatus refresh(BlockRows &source)
  {
    NumericStatus status;
    EXPECT_EQ(blocks_.refresh(
                  space_, source, [](double *, int) { return 0; }, status),
              0);
    return status;
  }
  std::vector<std::byte> records(const std::vector<Offset> &numbers)
  {
    std::vector<std::byte> records(numbers.size() * blocks_.forward().shape().record);
    blocks_.pack_records(space_, numbers, records.data());
    return records;
  }
  Vector multiply(const Vector &x)
  {
    return wide_ ? multiply_in<double>(x) : multiply_in<float>(x);
  }

private:
  template <class T> Vector multiply_in(const Vector &x)
  {
    const kokkos::Array<Space, T> from(space_, std::vector<T>(x.begin(), x.end()));
    const kokkos::Array<Space, T> to(space_, std::vector<T>(rows_, static_cast<T>(kNaN)));
    blocks_.multiply(space_, from.data(), to.data());
    std::vector<T> y(rows_);
    to.copy_out(space_, y.data(), rows_);
    return {y.begin(), y.end()};
  }

  const std::size_t rows_;
  const bool wide_;
  const Space space_;
  kokkos::StoredBlocks<Space> blocks_;
};

TEST(KokkosStoredBlocks, multiply_without_a_backend)
{
  compare_products(
      {1, 2, 3, 4, 5, 6, 7, 8, 9, 17},
      [](const ColorPlan &plan, const BackendConfig &config) { return Blocks(plan, config); });
}

} // namespace
} // namespace mcpi::test

int main(int argc, char **argv)
{
  using namespace mcpi;
  if (const std::string problem = kokkos::start(false); !problem.empty()) {
    std::puts(problem.c_str());
    return EXIT_FAILURE;
  }
  std::printf("Kokkos on %s with %d threads\n", kokkos::space_name(),
              Kokkos::DefaultExecutionSpace().concurrency());
  test::test_engine(test::Engine::kokkos, make_kokkos_backend);
  test::tested().block_sizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17};
  test::tested().large_block_sizes = {33, 65};
  test::tested().host_memory = !kokkos::on_device();
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  kokkos::finish();
  return result;
}
