// PETSc objects of tests: owners, and objects made from whole matrices and vectors
#pragma once

#include <petscksp.h>

#include <string>
#include <utility>
#include <vector>

#include "petsc/compat.h"
#include "petscmcpi.h"
#include "support/dense.h"
#include "support/petsc_test.h"

namespace mcpi::test {

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

// ---- PETSc objects made from whole matrices and vectors

enum class Layout { even, uneven, empty_ranks, all_on_last };
const char *name_of(Layout layout);
std::vector<PetscInt> block_rows_of_ranks(Layout layout, Row block_rows, int ranks);

PetscErrorCode create_mat(MPI_Comm comm, const BlockMatrix &matrix, Layout layout, MatType type,
                          OwnedMat *mat);
// Sets new values in a Mat that was made from a matrix with the same pattern.
PetscErrorCode set_values(const BlockMatrix &matrix, Mat mat);
PetscErrorCode create_vec(Mat mat, const Vector &whole, OwnedVec *vec);
PetscErrorCode gather(Vec vec, Vector *whole);
// Gathers the colors of all block rows.
PetscErrorCode gather_colors(PC pc, std::vector<int> *color);

// pinned: the options whose defaults depend on the system have fixed values, which reference and
// expected results know: schedule color, one sweep, blocks and gathers in fp32. chosen: they are
// left to the preconditioner.
enum class Defaults { pinned, chosen };
constexpr char kPinned[] = "-pc_mcpi_schedule color -pc_mcpi_its 1 -pc_mcpi_offdiag_precision fp32 "
                           "-pc_mcpi_gather_precision fp32";
// Inserts the backend that the program's option -test_backend names, fixed defaults if they are
// asked for, and then these options.
PetscErrorCode insert_options(PetscOptions all, const std::string &options,
                              Defaults defaults = Defaults::pinned);

// The backend that -test_backend names, or an empty string
std::string backend_under_test();
// Whether the backend under test takes this form with this storage
bool takes_form(const std::string &form, const std::string &precision);

// A PC of type mcpi, or of another type, with its own options database
struct Preconditioner {
  OwnedOptions options;
  OwnedPC pc;

  operator PC() const { return pc; }
};
PetscErrorCode create_pc(Mat mat, const std::string &options, Preconditioner *pc,
                         Defaults defaults = Defaults::pinned);
// Sets these options alone, as the options database would. Other settings stay.
PetscErrorCode set_options(PC pc, const std::string &options);
// The options that PCView() shows as chosen, empty if there are none
std::string chosen_options(const std::string &view);
// Returns the output of PCView() on all ranks.
PetscErrorCode view(PC pc, std::string *text);
PetscErrorCode apply(PC pc, const Vector &b, Vector *x);
PetscErrorCode apply_transpose(PC pc, const Vector &b, Vector *x);
// Makes max_it iterations from x, or from zero if guess_zero is set.
PetscErrorCode apply_richardson(PC pc, const Vector &b, bool guess_zero, PetscInt max_it,
                                Vector *x);

struct OwnedSolver {
  OwnedOptions options;
  OwnedKSP ksp;

  operator KSP() const { return ksp; }
};
PetscErrorCode create_ksp(Mat amat, Mat pmat, const std::string &options, OwnedSolver *solver,
                          Defaults defaults = Defaults::pinned);
// Solves for b from zero. x may be null.
PetscErrorCode solve(KSP ksp, const Vector &b, Vector *x, KSPConvergedReason *reason,
                     PetscInt *its);

// Creates an interpolation for PCMG that adds four neighboring block rows of a rank, component by
// component.
PetscErrorCode create_interpolation(Mat mat, PetscInt bs, OwnedMat *interpolation);

} // namespace mcpi::test
