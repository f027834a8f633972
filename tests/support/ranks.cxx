#include "support/ranks.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace mcpi::test {

void MatrixRows::row(Row local_row, const double *&diagonal, const double *const *&offdiag)
{
  const Row i = first_ + local_row;
  blocks_.clear();
  blocks_.reserve(matrix_.rows());
  for (Row k = matrix_.ptr.at(i); k < matrix_.ptr.at(i + 1); ++k) {
    const double *block =
        matrix_.values.data() + static_cast<std::size_t>(k) * matrix_.bs * matrix_.bs;
    if (matrix_.col[k] == i)
      diagonal = block;
    else
      blocks_.push_back(block);
  }
  offdiag = blocks_.data();
  ++reads;
}

namespace {

// What the plans of all ranks are built from. place: a row's plan row on its owner
struct Layout {
  const Pattern &pattern;
  Pattern neighbors;
  const std::vector<int> &color;
  const std::vector<Row> &start;
  int colors = 0;
  std::vector<Row> visit, owner = {}, place = {};

  bool is_boundary(Row i) const
  {
    return std::any_of(neighbors[i].begin(), neighbors[i].end(),
                       [&](Row j) { return owner[j] != owner[i]; });
  }
};

// In each window, the rows of a color are ordered by the number of their blocks in the lower
// triangle, then in both triangles.
void order_by_length(const Layout &layout, std::vector<Row> &part)
{
  constexpr std::size_t kWindow = 256;
  const auto lengths = [&](Row i) {
    const auto &row = layout.pattern[i];
    return std::pair(std::count_if(row.begin(), row.end(),
                                   [&](Row j) { return layout.color[j] < layout.color[i]; }),
                     row.size());
  };
  for (std::size_t first = 0; first < part.size(); first += kWindow)
    std::stable_sort(part.begin() + static_cast<std::ptrdiff_t>(first),
                     part.begin() +
                         static_cast<std::ptrdiff_t>(std::min(first + kWindow, part.size())),
                     [&](Row i, Row j) { return lengths(i) < lengths(j); });
}

// Places the rows of rank r, color by color, boundary rows first.
void place_rows(Layout &layout, int r, ColorPlan &plan)
{
  for (int c = 0; c < layout.colors; ++c) {
    plan.color_begin.push_back(static_cast<Row>(plan.row_of.size()));
    for (const bool boundary : {true, false}) {
      std::vector<Row> part;
      for (const Row i : layout.visit)
        if (layout.owner[i] == r && layout.color[i] == c && layout.is_boundary(i) == boundary)
          part.push_back(i);
      order_by_length(layout, part);
      for (const Row i : part) {
        layout.place[i] = static_cast<Row>(plan.row_of.size());
        plan.row_of.push_back(i - layout.start[r]);
      }
      if (boundary) plan.boundary_end.push_back(static_cast<Row>(plan.row_of.size()));
    }
  }
  plan.color_begin.push_back(plan.rows);
}

// Returns the ghosts of rank r, color by color.
std::vector<Row> find_ghosts(const Layout &layout, int r, ColorPlan &plan)
{
  std::set<Row> ghosts;
  std::vector<Row> sorted;
  for (Row i = layout.start[r]; i < layout.start[r + 1]; ++i)
    for (const Row j : layout.neighbors[i])
      if (layout.owner[j] != r) ghosts.insert(j);
  for (int c = 0; c < layout.colors; ++c) {
    plan.ghost_begin.push_back(static_cast<Row>(sorted.size()));
    for (const Row j : ghosts)
      if (layout.color[j] == c) sorted.push_back(j);
  }
  plan.ghosts = static_cast<Row>(ghosts.size());
  plan.ghost_begin.push_back(plan.ghosts);
  return sorted;
}

using SourceColumns = std::vector<std::pair<Row, Offset>>;

// Adds the triangles of the rows of rank r. columns(i) returns the pairs (global column, source) of
// row i, ascending.
void add_triangles(const Layout &layout, int r, const std::vector<Row> &ghosts, ColorPlan &plan,
                   const std::function<SourceColumns(Row)> &columns)
{
  plan.lower = plan.upper = {{0}, {}, {}};
  for (Row p = 0; p < plan.rows; ++p) {
    const Row i = layout.start[r] + plan.row_of[p];
    for (const auto &[j, source] : columns(i)) {
      Triangle &triangle = layout.color[j] < layout.color[i] ? plan.lower : plan.upper;
      triangle.col.push_back(
          layout.owner[j] == r
              ? layout.place[j]
              : plan.rows +
                    static_cast<Row>(std::find(ghosts.begin(), ghosts.end(), j) - ghosts.begin()));
      triangle.source.push_back(source);
    }
    plan.lower.ptr.push_back(static_cast<Offset>(plan.lower.col.size()));
    plan.upper.ptr.push_back(static_cast<Offset>(plan.upper.col.size()));
  }
}

// Block of a row, in the pattern's order -> stored block of the row's owner
using StoredBlocks = std::vector<std::vector<Offset>>;

void number_stored_blocks(Row start, const ColorPlan &plan, StoredBlocks &stored)
{
  for (Row p = 0; p < plan.rows; ++p) {
    auto &row = stored[start + plan.row_of[p]];
    row.resize(plan.lower.ptr[p + 1] - plan.lower.ptr[p] + plan.upper.ptr[p + 1] -
               plan.upper.ptr[p]);
    for (Offset k = plan.lower.ptr[p]; k < plan.lower.ptr[p + 1]; ++k)
      row[plan.lower.source[k]] = k;
    for (Offset k = plan.upper.ptr[p]; k < plan.upper.ptr[p + 1]; ++k)
      row[plan.upper.source[k]] = static_cast<Offset>(plan.lower.col.size()) + k;
  }
}

void transpose_plans(const Layout &layout, const StoredBlocks &stored, Ranks &result)
{
  const Pattern &pattern = layout.pattern;
  std::vector<std::vector<Row>> readers(pattern.size());
  for (Row i = 0; i < static_cast<Row>(pattern.size()); ++i)
    for (const Row j : pattern[i]) readers[j].push_back(i);
  result.transposed = result.forward;
  for (int r = 0; r < static_cast<int>(result.forward.size()); ++r)
    add_triangles(layout, r, result.global_ghosts[r], result.transposed[r], [&](Row j) {
      SourceColumns columns;
      for (const Row i : readers[j]) {
        const Offset block = stored[i][std::lower_bound(pattern[i].begin(), pattern[i].end(), j) -
                                       pattern[i].begin()];
        if (layout.owner[i] == r) {
          columns.emplace_back(i, block);
        } else {
          columns.emplace_back(i, result.forward[r].blocks() +
                                      static_cast<Offset>(result.received[r].size()));
          result.received[r].push_back({static_cast<int>(layout.owner[i]), block});
        }
      }
      return columns;
    });
}

} // namespace

Ranks build_ranks(const Pattern &pattern, const std::vector<int> &color, int bs,
                  const std::vector<Row> &start, const std::vector<Row> &order)
{
  const int ranks = static_cast<int>(start.size()) - 1;
  Ranks result{start,
               std::vector<ColorPlan>(ranks),
               {},
               std::vector<std::vector<GhostOwner>>(ranks),
               std::vector<std::vector<Row>>(ranks),
               std::vector<std::vector<ReceivedBlock>>(ranks)};
  std::vector<Row> natural(pattern.size());
  std::iota(natural.begin(), natural.end(), 0);
  Layout layout{pattern,
                symmetrised(pattern),
                color,
                start,
                1 + *std::max_element(color.begin(), color.end()),
                order.empty() ? natural : order};
  layout.owner.resize(pattern.size());
  layout.place.resize(pattern.size());
  for (int r = 0; r < ranks; ++r)
    std::fill(layout.owner.begin() + start[r], layout.owner.begin() + start[r + 1], r);

  for (int r = 0; r < ranks; ++r) {
    ColorPlan &plan = result.forward[r];
    plan.bs = bs;
    plan.rows = start[r + 1] - start[r];
    plan.colors = layout.colors;
    place_rows(layout, r, plan);
    result.global_ghosts[r] = find_ghosts(layout, r, plan);
  }
  StoredBlocks stored(pattern.size());
  for (int r = 0; r < ranks; ++r) {
    for (const Row j : result.global_ghosts[r])
      result.ghosts[r].push_back({layout.owner[j], layout.place[j]});
    // The order of BlockRows is the pattern's here. With PETSc, local columns come first.
    add_triangles(layout, r, result.global_ghosts[r], result.forward[r], [&](Row i) {
      SourceColumns columns;
      for (std::size_t k = 0; k < pattern[i].size(); ++k)
        columns.emplace_back(pattern[i][k], static_cast<Offset>(k));
      return columns;
    });
    number_stored_blocks(start[r], result.forward[r], stored);
  }
  transpose_plans(layout, stored, result);
  return result;
}

} // namespace mcpi::test
