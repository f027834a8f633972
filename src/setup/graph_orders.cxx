#include "setup/graph_orders.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/threads.h"
#include "core/tuning.h"
#include "setup/fetch_ahead.h"

namespace mcpi {
namespace {

// The marks of rows tell which rows a search may still visit. A search turns the marks of all rows
// that it reaches into their partner, so the next one needs no preparation. Rows that are removed
// have the mark kRemoved.
using Mark = unsigned char;
constexpr Mark kRemoved = 0, kFirst = 2, kSecond = 4, kNext = 6;

constexpr Mark partner(Mark mark)
{
  return mark ^ 1U;
}
constexpr bool same_pair(Mark a, Mark b)
{
  return a >> 1U == b >> 1U;
}

// The rows of a connected component by their distance from a root
class Levels {
public:
  // most: rows of a component
  Levels(const RowGraph &graph, std::vector<Mark> &mark, Row most)
      : graph_(graph), mark_(mark), rows_(static_cast<std::size_t>(most) + 1)
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
      const auto neighbors = graph_.neighbors(row);
      const auto degree = std::count_if(neighbors.begin(), neighbors.end(),
                                        [&](Row n) { return mark_[n] != kRemoved; });
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

// Separators one after the other. key: the first row of the component that the separator divides
struct Separators {
  struct One {
    Row key, rows;
  };
  std::vector<One> list;
  std::vector<Row> rows;
};

// Adds the separator of the component whose levels are given, and removes its rows: those of the
// middle level that have neighbors in the next one. A component of few levels is all separator.
void separate(const RowGraph &graph, const Levels &levels, Row key, std::vector<Mark> &mark,
              Separators &separators)
{
  const std::size_t before = separators.rows.size();
  const auto add = [&](Row row) {
    separators.rows.push_back(row);
    mark[row] = kRemoved;
  };
  if (levels.levels() < 3) {
    for (const Row row : levels.all()) add(row);
  } else {
    const Row middle = levels.levels() / 2;
    const Mark old = mark[levels.all().front()];
    for (const Row row : levels.level(middle + 1)) mark[row] = kNext;
    for (const Row row : levels.level(middle)) {
      const auto neighbors = graph.neighbors(row);
      if (std::any_of(neighbors.begin(), neighbors.end(), [&](Row n) { return mark[n] == kNext; }))
        add(row);
    }
    for (const Row row : levels.level(middle + 1)) mark[row] = old;
  }
  separators.list.push_back({key, static_cast<Row>(separators.rows.size() - before)});
}

// A piece of few rows, as a graph of its own that stays in a core's caches. set: its rows,
// ascending
class SmallPiece {
public:
  SmallPiece(const RowGraph &graph, const std::vector<Row> &set, const std::vector<Mark> &mark,
             std::vector<Row> &number)
      : set_(set), mark_(set.size(), kFirst)
  {
    for (std::size_t k = 0; k < set.size(); ++k) number[set[k]] = static_cast<Row>(k);
    ptr_.reserve(set.size() + 1);
    ptr_.push_back(0);
    for (const Row row : set) {
      for (const Row neighbor : graph.neighbors(row))
        if (mark[neighbor] != kRemoved) col_.push_back(number[neighbor]);
      ptr_.push_back(static_cast<Offset>(col_.size()));
    }
  }

  void divide(Separators &separators)
  {
    const RowGraph graph{ptr_, col_};
    Levels levels(graph, mark_, graph.rows());
    for (Row row = 0; row < graph.rows(); ++row)
      while (mark_[row] != kRemoved) {
        levels.search_from_end(row);
        separate(graph, levels, set_[row], mark_, separators);
      }
    for (Row &row : separators.rows) row = set_[row];
  }

private:
  const std::vector<Row> &set_;
  std::vector<Offset> ptr_;
  std::vector<Row> col_;
  std::vector<Mark> mark_;
};

// Divides pieces until they are small: all pieces of a generation at the same time.
class Dissection {
public:
  Dissection(const RowGraph &graph, int threads)
      : graph_(graph), mark_(static_cast<std::size_t>(graph.rows()), kFirst), number_(mark_.size()),
        team_(mark_.size() > 4 * kSmall ? threads : 1)
  {
  }

  void run(const std::vector<Row> &ends)
  {
    std::vector<Piece> pieces(1), small;
    pieces.front().set.resize(mark_.size());
    std::iota(pieces.front().set.begin(), pieces.front().set.end(), 0);
    for (const std::vector<Row> *known = &ends; !pieces.empty(); known = nullptr) {
      team_.share(pieces.size(), [&](std::size_t k) { divide(pieces[k], known); });
      std::vector<Piece> next;
      for (Piece &piece : pieces) {
        found_.push_back(std::move(piece.found));
        for (Piece &part : piece.parts)
          (part.set.size() > kSmall ? next : small).push_back(std::move(part));
      }
      pieces = std::move(next);
    }
    team_.share(small.size(), [&](std::size_t k) {
      SmallPiece(graph_, small[k].set, mark_, number_).divide(small[k].found);
    });
    for (Piece &piece : small) found_.push_back(std::move(piece.found));
  }

  // Separators come in the order of their keys, and of those with the same key, the one that was
  // found first. Rows of the first separator are the last ones of the order.
  void write(std::vector<Row> *order) const
  {
    std::vector<Row> end(mark_.size() + 1, 0);
    for (const Separators &found : found_)
      for (const auto &one : found.list) end[one.key] += one.rows;
    Row place = static_cast<Row>(mark_.size());
    for (Row &e : end) e = std::exchange(place, place - e);
    for (const Separators &found : found_) {
      auto row = found.rows.begin();
      for (const auto &one : found.list)
        for (Row k = 0; k < one.rows; ++k) (*order)[--end[one.key]] = *row++;
    }
  }

private:
  static constexpr std::size_t kSmall = CommonTuning::kSmallPiece;

  // Some components. Their rows, ascending, have marks of one pair.
  struct Piece {
    std::vector<Row> set;
    Separators found;
    std::vector<Piece> parts;
  };

  // Separates each component once. ends: one row for each component, or null
  void divide(Piece &piece, const std::vector<Row> *ends)
  {
    Levels levels(graph_, mark_, static_cast<Row>(piece.set.size()));
    const Mark old = mark_[piece.set.front()];
    std::size_t components = 0;
    for (const Row row : piece.set) {
      if (!same_pair(mark_[row], old)) continue;
      if (ends)
        levels.search((*ends)[components++]);
      else
        levels.search_from_end(row);
      const Row middle = levels.levels() / 2;
      separate(graph_, levels, row, mark_, piece.found);
      const bool all = levels.count() == static_cast<Row>(piece.set.size());
      std::vector<Row> rows;
      if (!all) {
        rows.assign(levels.all().begin(), levels.all().end());
        std::sort(rows.begin(), rows.end());
      }
      if (levels.levels() >= 3) part(levels, middle, all ? piece.set : rows, old, piece.parts);
      if (all) break;
    }
    piece.set = {};
  }

  // Makes pieces of what lies before and after the middle level. Their marks are of the other pair.
  void part(const Levels &levels, Row middle, const std::vector<Row> &rows, Mark old,
            std::vector<Piece> &parts)
  {
    const Mark before = same_pair(old, kFirst) ? kSecond : kFirst, after = partner(before);
    Piece two[2];
    for (Row l = 0; l < levels.levels(); ++l)
      for (const Row row : levels.level(l))
        if (mark_[row] != kRemoved) mark_[row] = l <= middle ? before : after;
    for (const Row row : rows)
      if (mark_[row] != kRemoved) two[mark_[row] == after].set.push_back(row);
    for (Piece &piece : two)
      if (!piece.set.empty()) parts.push_back(std::move(piece));
  }

  const RowGraph graph_;
  std::vector<Mark> mark_;
  std::vector<Row> number_; // of a row in its small piece
  Team team_;
  std::vector<Separators> found_;
};

} // namespace

std::vector<Row> end_rows(const RowGraph &graph)
{
  std::vector<Mark> mark(static_cast<std::size_t>(graph.rows()), kFirst);
  std::vector<Row> ends;
  Levels levels(graph, mark, graph.rows());
  for (Row row = 0; row < graph.rows(); ++row) {
    if (mark[row] == kRemoved) continue;
    ends.push_back(levels.search_from_end(row));
    if (levels.count() == graph.rows()) break;
    for (const Row reached : levels.all()) mark[reached] = kRemoved;
  }
  return ends;
}

void order_by_rcm(const RowGraph &graph, const std::vector<Row> &ends, std::vector<Row> *order)
{
  std::vector<char> numbered(static_cast<std::size_t>(graph.rows()), 0);
  std::vector<Row> degree(numbered.size());
  for (Row row = 0; row < graph.rows(); ++row)
    degree[row] = static_cast<Row>(graph.ptr[row + 1] - graph.ptr[row]);
  Row *rows = order->data();
  Row count = 0;
  for (const Row end : ends) {
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

void order_by_dissection(const RowGraph &graph, const std::vector<Row> &ends, int threads,
                         std::vector<Row> *order)
{
  if (graph.rows() == 0) return;
  Dissection dissection(graph, threads);
  dissection.run(ends);
  dissection.write(order);
}

bool has_equal_rows(const RowGraph &graph)
{
  // PETSc orders groups if there are at most 0.8 times as many groups as rows.
  constexpr std::size_t kPart = 5;
  std::size_t equal = 0;
  for (Row row = 0; row + 1 < graph.rows(); ++row) {
    const auto own = graph.neighbors(row), next = graph.neighbors(row + 1);
    if (own.size() != next.size()) continue;
    // The rows are equal if their neighbors and they themselves are the same set. The first has the
    // second where the second has the first.
    bool coupled = false;
    const bool alike = std::equal(own.begin(), own.end(), next.begin(), [&](Row a, Row b) {
      if (a == b) return true;
      return coupled = a == row + 1 && b == row;
    });
    equal += alike && coupled;
  }
  return graph.rows() > 0 && kPart * equal >= static_cast<std::size_t>(graph.rows());
}

} // namespace mcpi
