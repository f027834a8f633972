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

Ranks build_ranks(const Pattern &pattern, const std::vector<int> &color, int bs,
                  const std::vector<Row> &start, const std::vector<Row> &order)
{
  const int ranks = static_cast<int>(start.size()) - 1,
            colors = 1 + *std::max_element(color.begin(), color.end());
  const Pattern neighbors = symmetrised(pattern);
  Ranks result{start,
               std::vector<ColorPlan>(ranks),
               {},
               std::vector<std::vector<GhostOwner>>(ranks),
               std::vector<std::vector<Row>>(ranks),
               std::vector<std::vector<ReceivedBlock>>(ranks)};

  // place: a row's plan row on its owner
  std::vector<Row> natural(pattern.size()), owner(pattern.size()), place(pattern.size());
  std::iota(natural.begin(), natural.end(), 0);
  const std::vector<Row> &visit = order.empty() ? natural : order;
  for (int r = 0; r < ranks; ++r)
    std::fill(owner.begin() + start[r], owner.begin() + start[r + 1], r);
  const auto is_boundary = [&](Row i) {
    return std::any_of(neighbors[i].begin(), neighbors[i].end(),
                       [&](Row j) { return owner[j] != owner[i]; });
  };

  // In each window, the rows of a color are ordered by the number of their blocks in the lower
  // triangle, then in both triangles.
  constexpr std::size_t kWindow = 256;
  const auto lengths = [&](Row i) {
    return std::pair(std::count_if(pattern[i].begin(), pattern[i].end(),
                                   [&](Row j) { return color[j] < color[i]; }),
                     pattern[i].size());
  };
  const auto shorter = [&](Row i, Row j) { return lengths(i) < lengths(j); };

  for (int r = 0; r < ranks; ++r) {
    ColorPlan &plan = result.forward[r];
    plan.bs = bs;
    plan.rows = start[r + 1] - start[r];
    plan.colors = colors;
    for (int c = 0; c < colors; ++c) {
      plan.color_begin.push_back(static_cast<Row>(plan.row_of.size()));
      for (const bool boundary : {true, false}) {
        std::vector<Row> part;
        for (const Row i : visit)
          if (owner[i] == r && color[i] == c && is_boundary(i) == boundary) part.push_back(i);
        for (std::size_t first = 0; first < part.size(); first += kWindow)
          std::stable_sort(part.begin() + static_cast<std::ptrdiff_t>(first),
                           part.begin() +
                               static_cast<std::ptrdiff_t>(std::min(first + kWindow, part.size())),
                           shorter);
        for (const Row i : part) {
          place[i] = static_cast<Row>(plan.row_of.size());
          plan.row_of.push_back(i - start[r]);
        }
        if (boundary) plan.boundary_end.push_back(static_cast<Row>(plan.row_of.size()));
      }
    }
    plan.color_begin.push_back(plan.rows);
    std::set<Row> ghosts;
    for (Row i = start[r]; i < start[r + 1]; ++i)
      for (const Row j : neighbors[i])
        if (owner[j] != r) ghosts.insert(j);
    for (int c = 0; c < colors; ++c) {
      plan.ghost_begin.push_back(static_cast<Row>(result.global_ghosts[r].size()));
      for (const Row j : ghosts)
        if (color[j] == c) result.global_ghosts[r].push_back(j);
    }
    plan.ghosts = static_cast<Row>(ghosts.size());
    plan.ghost_begin.push_back(plan.ghosts);
  }

  // Adds the triangles of the rows of rank r. columns(i) returns the pairs (global column, source)
  // of row i, ascending.
  using Columns = std::vector<std::pair<Row, Offset>>;
  const auto add_triangles = [&](ColorPlan &plan, int r,
                                 const std::function<Columns(Row)> &columns) {
    plan.lower = plan.upper = {{0}, {}, {}};
    for (Row p = 0; p < plan.rows; ++p) {
      const Row i = start[r] + plan.row_of[p];
      for (const auto &[j, source] : columns(i)) {
        const auto &ghosts = result.global_ghosts[r];
        Triangle &triangle = color[j] < color[i] ? plan.lower : plan.upper;
        triangle.col.push_back(
            owner[j] == r
                ? place[j]
                : plan.rows + static_cast<Row>(std::find(ghosts.begin(), ghosts.end(), j) -
                                               ghosts.begin()));
        triangle.source.push_back(source);
      }
      plan.lower.ptr.push_back(static_cast<Offset>(plan.lower.col.size()));
      plan.upper.ptr.push_back(static_cast<Offset>(plan.upper.col.size()));
    }
  };
  // block of a row, in the pattern's order -> stored block of the row's owner
  std::vector<std::vector<Offset>> stored(pattern.size());
  for (int r = 0; r < ranks; ++r) {
    for (const Row j : result.global_ghosts[r]) result.ghosts[r].push_back({owner[j], place[j]});
    ColorPlan &plan = result.forward[r];
    // The order of BlockRows is the pattern's here. With PETSc, local columns come first.
    add_triangles(plan, r, [&](Row i) {
      Columns columns;
      for (std::size_t k = 0; k < pattern[i].size(); ++k)
        columns.emplace_back(pattern[i][k], static_cast<Offset>(k));
      return columns;
    });
    for (Row p = 0; p < plan.rows; ++p) {
      auto &row = stored[start[r] + plan.row_of[p]];
      row.resize(plan.lower.ptr[p + 1] - plan.lower.ptr[p] + plan.upper.ptr[p + 1] -
                 plan.upper.ptr[p]);
      for (Offset k = plan.lower.ptr[p]; k < plan.lower.ptr[p + 1]; ++k)
        row[plan.lower.source[k]] = k;
      for (Offset k = plan.upper.ptr[p]; k < plan.upper.ptr[p + 1]; ++k)
        row[plan.upper.source[k]] = static_cast<Offset>(plan.lower.col.size()) + k;
    }
  }
  std::vector<std::vector<Row>> readers(pattern.size());
  for (Row i = 0; i < static_cast<Row>(pattern.size()); ++i)
    for (const Row j : pattern[i]) readers[j].push_back(i);
  result.transposed = result.forward;
  for (int r = 0; r < ranks; ++r)
    add_triangles(result.transposed[r], r, [&](Row j) {
      Columns columns;
      for (const Row i : readers[j]) {
        const Offset block = stored[i][std::lower_bound(pattern[i].begin(), pattern[i].end(), j) -
                                       pattern[i].begin()];
        if (owner[i] == r) {
          columns.emplace_back(i, block);
        } else {
          columns.emplace_back(i, result.forward[r].blocks() +
                                      static_cast<Offset>(result.received[r].size()));
          result.received[r].push_back({static_cast<int>(owner[i]), block});
        }
      }
      return columns;
    });
  return result;
}

} // namespace mcpi::test
