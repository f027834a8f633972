// What a numeric set-up reads, and what it reports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/plan.h"
#include "petscmcpitypes.h"

namespace mcpi {

// The values of a matrix as they lie in memory, for a backend that reads them there. Up to two
// pieces, each with blocks row after row; a row's off-diagonal blocks are those of its first piece
// without the diagonal one, then those of its second.
enum class ValueLayout {
  none,        // only by BlockRows::row()
  blocks,      // dense column-major blocks
  scalar_rows, // the entries of a block row's scalar rows, one scalar row after the other, each by
               // ascending columns
};
struct ValueArrays {
  ValueLayout layout = ValueLayout::none;
  bool device = false;         // in the memory of the backend's device
  void *stream = nullptr;      // on which a device's values were made
  int threads = 1;             // that may read them together
  const double *piece[2] = {}; // null: there is no such piece
};

// Where the blocks of a piece lie
struct PieceStructure {
  std::vector<Offset> ptr;   // rows + 1: blocks before a row
  std::vector<Row> diagonal; // first piece: the diagonal block's place among its row's
  // Scalar rows, if a block of some piece is not full: entries before a scalar row, and an entry's
  // place in the dense blocks of its block row
  std::vector<Offset> entry_ptr;
  std::vector<std::uint32_t> slot;
};

// Values of the matrix. row(): one block row at a time, column-major blocks.
class BlockRows {
public:
  virtual ~BlockRows() = default;
  // diagonal: the row's diagonal block; offdiag[k]: its k-th off-diagonal block. Valid until the
  // next call.
  virtual void row(Row local_row, const double *&diagonal, const double *const *&offdiag) = 0;

  virtual ValueArrays arrays() { return {}; }
  virtual PieceStructure structure(int /*piece*/) const { return {}; } // of arrays()
};

// backend: nothing is wrong with the values, but with reading or converting them.
enum class Defect : int {
  none,
  unrepresentable,
  nonfinite_offdiagonal,
  nonfinite_diagonal,
  singular,
  backend
};

// The first (smallest local block row) bad row of this rank.
struct NumericStatus {
  Defect defect = Defect::none;
  Row row = -1;
  std::string problem = {}; // what Defect::backend was
};

struct NumericConfig {
  PCMCPIPrecision storage;
  PCMCPIForm form;
  PCMCPIScaling scaling;
  bool keep_scales = true; // while values change little; else scales depend on the values alone
};

// Elementwise maximum over all ranks, in place; 0 or an error code.
using MaxReduce = std::function<int(double *values, int count)>;

// Magnitudes in the inverse diagonal blocks. Let |b_j| be the largest entry of b. Then, but for
// cancellation, the largest entry of D^{-1}b is between |b_j| / reciprocal and |b_j| * largest.
struct InverseRange {
  double largest = 0.0;    // entry
  double reciprocal = 0.0; // of the smallest among the largest entries of the blocks' columns
  // column: the largest entry of a column of a block
  void include(double column)
  {
    largest = std::max(largest, column);
    reciprocal = std::max(reciprocal, 1.0 / column);
  }
};

} // namespace mcpi
