// LU factors of blocks with few entries. Diagonal blocks of many unknowns are solved with them,
// without their inverse.
#pragma once

#include <cstdint>
#include <vector>

#include "core/numeric.h"

namespace mcpi {

// Entries of many blocks, block after block
struct SparseEntries {
  struct Place {
    std::uint16_t row, column; // inside the block
  };
  std::vector<Offset> begin = {0}; // blocks + 1 entries: number of entries before a block
  std::vector<Place> place;
  std::vector<double> value;

  void add(int row, int column, double number)
  {
    place.push_back({static_cast<std::uint16_t>(row), static_cast<std::uint16_t>(column)});
    value.push_back(number);
  }
  void end_block() { begin.push_back(static_cast<Offset>(value.size())); }
  void clear()
  {
    begin.resize(1);
    place.clear();
    value.clear();
  }
  // Gives back the room for more entries.
  void shrink()
  {
    place.shrink_to_fit();
    value.shrink_to_fit();
  }
  // The largest blocks: MPI sends a full block as one record of less than 2^31 bytes, and places
  // have 16 bits.
  static constexpr int kMostUnknowns = 1 << 13;
};

// Adds the products of a block, or of its transpose, with x to y.
inline void add_entries(const SparseEntries &entries, std::size_t block, bool transposed,
                        const double *x, double *y)
{
  for (Offset k = entries.begin[block]; k < entries.begin[block + 1]; ++k) {
    const auto [row, column] = entries.place[k];
    if (transposed)
      y[column] += entries.value[k] * x[row];
    else
      y[row] += entries.value[k] * x[column];
  }
}

class SparseFactors {
public:
  explicit SparseFactors(int bs);

  void clear();
  void shrink(); // see SparseEntries
  std::size_t entries() const
  {
    return lower_.value.size() + upper_.value.size() + reciprocal_.size();
  }
  // Factors the next column-major block. empty: see BlockRows::set_empty(). The rules by which a
  // block is singular are those of invert(). The factors are not usable unless it is done.
  Inversion add(const double *block, const std::uint8_t *empty);
  // Solves with a block, or with its transpose. right_side is overwritten.
  void solve(std::size_t block, bool transposed, double *right_side, double *solution) const;
  std::size_t memory_bytes() const;

private:
  Inversion equilibrate(const double *block, const std::uint8_t *empty);
  bool eliminate(const std::uint8_t *empty);
  bool choose_pivot(int *pivot_row, int *pivot_column) const;
  void eliminate_with(int pivot_row, int pivot_column);
  void solve_scaled(std::size_t block, bool transposed, double *right_side, double *solution) const;
  using Solve = void (SparseFactors::*)(std::size_t, bool, double *, double *) const;
  double inverse_norm(std::size_t block, Solve solve_by) const;
  double &entry(int row, int column) { return work_[static_cast<std::size_t>(column) * bs_ + row]; }
  double entry(int row, int column) const
  {
    return work_[static_cast<std::size_t>(column) * bs_ + row];
  }

  int bs_;
  // The equilibrated block is eliminated by subtractions of multiples of rows (lower_), divided by
  // its pivots, and solved by subtractions of multiples of unknowns (upper_, from the last on).
  SparseEntries lower_, upper_;
  // By block and pivot. The reciprocal is 0 for empty unknowns.
  std::vector<double> reciprocal_;
  std::vector<std::uint16_t> pivot_row_, pivot_column_;
  std::vector<double> row_scale_, column_scale_; // by block and unknown: powers of two

  // Work space for one block: the block, the numbers of entries of the rows and columns that are
  // left, the rows and columns that are done, and the columns of the pivot's row
  std::vector<double> work_;
  std::vector<int> row_entries_, column_entries_, columns_;
  std::vector<std::uint8_t> row_done_, column_done_;
};

} // namespace mcpi
