#include "setup/plan_build.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/tuning.h"
#include "petsc/compat.h"
#include "setup/chunks.h"
#include "setup/fetch_ahead.h"

namespace mcpi {
namespace {

// One block of a plan row, before the blocks are sorted and split into triangles
struct Entry {
  PetscInt global; // global block column
  Row column;      // in the plan's numbering
  Offset source;   // where the values come from, as in Triangle
};

// Appends a plan row to both triangles. Blocks are sorted by global column, so that sums do not
// depend on the partition. A local column of the same color belongs to the same cluster, whose rows
// are relaxed in plan order.
void append_row(std::vector<Entry> &row, const std::vector<int> &color, Row own, ColorPlan &plan)
{
  const auto before = [](const Entry &a, const Entry &b) { return a.global < b.global; };
  if (!std::is_sorted(row.begin(), row.end(), before)) std::sort(row.begin(), row.end(), before);
  for (const Entry &entry : row) {
    const bool earlier =
        entry.column < plan.rows ? entry.column < own : color[entry.column] < color[own];
    Triangle &triangle = earlier ? plan.lower : plan.upper;
    triangle.col.push_back(entry.column);
    triangle.source.push_back(entry.source);
  }
  plan.lower.ptr.push_back(static_cast<Offset>(plan.lower.col.size()));
  plan.upper.ptr.push_back(static_cast<Offset>(plan.upper.col.size()));
}

// Empties both triangles. blocks: the number of blocks of both together. If the pattern is
// symmetric, each triangle has about half of them, for which memory is reserved.
void start_triangles(std::size_t blocks, ColorPlan &plan)
{
  for (Triangle *triangle : {&plan.lower, &plan.upper}) {
    *triangle = Triangle();
    triangle->ptr.reserve(static_cast<std::size_t>(plan.rows) + 1);
    triangle->ptr.push_back(0);
    triangle->col.reserve(blocks / 2 + blocks / 64);
    triangle->source.reserve(blocks / 2 + blocks / 64);
  }
}

std::vector<int> column_colors(const ColorPlan &plan)
{
  std::vector<int> color(static_cast<std::size_t>(plan.rows) + plan.ghosts);
  for (int c = 0; c < plan.colors; ++c) {
    std::fill(color.begin() + plan.color_begin[c], color.begin() + plan.color_begin[c + 1], c);
    std::fill(color.begin() + plan.rows + plan.ghost_begin[c],
              color.begin() + plan.rows + plan.ghost_begin[c + 1], c);
  }
  return color;
}

// Inside windows, which no row leaves, puts rows with equally many blocks next to each other. The
// loop over a row's blocks runs fastest if it ends where the loop of the preceding row did.
void group_equal_rows(const BlockGraph &graph, const Coloring &coloring, Row begin, Row end,
                      std::vector<Row> &row_of)
{
  const auto lengths = [&](Row row) {
    const int own = coloring.color[row];
    Offset lower = 0;
    for (Offset k = graph.ptr[row]; k < graph.ptr[row + 1]; ++k) {
      const Row column = graph.col[k];
      lower += (column < graph.rows ? coloring.color[column]
                                    : coloring.ghost_color[column - graph.rows]) < own;
    }
    return std::pair(lower, graph.ptr[row + 1] - graph.ptr[row]);
  };
  for (Row first = begin; first < end; first += CommonTuning::kWindow) {
    const Row last = std::min(first + CommonTuning::kWindow, end);
    std::vector<std::pair<std::pair<Offset, Offset>, Row>> keyed;
    for (Row p = first; p < last; ++p) keyed.emplace_back(lengths(row_of[p]), row_of[p]);
    std::stable_sort(keyed.begin(), keyed.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    for (Row p = first; p < last; ++p)
      row_of[p] = keyed[static_cast<std::size_t>(p - first)].second;
  }
}

// The stage of each row in its cluster: one after the last stage of its earlier neighbors there.
// order: the rows, in the order in which the rows of a cluster are relaxed
std::vector<int> stages_in_clusters(const BlockGraph &graph, const Coloring &coloring,
                                    const std::vector<Row> &order)
{
  const SymmetrizedPattern pattern(graph);
  std::vector<int> stage(static_cast<std::size_t>(graph.rows), -1); // -1: a later row
  for (const Row row : order) {
    int last = -1;
    for (Offset k = pattern.ptr[row]; k < pattern.ptr[row + 1]; ++k) {
      const Row column = pattern.col[k];
      if (column < graph.rows && coloring.cluster[column] == coloring.cluster[row])
        last = std::max(last, stage[column]);
    }
    stage[row] = last + 1;
  }
  return stage;
}

// Sorts the rows of each part of a color by groups of clusters (Arrangement::rows_together), and in
// a group by stages.
class ClusterStages {
public:
  ClusterStages(const BlockGraph &graph, const Coloring &coloring, const std::vector<Row> &order,
                const Arrangement &arrangement)
      : graph_(graph), coloring_(coloring), arrangement_(arrangement),
        stage_(stages_in_clusters(graph, coloring, order)), numbers_(order.size())
  {
    for (const Row cluster : coloring.cluster) {
      if (cluster >= static_cast<Row>(rows_of_.size())) rows_of_.resize(cluster + 1, 0);
      ++rows_of_[cluster];
    }
  }

  // Sorts the plan rows [begin, end), and appends the stages to the plan.
  void take(Row begin, Row end, ColorPlan &plan)
  {
    places_.clear();
    clusters_ = group_ = rows_ = 0;
    for (Row p = begin; p < end; ++p) places_.push_back(place_of(plan.row_of[p]));
    const auto key = [](const Place &at) {
      return std::tie(at.group, at.stage, at.lengths, at.cluster);
    };
    std::stable_sort(places_.begin(), places_.end(),
                     [&](const Place &a, const Place &b) { return key(a) < key(b); });
    for (Row p = begin; p < end; ++p) {
      const Place &at = places_[static_cast<std::size_t>(p - begin)];
      if (p == begin || at.group != (&at)[-1].group || at.stage != (&at)[-1].stage)
        plan.stage_begin.push_back(p);
      plan.row_of[p] = at.row;
    }
  }

private:
  struct Place {
    Row group;
    int stage;
    std::pair<Offset, Offset> lengths;
    Row cluster, row;
  };

  Place place_of(Row row)
  {
    Numbers &numbers = numbers_[coloring_.cluster[row]];
    if (numbers.cluster < 0) numbers = {clusters_++, group_for(rows_of_[coloring_.cluster[row]])};
    return {numbers.group, stage_[row],
            arrangement_.equal_rows_together ? lengths(row) : std::pair<Offset, Offset>(),
            numbers.cluster, row};
  }
  // The group of the next cluster of the part, which has so many rows
  Row group_for(Row rows)
  {
    if (arrangement_.rows_together == 0) return 0;
    if (rows_ > 0 && rows_ + rows > arrangement_.rows_together) {
      ++group_;
      rows_ = 0;
    }
    rows_ += rows;
    return group_;
  }
  // How many blocks a row has in the earlier triangle, and in all. See group_equal_rows().
  std::pair<Offset, Offset> lengths(Row row) const
  {
    const auto earlier = [&](Row column) {
      if (column >= graph_.rows)
        return coloring_.ghost_color[column - graph_.rows] < coloring_.color[row];
      return std::pair(coloring_.color[column], stage_[column]) <
             std::pair(coloring_.color[row], stage_[row]);
    };
    const auto begin = graph_.col.begin() + graph_.ptr[row],
               end = graph_.col.begin() + graph_.ptr[row + 1];
    return {std::count_if(begin, end, earlier), end - begin};
  }

  const BlockGraph &graph_;
  const Coloring &coloring_;
  const Arrangement arrangement_;
  const std::vector<int> stage_;
  // Numbers of a cluster and of its group in their part; -1: none yet
  struct Numbers {
    Row cluster = -1, group = -1;
  };
  std::vector<Numbers> numbers_;            // by cluster
  std::vector<Row> rows_of_;                // number of rows, by cluster
  Row clusters_ = 0, group_ = 0, rows_ = 0; // clusters; last group of the part, and its rows
  std::vector<Place> places_;
};

// Whether each row is coupled to another rank. All rows of a cluster are, if one of them is.
std::vector<char> find_boundary(const BlockGraph &graph, const Coloring &coloring)
{
  std::vector<char> boundary(static_cast<std::size_t>(graph.rows), 0);
  for (Row i = 0; i < graph.rows; ++i) {
    // Ghosts come last in a row, so the last column tells whether the row reads a ghost.
    const bool reads =
        graph.ptr[i] < graph.ptr[i + 1] && graph.col[graph.ptr[i + 1] - 1] >= graph.rows;
    boundary[i] = reads || graph.in_ptr[i] < graph.in_ptr[i + 1];
  }
  if (!coloring.clustered) return boundary;
  std::vector<char> of_cluster(static_cast<std::size_t>(graph.rows), 0);
  for (Row i = 0; i < graph.rows; ++i) of_cluster[coloring.cluster[i]] |= boundary[i];
  for (Row i = 0; i < graph.rows; ++i) boundary[i] = of_cluster[coloring.cluster[i]];
  return boundary;
}

// Numbers the rows by color. In each color, boundary rows come first, then the interior rows chunk
// by chunk. Otherwise the rows stay as ordered, except that group_equal_rows() and ClusterStages
// may change their order.
void number_rows(const BlockGraph &graph, const Coloring &coloring, const std::vector<Row> &order,
                 const Arrangement &arrangement, ColorPlan &plan)
{
  const std::vector<char> boundary = find_boundary(graph, coloring);
  Chunks chunks;
  chunks.of_row.assign(boundary.size(), 0);
  if (arrangement.chunk_rows > 0)
    chunks = make_chunks(graph, coloring, boundary, order, arrangement.chunk_rows);
  plan.chunks = chunks.count;
  plan.near_begin = chunks.near_begin;
  const std::size_t parts = 1 + static_cast<std::size_t>(plan.chunks); // of a color
  const auto part_of = [&](Row row) {
    return parts * coloring.color[row] + (boundary[row] ? 0 : 1 + chunks.of_row[row]);
  };
  std::vector<Row> next(parts * plan.colors + 1, 0);
  for (Row i = 0; i < graph.rows; ++i) ++next[part_of(i) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (int c = 0; c < plan.colors; ++c) {
    const auto begin = next.begin() + static_cast<std::ptrdiff_t>(parts * c);
    plan.color_begin.push_back(*begin);
    plan.boundary_end.push_back(begin[1]);
    if (plan.chunks > 1)
      plan.chunk_begin.insert(plan.chunk_begin.end(), begin + 1, begin + 1 + plan.chunks);
  }
  plan.color_begin.push_back(graph.rows);
  const std::vector<Row> begins = next;
  plan.row_of.resize(static_cast<std::size_t>(graph.rows));
  for (const Row row : order) plan.row_of[next[part_of(row)]++] = row;
  if (coloring.clustered) {
    ClusterStages stages(graph, coloring, order, arrangement);
    for (std::size_t part = 0; part + 1 < begins.size(); ++part)
      stages.take(begins[part], begins[part + 1], plan);
  } else if (arrangement.equal_rows_together) {
    for (std::size_t part = 0; part + 1 < begins.size(); ++part)
      group_equal_rows(graph, coloring, begins[part], begins[part + 1], plan.row_of);
  }
}

// Numbers the ghosts by color, and by global row inside each color. Returns the map from ghosts of
// the graph to ghosts of the plan.
std::vector<Row> number_ghosts(const BlockGraph &graph, const Coloring &coloring, ColorPlan &plan)
{
  plan.ghosts = static_cast<Row>(graph.ghosts.size());
  plan.ghost_begin.assign(static_cast<std::size_t>(plan.colors) + 1, 0);
  for (const int color : coloring.ghost_color) ++plan.ghost_begin[color + 1];
  std::partial_sum(plan.ghost_begin.begin(), plan.ghost_begin.end(), plan.ghost_begin.begin());
  std::vector<Row> next(plan.ghost_begin.begin(), plan.ghost_begin.end() - 1),
      place(graph.ghosts.size());
  for (std::size_t g = 0; g < place.size(); ++g) place[g] = next[coloring.ghost_color[g]]++;
  return place;
}

} // namespace

PetscErrorCode PlanBuild(const BlockGraph &graph, const Coloring &coloring,
                         const std::vector<Row> &order, const Arrangement &arrangement,
                         BuiltPlan *built)
{
  ColorPlan &plan = built->plan;
  std::vector<PetscInt> plan_row(static_cast<std::size_t>(graph.rows)),
      ghost_plan_row(graph.ghosts.size());
  const PetscSFNode *remote;
  PetscInt leaves;

  PetscFunctionBegin;
  plan = ColorPlan();
  plan.bs = static_cast<int>(graph.bs);
  plan.rows = graph.rows;
  plan.colors = coloring.colors;
  plan.clustered = coloring.clustered;
  number_rows(graph, coloring, order, arrangement, plan);
  const std::vector<Row> place = inverse_order(plan.row_of);
  built->ghost_place = number_ghosts(graph, coloring, plan);
  const std::vector<Row> &ghost_place = built->ghost_place;

  std::copy(place.begin(), place.end(), plan_row.begin());
  PetscCall(PetscSFBcastBegin(graph.ghost_sf, MPIU_INT, plan_row.data(), ghost_plan_row.data(),
                              MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(graph.ghost_sf, MPIU_INT, plan_row.data(), ghost_plan_row.data(),
                            MPI_REPLACE));
  PetscCall(PetscSFGetGraph(graph.ghost_sf, nullptr, &leaves, nullptr, &remote));
  built->ghost_owner.resize(graph.ghosts.size());
  for (PetscInt g = 0; g < leaves; ++g) {
    built->ghost_owner[ghost_place[g]].rank = remote[g].rank;
    built->ghost_owner[ghost_place[g]].index = ghost_plan_row[g];
  }

  const std::vector<int> color = column_colors(plan);
  std::vector<Entry> row;
  start_triangles(graph.col.size(), plan);
  for (Row p = 0; p < plan.rows; ++p) {
    const Row i = plan.row_of[p];
    const Offset begin = graph.ptr[i];
    fetch_ahead(graph.ptr.data(), graph.col.data(), plan.row_of.data(), static_cast<std::size_t>(p),
                plan.row_of.size());
    row.clear();
    for (Offset k = begin; k < graph.ptr[i + 1]; ++k) {
      const Row column = graph.col[k] < graph.rows
                             ? place[graph.col[k]]
                             : plan.rows + ghost_place[graph.col[k] - graph.rows];
      row.push_back({graph.global_row(graph.col[k]), column, k - begin});
    }
    append_row(row, color, p, plan);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PlanBuildTransposed(const BlockGraph &graph, const BuiltPlan &built, ColorPlan *transposed,
                         std::vector<Offset> *outgoing)
{
  const ColorPlan &plan = built.plan;
  const std::vector<Row> place = inverse_order(plan.row_of);
  const std::vector<int> color = column_colors(plan);
  const Offset lowers = static_cast<Offset>(plan.lower.col.size());

  // block of the graph -> stored block: the lower triangle's blocks, then the upper triangle's
  std::vector<Offset> stored(graph.col.size());
  for (Row p = 0; p < plan.rows; ++p)
    for (const Triangle *triangle : {&plan.lower, &plan.upper})
      for (Offset k = triangle->ptr[p]; k < triangle->ptr[p + 1]; ++k)
        stored[graph.ptr[plan.row_of[p]] + triangle->source[k]] =
            k + (triangle == &plan.upper ? lowers : 0);

  std::vector<Offset> start(static_cast<std::size_t>(plan.rows) + 1, 0);
  for (const Row column : graph.col)
    if (column < graph.rows) ++start[column + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<Entry> local(static_cast<std::size_t>(start.back()));
  std::vector<Offset> next(start.begin(), start.end() - 1);
  outgoing->clear();
  for (Row i = 0; i < graph.rows; ++i)
    for (Offset k = graph.ptr[i]; k < graph.ptr[i + 1]; ++k)
      if (graph.col[k] < graph.rows)
        local[next[graph.col[k]]++] = {graph.row_start + i, place[i], stored[k]};
      else
        outgoing->push_back(stored[k]);

  *transposed = plan;
  start_triangles(graph.col.size(), *transposed);
  std::vector<Entry> row;
  for (Row p = 0; p < plan.rows; ++p) {
    const Row i = plan.row_of[p];
    row.assign(local.begin() + start[i], local.begin() + start[i + 1]);
    for (Offset k = graph.in_ptr[i]; k < graph.in_ptr[i + 1]; ++k)
      row.push_back({graph.global_row(graph.in_col[k]),
                     plan.rows + built.ghost_place[graph.in_col[k] - graph.rows],
                     plan.blocks() + graph.in_slot[k]});
    append_row(row, color, p, *transposed);
  }
}

} // namespace mcpi
