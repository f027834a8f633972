#include "setup/chunks.h"

#include <algorithm>
#include <numeric>

#include "core/tuning.h"

namespace mcpi {
namespace {

// Makes chunks of units. A unit is a cluster, or a row if there are no clusters.
class Maker {
public:
  Maker(const BlockGraph &graph, const Coloring &coloring)
      : rows_(graph.rows), color_(coloring.color), unit_(coloring.cluster), pattern_(graph),
        by_color_(static_cast<std::size_t>(rows_))
  {
    if (!coloring.clustered) {
      unit_.resize(by_color_.size());
      std::iota(unit_.begin(), unit_.end(), 0);
    }
    std::iota(by_color_.begin(), by_color_.end(), 0);
    std::stable_sort(by_color_.begin(), by_color_.end(),
                     [&](Row a, Row b) { return color_[a] < color_[b]; });
    chunk_.assign(by_color_.size(), kNone);
  }

  // Puts the boundary into chunk 0, and all rows that a forward pass has to relax before it.
  void take_boundary(const std::vector<char> &boundary)
  {
    for (Row row = 0; row < rows_; ++row)
      if (boundary[row]) of(row) = 0;
    std::for_each(by_color_.rbegin(), by_color_.rend(), [&](Row row) {
      if (of(row) != 0) return;
      for_neighbors(row, [&](Row neighbor) {
        if (color_[neighbor] < color_[row]) of(neighbor) = 0;
      });
    });
  }

  // Divides the other units in this order: first those that are not coupled with chunk 0.
  void divide(const std::vector<Row> &order, Row least, Chunks &chunks)
  {
    std::vector<char> near(chunk_.size(), 0);   // by unit: whether it is coupled with chunk 0
    std::vector<Row> members(chunk_.size(), 0); // by unit: its number of rows
    for (Row row = 0; row < rows_; ++row) {
      ++members[unit_[row]];
      if (of(row) == 0) for_neighbors(row, [&](Row neighbor) { near[unit_[neighbor]] = 1; });
    }
    for (const char wanted : {0, 1}) {
      Row rows = 0;
      for (const Row row : order) {
        if (of(row) != kNone || near[unit_[row]] != wanted) continue;
        of(row) = chunks.count;
        if ((rows += members[unit_[row]]) < least) continue;
        rows = 0;
        ++chunks.count;
      }
      if (rows > 0) ++chunks.count;
      if (!wanted) chunks.near_begin = chunks.count;
    }
  }

  // Lets rows wait for their neighbors of earlier colors.
  void let_wait()
  {
    for (const Row row : by_color_)
      for_neighbors(row, [&](Row neighbor) {
        if (color_[neighbor] < color_[row]) of(row) = std::max(of(row), of(neighbor));
      });
  }

  std::vector<int> of_rows() const
  {
    std::vector<int> chunk(by_color_.size());
    for (Row row = 0; row < rows_; ++row) chunk[row] = chunk_[unit_[row]];
    return chunk;
  }

private:
  static constexpr int kNone = -1;

  int &of(Row row) { return chunk_[unit_[row]]; }
  template <class Visit> void for_neighbors(Row row, const Visit &visit) const
  {
    for (Offset k = pattern_.ptr[row]; k < pattern_.ptr[row + 1]; ++k)
      if (pattern_.col[k] < rows_) visit(pattern_.col[k]);
  }

  const Row rows_;
  const std::vector<int> &color_;
  std::vector<Row> unit_; // by row
  const SymmetrizedPattern pattern_;
  std::vector<Row> by_color_;
  std::vector<int> chunk_; // by unit
};

} // namespace

Row decided_chunk_rows(const BlockGraph &graph, int colors)
{
  if (graph.rows * graph.bs < CommonTuning::kChunksFrom) return 0;
  return static_cast<Row>(std::max<Offset>(CommonTuning::kChunkNumbers / graph.bs,
                                           CommonTuning::kChunkRowsOfColor * colors));
}

Chunks make_chunks(const BlockGraph &graph, const Coloring &coloring,
                   const std::vector<char> &boundary, const std::vector<Row> &order, Row least)
{
  Chunks chunks;
  Maker maker(graph, coloring);
  maker.take_boundary(boundary);
  maker.divide(order, least, chunks);
  maker.let_wait();
  chunks.of_row = maker.of_rows();
  return chunks;
}

} // namespace mcpi
