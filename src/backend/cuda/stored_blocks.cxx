// Builds the stored blocks of a matrix on the device, copies their records, and multiplies by them.
#include "backend/cuda/stored_blocks.h"

#include "core/plan_parts.h"

#include <algorithm>

namespace mcpi::cuda {
namespace {

std::vector<Row> inverse(const std::vector<Row> &permutation)
{
  std::vector<Row> result(permutation.size());
  for (std::size_t k = 0; k < result.size(); ++k)
    result[static_cast<std::size_t>(permutation[k])] = static_cast<Row>(k);
  return result;
}

} // namespace

StoredBlocks::StoredBlocks(const ColorPlan &plan, const NumericConfig &config,
                           const VectorKind &vectors)
    : plan_(plan), vectors_(vectors), forward_(plan, config, vectors), row_of_(plan.row_of),
      plan_row_(inverse(plan.row_of)),
      setup_(config, vectors, forward_, row_of_.data(), plan_row_.data())
{
}

std::size_t StoredBlocks::bytes() const
{
  return forward_.bytes() + (transposed_ ? transposed_->bytes() : 0) + setup_.bytes() +
         sources_.bytes() + received_.bytes() + row_of_.bytes() + plan_row_.bytes() +
         zeros_.bytes();
}

void StoredBlocks::pack_records(const std::vector<Offset> &stored, std::byte *records,
                                cudaStream_t stream)
{
  if (stored.empty()) return; // With one rank, the map of all blocks is not made.
  const std::vector<Location> all = locations();
  std::vector<Location> wanted(stored.size());
  std::transform(stored.begin(), stored.end(), wanted.begin(),
                 [&](Offset block) { return all[static_cast<std::size_t>(block)]; });
  DeviceArray<Location> from;
  DeviceArray<std::byte> to(wanted.size() * record_size());
  from.upload(wanted);
  read_records(forward_.numbers(), from.data(), wanted.size(), to.data(), stream);
  MCPI_CUDA(cudaMemcpyAsync(records, to.data(), wanted.size() * record_size(),
                            cudaMemcpyDeviceToHost, stream));
  MCPI_CUDA(cudaStreamSynchronize(stream));
}

void StoredBlocks::build_transposed(const ColorPlan &plan, const std::byte *received,
                                    cudaStream_t stream)
{
  if (!transposed_) {
    auto made = std::make_unique<Operator>(plan, setup_.config(), vectors_);
    map_transposed(*made);
    transposed_ = std::move(made); // Only a complete operator is kept, if memory runs out.
  }
  transposed_->set_largest(setup_.largest());
  received_.upload(received, received_blocks_ * record_size());
  fill_transposed(transposed_->numbers(), forward_.numbers(), sources_.data(),
                  transposed_->tile_count(), static_cast<std::size_t>(plan.blocks()),
                  received_.data(), stream);
}

void StoredBlocks::multiply(const void *x, void *y, cudaStream_t stream)
{
  const std::size_t number = vectors_.double_vectors ? sizeof(double) : sizeof(float),
                    size = static_cast<std::size_t>(plan_.rows) * plan_.bs * number;
  if (zeros_.bytes() < size) {
    zeros_.resize(size);
    MCPI_CUDA(cudaMemsetAsync(zeros_.data(), 0, size, stream));
  }
  Relaxation product;
  product.terms = product_terms(x, y, zeros_.data());
  const std::vector<Row> parts = part_begins(plan_);
  for (std::size_t part = 0; part + 1 < parts.size(); ++part)
    forward_.relax(parts[part], parts[part + 1], product, stream);
}

// Locations of all blocks of the plan, by their stored number (lower triangle, then upper)
std::vector<Location> StoredBlocks::locations() const
{
  std::vector<Location> result(static_cast<std::size_t>(plan_.blocks()));
  const std::size_t lowers = plan_.lower.col.size();
  forward_.for_blocks(
      [&](Row, const Triangle &triangle, Offset k, std::uint32_t tile, std::uint32_t place) {
        result[static_cast<std::size_t>(k) + (&triangle == &plan_.lower ? 0 : lowers)] =
            location(tile, place);
      });
  return result;
}

// For each slice of the transposed operator, finds the block whose transposed numbers it takes: a
// block of this rank, or a record received from another rank.
void StoredBlocks::map_transposed(const Operator &transposed)
{
  const std::vector<Location> all = locations();
  const std::size_t slices = transposed.slices();
  std::vector<Location> sources(transposed.slice_count());
  received_blocks_ = 0;
  transposed.for_blocks([&](Row, const Triangle &triangle, Offset k, std::uint32_t tile,
                            std::uint32_t place) {
    const Offset stored = triangle.source[static_cast<std::size_t>(k)],
                 received = stored - plan_.blocks();
    if (received >= 0)
      received_blocks_ = std::max(received_blocks_, static_cast<std::size_t>(received) + 1);
    std::fill_n(sources.begin() + static_cast<std::ptrdiff_t>(transposed.slice_number(tile, place)),
                slices,
                received >= 0 ? kReceived | static_cast<Location>(received)
                              : all[static_cast<std::size_t>(stored)]);
  });
  sources_.upload(sources);
}

} // namespace mcpi::cuda
