// Tests products from the blocks that a CUDA device has stored.
#include "backend/cuda/stored_blocks.h"

#include <gtest/gtest.h>

#include "backends/stored_product.h"

namespace mcpi::test {
namespace {

class Blocks {
public:
  Blocks(const ColorPlan &plan, const BackendConfig &config)
      : rows_(static_cast<std::size_t>(plan.rows) * plan.bs), wide_(config.double_vectors),
        blocks_(plan, config)
  {
  }

  NumericStatus refresh(BlockRows &source)
  {
    NumericStatus status;
    EXPECT_EQ(blocks_.refresh(
                  source, [](double *, int) { return 0; }, status, stream_),
              0);
    return status;
  }
  std::vector<std::byte> records(const std::vector<Offset> &numbers)
  {
    std::vector<std::byte> records(numbers.size() * blocks_.record_size());
    blocks_.pack_records(numbers, records.data(), stream_);
    return records;
  }
  Vector multiply(const Vector &x)
  {
    return wide_ ? multiply_in<double>(x) : multiply_in<float>(x);
  }

private:
  template <class T> Vector multiply_in(const Vector &x)
  {
    std::vector<T> y(rows_, static_cast<T>(kNaN));
    const cuda::DeviceArray<T> from(std::vector<T>(x.begin(), x.end()));
    cuda::DeviceArray<T> to(y);
    blocks_.multiply(from.data(), to.data(), stream_);
    MCPI_CUDA(
        cudaMemcpyAsync(y.data(), to.data(), rows_ * sizeof(T), cudaMemcpyDeviceToHost, stream_));
    MCPI_CUDA(cudaStreamSynchronize(stream_));
    return {y.begin(), y.end()};
  }

  const std::size_t rows_;
  const bool wide_;
  cuda::Stream stream_;
  cuda::StoredBlocks blocks_;
};

TEST(CudaStoredBlocks, multiply_without_a_backend)
{
  compare_products(
      {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 40, 65},
      [](const ColorPlan &plan, const BackendConfig &config) { return Blocks(plan, config); });
}

} // namespace
} // namespace mcpi::test
