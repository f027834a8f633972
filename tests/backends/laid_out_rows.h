// A matrix in the memory layouts of PETSc's matrix types, in two portions. It tests backends that
// read matrices in place.
#pragma once

#if defined(MCPI_HAVE_CUDA)
#include <cuda_runtime.h>
#endif

#include <stdexcept>

#include "engines.h"
#include "support/ranks.h"

namespace mcpi::test {

enum class Layout { rows, host_blocks, device_blocks, device_full_rows, device_partial_rows };

// The layouts that can be made for the engines of this program
inline std::vector<Layout> layouts()
{
#if !defined(MCPI_HAVE_CUDA)
  if (!tested().host_memory) return {Layout::rows, Layout::host_blocks};
#endif
  return {Layout::rows, Layout::host_blocks, Layout::device_blocks, Layout::device_full_rows,
          Layout::device_partial_rows};
}

// The first portion holds the diagonal block and the first few off-diagonal blocks of each row. The
// second portion holds the other blocks. device_partial_rows: entries that are zero are left out.
class LaidOutRows final : public BlockRows {
public:
  LaidOutRows(const BlockMatrix &matrix, Layout layout)
      : matrix_(matrix), layout_(layout), rows_(matrix)
  {
    set_structure();
    update();
  }
  LaidOutRows(const LaidOutRows &) = delete;
  LaidOutRows &operator=(const LaidOutRows &) = delete;
  ~LaidOutRows() override
  {
#if defined(MCPI_HAVE_CUDA)
    for (double *array : device_) (void)cudaFree(array);
#endif
  }

  // Copies the present values of the matrix. The pattern must be that of the constructor's matrix.
  void update()
  {
    for (int p = 0; p < 2; ++p) {
      host_[p].clear();
      for (Row row = 0; row < matrix_.rows(); ++row) append_row(p, row);
      if (!copied()) continue;
#if defined(MCPI_HAVE_CUDA)
      if (!device_[p] &&
          cudaMalloc(&device_[p], host_[p].size() * sizeof(double) + 8) != cudaSuccess)
        throw std::runtime_error("cudaMalloc");
      if (cudaMemcpy(device_[p], host_[p].data(), host_[p].size() * sizeof(double),
                     cudaMemcpyHostToDevice) != cudaSuccess ||
          cudaDeviceSynchronize() != cudaSuccess)
        throw std::runtime_error("cudaMemcpy");
#else
      throw std::runtime_error("no device");
#endif
    }
  }

  void row(Row local_row, const double *&diagonal, const double *const *&offdiag) override
  {
    rows_.row(local_row, diagonal, offdiag);
  }
  ValueArrays arrays() override
  {
    ValueArrays arrays;
    if (layout_ == Layout::rows) return arrays;
    arrays.layout = layout_ == Layout::host_blocks || layout_ == Layout::device_blocks
                        ? ValueLayout::blocks
                        : ValueLayout::scalar_rows;
    arrays.device = on_device();
    for (int p = 0; p < 2; ++p) arrays.portion[p] = copied() ? device_[p] : host_[p].data();
    return arrays;
  }
  PortionStructure structure(int p) const override
  {
    return structure_[p];
  }

private:
  using Block = std::span<const double>;
  static constexpr Row kInFirst = 3; // off-diagonal blocks of a row in the first portion

  bool on_device() const
  {
    return layout_ != Layout::rows && layout_ != Layout::host_blocks;
  }
  bool copied() const
  {
    return on_device() && !tested().host_memory;
  }

  // The blocks of a row in portion p, including the diagonal block
  std::vector<Block> blocks(int p, Row row) const
  {
    const Row all = offdiags(row), cut = std::min(all, kInFirst);
    std::vector<Block> some;
    for (Row k = p == 0 ? 0 : cut; k < (p == 0 ? cut : all); ++k)
      some.push_back(matrix_.offdiag(row, k));
    if (p == 0) some.insert(some.begin() + diagonal_place(row), matrix_.diagonal(row));
    return some;
  }
  Row offdiags(Row row) const
  {
    return matrix_.ptr[row + 1] - matrix_.ptr[row] - 1;
  }
  Row diagonal_place(Row row) const
  {
    return row % (std::min(offdiags(row), kInFirst) + 1);
  }
  double entry(Block block, int i, int j) const
  {
    return block[static_cast<std::size_t>(j) * matrix_.bs + i];
  }

  void set_structure()
  {
    for (int p = 0; p < 2; ++p) {
      PortionStructure &portion = structure_[p];
      portion.ptr.push_back(0);
      if (layout_ == Layout::device_partial_rows) portion.entry_ptr.push_back(0);
      for (Row row = 0; row < matrix_.rows(); ++row) {
        const auto in_row = blocks(p, row);
        portion.ptr.push_back(portion.ptr.back() + static_cast<Offset>(in_row.size()));
        if (p == 0) portion.diagonal.push_back(diagonal_place(row));
        if (layout_ != Layout::device_partial_rows) continue;
        for (int i = 0; i < matrix_.bs; ++i) {
          for (std::size_t k = 0; k < in_row.size(); ++k)
            for (int j = 0; j < matrix_.bs; ++j)
              if (entry(in_row[k], i, j) != 0.0)
                portion.slot.push_back(static_cast<std::uint32_t>(
                    (static_cast<int>(k) * matrix_.bs + j) * matrix_.bs + i));
          portion.entry_ptr.push_back(static_cast<Offset>(portion.slot.size()));
        }
      }
    }
  }

  void append_row(int p, Row row)
  {
    const auto in_row = blocks(p, row);
    if (layout_ == Layout::host_blocks || layout_ == Layout::device_blocks) {
      for (const Block block : in_row) host_[p].insert(host_[p].end(), block.begin(), block.end());
      return;
    }
    for (int i = 0; i < matrix_.bs; ++i)
      for (std::size_t k = 0; k < in_row.size(); ++k)
        for (int j = 0; j < matrix_.bs; ++j)
          if (const double value = entry(in_row[k], i, j);
              layout_ != Layout::device_partial_rows || value != 0.0)
            host_[p].push_back(value);
  }

  const BlockMatrix &matrix_;
  const Layout layout_;
  MatrixRows rows_;
  PortionStructure structure_[2];
  Vector host_[2];
  double *device_[2] = {};
};

} // namespace mcpi::test
