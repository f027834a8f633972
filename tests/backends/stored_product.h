// Compares products from the blocks that a device has stored, made without a backend, with products
// of the same blocks decoded on the host.
#pragma once

#include <gtest/gtest.h>

#include <numeric>

#include "core/stored_matrix.h"
#include "support/system.h"

namespace mcpi::test {

// y = B x in double, for the off-diagonal blocks B of these records
inline Vector decoded_product(const ColorPlan &plan, const NumericConfig &config,
                              const std::vector<std::byte> &records, const Vector &x)
{
  StoredMatrix matrix(plan, config, plain_kernels());
  matrix.adopt_records(records.data());
  Vector y(static_cast<std::size_t>(plan.rows) * plan.bs);
  ProductArgs args;
  args.triangles[args.count++] = matrix.lower(false);
  args.triangles[args.count++] = matrix.upper(false);
  args.bs = plan.bs;
  args.end = plan.rows;
  args.x = x.data();
  args.sums = y.data();
  plain_kernels().product(config.storage, true, plan.bs)(args);
  return y;
}

// make(plan, config) makes the blocks. They have refresh(BlockRows), records(numbers of blocks) and
// multiply(x). The plan has ghosts.
template <class Make> void compare_products(const std::vector<int> &block_sizes, const Make &make)
{
  const Pattern pattern = ring_pattern(60, 60, 41);
  for (const int bs : block_sizes) {
    const Ranks ranks = build_ranks(pattern, greedy_coloring(pattern), bs, {0, 40, 60});
    const ColorPlan &plan = ranks.forward[0];
    const BlockMatrix matrix = make_matrix(bs, pattern);
    Vector x = random_vector(static_cast<std::size_t>(plan.rows + plan.ghosts) * bs, 43);
    for (double &number : x) number = static_cast<float>(number); // any device holds it
    std::vector<Offset> all(static_cast<std::size_t>(plan.blocks()));
    std::iota(all.begin(), all.end(), Offset{0});
    for_configs([&](const BackendConfig &config) {
      auto blocks = make(plan, config);
      MatrixRows rows(matrix);
      ASSERT_EQ(blocks.refresh(rows).defect, Defect::none);
      const Vector expected = decoded_product(plan, config.numeric, blocks.records(all), x);
      EXPECT_LT(difference(blocks.multiply(x), expected), tolerance(config))
          << "bs " << bs << ", " << name(Kind{config, nullptr});
    });
  }
}

} // namespace mcpi::test
