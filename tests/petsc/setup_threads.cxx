// Tests that a set-up by several threads makes what one thread makes, and that the pattern of
// A + A^T is right however symmetric A is.
#include <set>

#include "graph_of.h"
#include "pc/mcpi.h"
#include "support/plans.h"

using namespace mcpi::test;
using mcpi::BlockGraph;
using mcpi::ColorPlan;
using mcpi::Data;
using mcpi::MatrixPortions;

namespace {

void expect_same(const ColorPlan &a, const ColorPlan &b)
{
  expect_same_structure(a, b);
  EXPECT_EQ(a.stage_begin, b.stage_begin);
  EXPECT_EQ(a.chunk_begin, b.chunk_begin);
  EXPECT_EQ(a.lower.source, b.lower.source);
  EXPECT_EQ(a.upper.source, b.upper.source);
}

PetscErrorCode set_up(Mat mat, const std::string &options, Preconditioner *pc)
{
  PetscFunctionBeginUser;
  PetscCall(create_pc(mat, options, pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Compares the pattern of A + A^T of the local rows with the pattern itself.
PetscErrorCode check_symmetrized(const BlockGraph &graph, const Pattern &pattern)
{
  const mcpi::SymmetrizedPattern found(graph);
  const Pattern expected = symmetrised(pattern);

  PetscFunctionBeginUser;
  for (Row row = 0; row < graph.rows; ++row) {
    std::vector<Row> columns;
    for (mcpi::Offset k = found.ptr[row]; k < found.ptr[row + 1]; ++k)
      columns.push_back(static_cast<Row>(graph.global_row(found.col[k])));
    EXPECT_EQ(columns, expected[static_cast<std::size_t>(graph.row_start + row)]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(SetUp, by_threads_makes_the_plan_of_one_thread)
{
  const BlockMatrix tets = make_matrix(1, tetrahedral_pattern(40, 31, 30)),
                    ring = make_matrix(1, ring_pattern(30000, 4, 1));

  PetscFunctionBeginUser;
  for (const char *type : {MATBAIJ, MATAIJ})
    for (const BlockMatrix *matrix : {&tets, &ring})
      for (const char *options :
           {"-pc_mcpi_schedule color", "-pc_mcpi_schedule color -pc_mcpi_ordering natural",
            "-pc_mcpi_schedule wave -pc_mcpi_ordering rcm", "-pc_mcpi_schedule cluster"}) {
        OwnedMat mat;
        Preconditioner one, three;
        describe(std::string(type) + " " + options + (matrix == &tets ? ", tets" : ", ring"));
        PetscCall(create_mat(PETSC_COMM_WORLD, *matrix, Layout::even, type, &mat));
        PetscCall(set_up(mat, std::string(options) + " -pc_mcpi_setup_threads 1", &one));
        PetscCall(set_up(mat, std::string(options) + " -pc_mcpi_setup_threads 3", &three));
        expect_same(Data(one).smoother.plan(), Data(three).smoother.plan());
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(SetUp, by_threads_finds_the_stiffest_point)
{
  constexpr double kDrag[] = {1e6, -1e6, -1e6, 1e6};

  PetscFunctionBeginUser;
  for (const Row stiff : {0, 9000, 29999})
    for (const char *type : {MATBAIJ, MATAIJ}) {
      BlockMatrix matrix = make_matrix(2, ring_pattern(30000, 1, 1));
      OwnedMat mat;
      int found[2];
      for (std::size_t n = 0; n < 4; ++n) matrix.diagonal(stiff)[n] += kDrag[n];
      PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, type, &mat));
      for (const bool several : {false, true}) {
        Preconditioner pc;
        PetscCall(set_up(mat, std::string("-pc_mcpi_setup_threads ") + (several ? "4" : "1"), &pc));
        found[several] = Data(pc).smoother.stiffness().prescaled;
      }
      EXPECT_GT(found[0], 10);
      EXPECT_EQ(found[0], found[1]);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(SetUp, sees_whether_the_local_pattern_is_symmetric)
{
  const Pattern whole = random_pattern(40, 3, true);
  Pattern first = whole, last = whole;
  const Pattern circle = {{1}, {2}, {0}, {1}}; // as many couplings to earlier rows as to later ones

  PetscFunctionBeginUser;
  first[0].erase(first[0].begin());
  last.back().erase(last.back().begin());
  for (const Pattern &pattern : {whole, first, last, circle})
    for (const char *type : {MATBAIJ, MATAIJ})
      for (const Layout layout : {Layout::even, Layout::empty_ranks, Layout::all_on_last}) {
        OwnedMat mat;
        describe(std::string(type) + " " + name_of(layout));
        PetscCall(create_mat(PETSC_COMM_WORLD, make_matrix(2, pattern), layout, type, &mat));
        PetscCall(with_graph(mat, [&](const MatrixPortions &, const BlockGraph &graph) {
          if (pattern == whole || world_size() == 1) {
            EXPECT_EQ(graph.locally_symmetric, pattern == symmetrised(pattern));
          }
          return check_symmetrized(graph, pattern);
        }));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}
