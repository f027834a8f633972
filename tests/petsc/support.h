// Common code of the MPI tests: checks, block matrices that every rank knows as a whole, and the
// sweeps by their formula.
#pragma once

#include <petscksp.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "petsc/compat.h"
#include "petscmcpi.h"

namespace test {

// ---- tests and checks. main() of support_main.cxx runs every TEST of the program, in the order of
// the file.

using Body = PetscErrorCode (*)();

struct Registration {
  Registration(const char *name, Body body);
};

#define TEST(name)                                                                                 \
  static PetscErrorCode name();                                                                    \
  static const test::Registration register_##name(#name, name);                                    \
  static PetscErrorCode name()

// Prints on this rank what failed, and where. The program's exit status counts the failures of all
// ranks.
void report_failure(const char *file, int line, const std::string &text);
// Sets a text that is printed before every failure, for example the present case of a loop.
void describe(const std::string &text);

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) test::report_failure(__FILE__, __LINE__, #condition);                        \
  } while (0)

#define CHECK_COMPARE(a, relation, b)                                                              \
  do {                                                                                             \
    const auto &left_of_check = (a);                                                               \
    const auto &right_of_check = (b);                                                              \
    if (!(left_of_check relation right_of_check)) {                                                \
      std::ostringstream text_of_check;                                                            \
      text_of_check << #a " " #relation " " #b ": " << left_of_check << " and " << right_of_check; \
      test::report_failure(__FILE__, __LINE__, text_of_check.str());                               \
    }                                                                                              \
  } while (0)

#define CHECK_EQ(a, b) CHECK_COMPARE(a, ==, b)
#define CHECK_LE(a, b) CHECK_COMPARE(a, <=, b)
#define CHECK_LT(a, b) CHECK_COMPARE(a, <, b)

#define CHECK_CONTAINS(text, part)                                                                 \
  do {                                                                                             \
    if (std::string(text).find(part) == std::string::npos)                                         \
      test::report_failure(__FILE__, __LINE__,                                                     \
                           std::string(#text " does not contain ") + (part) + ": " +               \
                               std::string(text).substr(0, 400));                                  \
  } while (0)

// The error of a PETSc call that must fail. The message is the first one of this rank.
struct Caught {
  PetscErrorCode code = PETSC_SUCCESS;
  std::string message;
};
Caught catch_error(const std::function<PetscErrorCode()> &call);
// Checks that the call fails on every rank with this code, and that the message names the remedy.
void check_error(const char *file, int line, const Caught &caught, PetscErrorCode code,
                 const std::string &part);
#define CHECK_ERROR(code, part, ...)                                                               \
  test::check_error(__FILE__, __LINE__,                                                            \
                    test::catch_error([&]() -> PetscErrorCode { return __VA_ARGS__; }), code,      \
                    part)

// The bytes that operator new has allocated since the program's start
std::size_t allocated_bytes();

// Runs every TEST, one after the other. Returns the number of failures on all ranks.
int run_all();
int failures_of_all_ranks();

int world_size();
int world_rank();

// ---- owners of PETSc objects

template <class T, PetscErrorCode (*Destroy)(T *)> class Owner {
public:
  Owner() = default;
  Owner(Owner &&other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  Owner &operator=(Owner &&other) noexcept
  {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owner() { reset(); }

  void reset()
  {
    if (object_) (void)Destroy(&object_);
    object_ = nullptr;
  }
  T *out()
  {
    reset();
    return &object_;
  }
  T *address() { return &object_; }
  operator T() const { return object_; }

private:
  T object_ = nullptr;
};

using OwnedMat = Owner<Mat, MatDestroy>;
using OwnedVec = Owner<Vec, VecDestroy>;
using OwnedPC = Owner<PC, PCDestroy>;
using OwnedKSP = Owner<KSP, KSPDestroy>;
using OwnedOptions = Owner<PetscOptions, PetscOptionsDestroy>;

// ---- matrices that every rank knows as a whole

using Values = std::vector<double>;
// off-diagonal block columns of each block row, ascending
using Pattern = std::vector<std::vector<PetscInt>>;

Pattern diagonal_pattern(PetscInt n);
Pattern random_pattern(PetscInt n, int degree, bool symmetric, std::uint64_t seed = 1);
Pattern one_way_pattern(PetscInt n, int degree); // rows read earlier rows only
Pattern arrow_pattern(PetscInt n);               // the first row reads and is read by all
Pattern tetrahedral_pattern(PetscInt nx, PetscInt ny,
                            PetscInt nz); // vertices of a grid of cubes cut into six

struct BlockMatrix {
  PetscInt bs = 1, n = 0;
  std::vector<PetscInt> ptr, col; // ascending, the diagonal included
  Values values;                  // column-major blocks

  PetscInt rows() const { return n * bs; }
  double *block(PetscInt row, PetscInt column); // null outside the pattern
  Values multiply(const Values &x) const;
};

struct Recipe {
  bool symmetric = false; // values; needs a symmetric pattern
  double dominance = 1.3; // diagonal over the sum of the off-diagonals' magnitudes
  double sparsity = 0.0;  // fraction of exact zeros inside off-diagonal blocks
  std::uint64_t seed = 1;
  std::vector<double> row_units, column_units; // factors of the components, for systems in SI units
};
BlockMatrix make_matrix(PetscInt bs, const Pattern &pattern, const Recipe &recipe = Recipe());

Values noise(PetscInt count, std::uint64_t seed);
double norm(const Values &v);
double difference(const Values &a, const Values &b); // |a - b| / |b|, Inf if anything is not finite

// ---- PETSc objects made from whole matrices and vectors

enum class Layout { even, uneven, empty_ranks, all_on_last };
const char *name_of(Layout layout);
std::vector<PetscInt> block_rows_of_ranks(Layout layout, PetscInt n, int ranks);

PetscErrorCode create_mat(MPI_Comm comm, const BlockMatrix &matrix, Layout layout, MatType type,
                          OwnedMat *mat);
// Sets new values in a Mat that was made from a matrix with the same pattern.
PetscErrorCode set_values(const BlockMatrix &matrix, Mat mat);
PetscErrorCode create_vec(Mat mat, const Values &whole, OwnedVec *vec);
PetscErrorCode gather(Vec vec, Values *whole);
// Gathers the colors of all block rows.
PetscErrorCode gather_colors(PC pc, std::vector<int> *color);

// Inserts the backend that the program's option -test_backend names, and then these options.
PetscErrorCode insert_options(PetscOptions all, const std::string &options);

// A PC of type mcpi, or of another type, with its own options database
struct Preconditioner {
  OwnedOptions options;
  OwnedPC pc;

  operator PC() const { return pc; }
};
PetscErrorCode create_pc(Mat mat, const std::string &options, Preconditioner *pc);
// Returns the output of PCView() on all ranks.
PetscErrorCode view(PC pc, std::string *text);
PetscErrorCode apply(PC pc, const Values &b, Values *x);
PetscErrorCode apply_transpose(PC pc, const Values &b, Values *x);
// Makes max_it iterations from x, or from zero if guess_zero is set.
PetscErrorCode apply_richardson(PC pc, const Values &b, bool guess_zero, PetscInt max_it,
                                Values *x);

struct OwnedSolver {
  OwnedOptions options;
  OwnedKSP ksp;

  operator KSP() const { return ksp; }
};
PetscErrorCode create_ksp(Mat amat, Mat pmat, const std::string &options, OwnedSolver *solver);
// Solves for b from zero. x may be null.
PetscErrorCode solve(KSP ksp, const Values &b, Values *x, KSPConvergedReason *reason,
                     PetscInt *its);

// Creates an interpolation for PCMG that adds four neighboring block rows of a rank, component by
// component.
PetscErrorCode create_interpolation(Mat mat, PetscInt bs, OwnedMat *interpolation);

// ---- the sweeps by their formula, in double precision

struct Sweeps {
  PCMCPISweepType type = PC_MCPI_SWEEP_FORWARD;
  double omega = 1.0;
  int its = 1;
  int restart = 0;
  // The rank of each block row. Values of other ranks are those from before the pass.
  const std::vector<int> *owner_of = nullptr;
};
Values sweep_by_formula(const BlockMatrix &matrix, const std::vector<int> &color,
                        const Sweeps &sweeps, const Values &b, const Values &x);
Values transposed_sweep_by_formula(const BlockMatrix &matrix, const std::vector<int> &color,
                                   const Sweeps &sweeps, const Values &b);

} // namespace test
