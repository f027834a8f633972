// Matrices for the test of jplf. They are generated row by row from the global index, so they are
// the same on any number of ranks.
#pragma once

#include <petscmat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace coloring_problem {

inline std::uint64_t mix(std::uint64_t x)
{
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185U;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44dU;
  return x ^ (x >> 33);
}

// A bijection of [0, size): four Feistel rounds on the next even number of bits. They are repeated
// until the result lies in the range.
class Permutation {
public:
  explicit Permutation(std::uint64_t size) : size_(size)
  {
    while ((std::uint64_t{1} << (2 * half_)) < size) ++half_;
  }

  std::uint64_t forward(std::uint64_t x) const
  {
    do {
      std::uint64_t left = x >> half_, right = x & mask();
      for (std::uint64_t round = 0; round < 4; ++round) {
        const std::uint64_t next = left ^ (mix(right * 4 + round + 1) & mask());
        left = right;
        right = next;
      }
      x = (left << half_) | right;
    } while (x >= size_);
    return x;
  }

  std::uint64_t inverse(std::uint64_t x) const
  {
    do {
      std::uint64_t left = x >> half_, right = x & mask();
      for (std::uint64_t round = 4; round-- > 0;) {
        const std::uint64_t before = right ^ (mix(left * 4 + round + 1) & mask());
        right = left;
        left = before;
      }
      x = (left << half_) | right;
    } while (x >= size_);
    return x;
  }

private:
  std::uint64_t mask() const { return (std::uint64_t{1} << half_) - 1; }
  std::uint64_t size_;
  int half_ = 1;
};

struct Case {
  std::string kind;
  PetscInt n = 12;
  bool permute = false;
  const char *type = MATAIJ;
  PetscInt bs = 1;
};

using Offset = std::array<PetscInt, 3>;

// Half of the offsets to neighbors inside a box of this radius. The other half has opposite signs.
inline std::vector<Offset> half_box(PetscInt radius)
{
  std::vector<Offset> offsets;
  for (PetscInt z = -radius; z <= radius; ++z)
    for (PetscInt y = -radius; y <= radius; ++y)
      for (PetscInt x = -radius; x <= radius; ++x)
        if (const Offset offset{x, y, z}; Offset{z, y, x} > Offset{0, 0, 0})
          offsets.push_back(offset);
  return offsets;
}

// Generates the columns of a row, with the diagonal if the problem has one.
class Problem {
public:
  explicit Problem(const Case &c) : case_(c), permutation_(1)
  {
    const PetscInt n = c.n;
    const bool box = c.kind == "tet" || c.kind == "mix" || c.kind == "star" || c.kind == "box";
    rows_ = c.kind == "zero"                                                        ? 0
            : box || c.kind == "random" || c.kind == "none" || c.kind == "diagonal" ? n * n * n
                                                                                    : n * n;
    permutation_ = Permutation(static_cast<std::uint64_t>(std::max<PetscInt>(rows_, 1)));
    if (c.kind == "tet" || c.kind == "mix")
      offsets_ = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}};
    else if (c.kind == "star")
      offsets_ = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    else if (c.kind == "box")
      offsets_ = half_box(1);
    if (c.kind != "mix") return;
    for (const Offset &offset : half_box(2))
      if (std::find(offsets_.begin(), offsets_.end(), offset) == offsets_.end())
        extra_.push_back(offset);
    probability_ = (16.9 - pairs(offsets_)) / pairs(extra_);
  }

  PetscInt rows() const { return rows_; }

  std::vector<PetscInt> columns(PetscInt row) const
  {
    std::vector<PetscInt> cols;
    if (case_.kind != "none") cols.push_back(row);
    if (case_.kind == "random") {
      for (PetscInt k = 0; k < 5; ++k)
        cols.push_back(static_cast<PetscInt>(mix(static_cast<std::uint64_t>(row * 8 + k + 1)) %
                                             static_cast<std::uint64_t>(rows_)));
    } else if (case_.kind == "complete") {
      for (PetscInt j = 0; j < rows_; ++j) cols.push_back(j);
    } else if (case_.kind == "arrow") { // one dense row; symmetrisation adds its column
      if (row == rows_ / 2)
        for (PetscInt j = 0; j < rows_; ++j) cols.push_back(j);
      else if (row > 0)
        cols.push_back(row - 1);
    } else if (case_.kind == "chain" || case_.kind == "ring") {
      const PetscInt cell = cell_of(row);
      for (const PetscInt other : {cell - 1, cell + 1})
        if (case_.kind == "ring" || (other >= 0 && other < rows_))
          cols.push_back(row_of((other + rows_) % rows_));
    } else {
      append_neighbors(cell_of(row), offsets_, 1.0, cols);
      append_neighbors(cell_of(row), extra_, probability_, cols);
    }
    std::sort(cols.begin(), cols.end());
    cols.erase(std::unique(cols.begin(), cols.end()), cols.end());
    return cols;
  }

private:
  PetscInt cell_of(PetscInt row) const
  {
    return case_.permute
               ? static_cast<PetscInt>(permutation_.inverse(static_cast<std::uint64_t>(row)))
               : row;
  }
  PetscInt row_of(PetscInt cell) const
  {
    return case_.permute
               ? static_cast<PetscInt>(permutation_.forward(static_cast<std::uint64_t>(cell)))
               : cell;
  }

  // The mean number of neighbors if all pairs at these offsets are neighbors
  double pairs(const std::vector<Offset> &offsets) const
  {
    double sum = 0;
    for (const Offset &o : offsets) {
      double product = 2;
      for (const PetscInt d : o)
        product *=
            std::max(0.0, 1.0 - static_cast<double>(PetscAbsInt(d)) / static_cast<double>(case_.n));
      sum += product;
    }
    return sum;
  }

  void append_neighbors(PetscInt cell, const std::vector<Offset> &offsets, double probability,
                        std::vector<PetscInt> &cols) const
  {
    const PetscInt n = case_.n, x = cell % n, y = cell / n % n, z = cell / n / n;
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      for (const PetscInt sign : {1, -1}) {
        const PetscInt X = x + sign * offsets[k][0], Y = y + sign * offsets[k][1],
                       Z = z + sign * offsets[k][2];
        if (std::min({X, Y, Z}) < 0 || std::max({X, Y, Z}) >= n) continue;
        const PetscInt other = (Z * n + Y) * n + X;
        const std::uint64_t draw =
            mix(mix(static_cast<std::uint64_t>(sign > 0 ? cell : other) + 1) +
                k); // by the first cell of the pair
        if (static_cast<double>(draw >> 11) * 0x1p-53 >= probability) continue;
        cols.push_back(row_of(other));
      }
    }
  }

  Case case_;
  Permutation permutation_;
  PetscInt rows_ = 0;
  std::vector<Offset> offsets_, extra_;
  double probability_ = 0;
};

} // namespace coloring_problem
