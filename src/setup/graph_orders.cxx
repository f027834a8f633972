#include "setup/graph_orders.h"

#include <algorithm>

#include "setup/fetch_ahead.h"

namespace mcpi {
namespace {

// The marks of rows tell which rows a search may still visit. A search turns the marks of all rows
// that it reaches into their partner, so the next one needs no preparation. Rows of components that
// are done have the mark kDone.
using Mark = unsigned char;
constexpr Mark kDone = 0, kFirst = 2;

constexpr Mark partner(Mark mark)
{
  return mark ^ 1U;
}

// The rows of a connected component by their distance from a root
class Levels {
public:
  Levels(const RowGraph &graph, std::vector<Mark> &mark)
      : graph_(graph), mark_(mark), rows_(static_cast<std::size_t>(graph.rows()) + 1)
  {
  }

  Row count() const { return begin_.back(); }
  Row levels() const { return static_cast<Row>(begin_.size()) - 1; }
  std::span<const Row> all() const { return {rows_.data(), static_cast<std::size_t>(count())}; }
  std::span<const Row> level(Row l) const
  {
    return {rows_.data() + begin_[l], static_cast<std::size_t>(begin_[l + 1] - begin_[l])};
  }

  // Breadth-first search
  void search(Row root)
  {
    // Stores of marks may change anything that is not a local variable, as far as compilers know.
    Mark *const mark = mark_.data();
    const Offset *const ptr = graph_.ptr.data();
    const Row *const col = graph_.col.data();
    Row *const rows = rows_.data();
    const Mark from = mark[root], to = partner(from);
    Row count = 1;
    rows[0] = root;
    mark[root] = to;
    begin_.assign(1, 0);
    for (Row level_end = 0; level_end < count;) {
      const Row level_begin = level_end;
      level_end = count;
      begin_.push_back(level_end);
      for (Row k = level_begin; k < level_end; ++k) {
        fetch_ahead(ptr, col, rows, static_cast<std::size_t>(k), static_cast<std::size_t>(count));
        for (const Row *n = col + ptr[rows[k]], *end = col + ptr[rows[k] + 1]; n != end; ++n) {
          if (mark[*n] != from) continue;
          mark[*n] = to;
          rows[count++] = *n;
        }
      }
    }
  }

  // Searches again and again, each time from a row of least degree in the last level, as long as
  // this brings more levels (Gibbs, Poole and Stockmeyer). Returns the last root.
  Row search_from_end(Row root)
  {
    search(root);
    for (Row before = 1; levels() > before && levels() < count();) {
      before = levels();
      root = least_connected(level(before - 1));
      search(root);
    }
    return root;
  }

private:
  Row least_connected(std::span<const Row> rows) const
  {
    Row best = rows.front();
    std::ptrdiff_t least = count();
    for (const Row row : rows) {
      const auto degree = static_cast<std::ptrdiff_t>(graph_.neighbors(row).size());
      if (degree >= least) continue;
      best = row;
      least = degree;
    }
    return best;
  }

  const RowGraph graph_;
  std::vector<Mark> &mark_;
  std::vector<Row> rows_;
  std::vector<Row> begin_; // of the levels, and the number of rows
};

// One row at an end of each connected component, in the order of the components' first rows
std::vector<Row> end_rows(const RowGraph &graph)
{
  std::vector<Mark> mark(static_cast<std::size_t>(graph.rows()), kFirst);
  std::vector<Row> ends;
  Levels levels(graph, mark);
  for (Row row = 0; row < graph.rows(); ++row) {
    if (mark[row] == kDone) continue;
    ends.push_back(levels.search_from_end(row));
    if (levels.count() == graph.rows()) break;
    for (const Row reached : levels.all()) mark[reached] = kDone;
  }
  return ends;
}

} // namespace

void order_by_rcm(const RowGraph &graph, std::vector<Row> *order)
{
  std::vector<char> numbered(static_cast<std::size_t>(graph.rows()), 0);
  std::vector<Row> degree(numbered.size());
  for (Row row = 0; row < graph.rows(); ++row)
    degree[row] = static_cast<Row>(graph.ptr[row + 1] - graph.ptr[row]);
  Row *rows = order->data();
  Row count = 0;
  for (const Row end : end_rows(graph)) {
    const Row first = count;
    numbered[end] = 1;
    rows[count++] = end;
    for (Row k = first; k < count; ++k) {
      const Row begin = count;
      fetch_ahead(graph.ptr.data(), graph.col.data(), rows, static_cast<std::size_t>(k),
                  static_cast<std::size_t>(count));
      for (const Row neighbor : graph.neighbors(rows[k])) {
        if (numbered[neighbor]) continue;
        numbered[neighbor] = 1;
        // Rows of less degree come first; others stay in their order.
        Row at = count++;
        for (; at > begin && degree[rows[at - 1]] > degree[neighbor]; --at) rows[at] = rows[at - 1];
        rows[at] = neighbor;
      }
    }
    std::reverse(rows + first, rows + count);
  }
}

} // namespace mcpi
