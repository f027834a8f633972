// Input and results of a numeric set-up: access to the values of the matrix, the configuration, and
// the status that is reported.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/dense.h"
#include "core/plan.h"
#include "petscmcpitypes.h"

namespace mcpi {

// How the values of the matrix are arranged in memory, for a backend that reads them in place
enum class ValueLayout {
  none,        // values are available from BlockRows::row() only
  blocks,      // dense column-major blocks
  scalar_rows, // the entries of one scalar row after the other, by ascending columns unless
               // PortionStructure::slot is given
};

// The values of a matrix in memory. They are in one or two portions. Each portion holds blocks, row
// after row. The off-diagonal blocks of a row are those of the first portion, without the diagonal
// block, then those of the second.
struct ValueArrays {
  ValueLayout layout = ValueLayout::none;
  bool device = false;           // whether the values are in the memory of the backend's device
  void *stream = nullptr;        // stream on which values on a device were made
  int threads = 1;               // number of threads that may read the values at the same time
  const double *portion[2] = {}; // null: there is no such portion
};

// The positions of the blocks of a portion
struct PortionStructure {
  std::vector<Offset> ptr; // rows + 1 entries: number of blocks before a row
  // first portion only: place of the diagonal block among those of its row
  std::vector<Row> diagonal;
  // With scalar rows only, and empty if all blocks of both portions are full and the entries of
  // each scalar row are in the order of their columns.
  std::vector<Offset> entry_ptr;   // number of entries before a scalar row
  std::vector<std::uint32_t> slot; // place of an entry in the dense blocks of its block row
};

// Where an off-diagonal block of a matrix row is: the portion, and the block's number in the
// portion
struct SourcePlace {
  int portion;
  std::size_t block;
};
// number: among the off-diagonal blocks of the row
inline SourcePlace source_place(const PortionStructure &first, const PortionStructure &second,
                                Row row, Offset number)
{
  const auto at = static_cast<std::size_t>(row);
  const Offset in_first = first.ptr[at + 1] - first.ptr[at] - 1;
  if (number >= in_first) return {1, static_cast<std::size_t>(second.ptr[at] + number - in_first)};
  return {0, static_cast<std::size_t>(first.ptr[at] + number + (number >= first.diagonal[at]))};
}

// Access to the values of the matrix
class BlockRows {
public:
  virtual ~BlockRows() = default;
  // Sets diagonal to the diagonal block of the row and offdiag[k] to its k-th off-diagonal block.
  // Blocks are column-major. The pointers are valid until the next call. Values on a device are not
  // read by rows.
  virtual void row(Row /*local_row*/, const double *& /*diagonal*/,
                   const double *const *& /*offdiag*/)
  {
    throw std::logic_error("values on a device are not read by rows");
  }

  virtual ValueArrays arrays() { return {}; }
  // The structure of a portion of arrays()
  virtual PortionStructure structure(int /*portion*/) const { return {}; }

  // The empty unknowns: all entries of their rows and columns of the matrix are zero. Inverse
  // diagonal blocks have zero rows and columns for them. flags: bs numbers for each matrix row,
  // which are 0 for all other unknowns; null: there are no empty unknowns
  void set_empty(const std::uint8_t *flags) { empty_ = flags; }
  const std::uint8_t *empty() const { return empty_; }
  const std::uint8_t *empty_of(Row row, int bs) const
  {
    return empty_ ? empty_ + static_cast<std::size_t>(row) * bs : nullptr;
  }

private:
  const std::uint8_t *empty_ = nullptr;
};

// Why a block row cannot be used. Of two defects in the blocks of a row, the larger one is
// reported.
enum class Defect : int {
  none,
  unrepresentable, // a finite block that the storage precision cannot hold
  nonfinite_offdiagonal,
  nonfinite_diagonal,
  singular, // the diagonal block
  backend   // reading or converting the values failed; the values may be right
};

// The defect of a diagonal block
constexpr Defect defect_of(Inversion verdict)
{
  return verdict == Inversion::done       ? Defect::none
         : verdict == Inversion::singular ? Defect::singular
                                          : Defect::nonfinite_diagonal;
}

// A defect of a row as one number, of which devices keep the least. Keys are smaller for smaller
// rows; for one row, they are smaller for later defects.
constexpr unsigned long long kNoBadRow = ~0ULL;
constexpr unsigned long long bad_key(Row row, Defect defect)
{
  return static_cast<unsigned long long>(row) << 3U | (7U - static_cast<unsigned>(defect));
}

// The bad row of this rank with the smallest number, if there is one
struct NumericStatus {
  Defect defect = Defect::none;
  Row row = -1;             // local block row
  std::string problem = {}; // the error message of Defect::backend

  // Sets defect and row from the least key of all rows.
  void set(unsigned long long key)
  {
    if (key == kNoBadRow) return;
    defect = static_cast<Defect>(7U - (key & 7U));
    row = static_cast<Row>(key >> 3U);
  }
};

struct NumericConfig {
  PCMCPIPrecision storage;
  PCMCPIForm form;
  // true: scales are kept while values change little; false: they depend on the current values only
  bool keep_scales = true;
};

// Replaces values by the elementwise maximum over all ranks. Returns 0 or an error code.
using MaxReduce = std::function<int(double *values, int count)>;

// Magnitudes in the inverse diagonal blocks. Let |b_j| be the largest entry of b. Without
// cancellation the largest entry of D^{-1}b is between |b_j| / reciprocal and |b_j| * largest, up
// to a factor of the block size.
struct InverseRange {
  double largest = 0.0; // the largest entry
  // Each column of each block has a largest entry. This is 1 over the smallest of them.
  double reciprocal = 0.0;
  // The largest condition number of an equilibrated diagonal block
  double condition = 0.0;
  // Adds a column of a block, given by its largest entry. The columns of empty unknowns are zero.
  void include(double column)
  {
    if (column == 0.0) return;
    largest = std::max(largest, column);
    reciprocal = std::max(reciprocal, column > kLeast ? 1.0 / column : kNone);
  }
  // The reciprocals of numbers up to kLeast overflow. kNone stands for them.
  static constexpr double kLeast = 0x1p-1024, kNone = std::numeric_limits<double>::infinity();
};

} // namespace mcpi
