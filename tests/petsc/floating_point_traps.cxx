// Tests that programs which trap floating-point exceptions run: OpenFOAM, deal.II in debug mode,
// and PETSc's -fp_trap stop at an invalid operation, a division by zero, or an overflow.
#include <unistd.h>

#include <cfenv>
#include <csignal>

#include "most_of_one_rank.h"
#include "support/petsc.h"

using namespace mcpi::test;

namespace {

constexpr int kTrapped = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;

std::string present_case;

void trying(const std::string &text)
{
  describe(text);
  present_case = "trapped: " + text + "\n";
}

extern "C" void on_exception(int)
{
  (void)!write(STDERR_FILENO, present_case.data(), present_case.size());
  _exit(8);
}

// Traps floating-point exceptions while it lives. Where the hardware has no traps, it finds the
// flags of the exceptions at its end.
class Traps {
public:
  Traps() : handler_(std::signal(SIGFPE, on_exception))
  {
    std::feclearexcept(FE_ALL_EXCEPT);
#if defined(__GLIBC__)
    (void)feenableexcept(kTrapped);
#endif
  }
  Traps(const Traps &) = delete;
  Traps &operator=(const Traps &) = delete;
  ~Traps()
  {
#if defined(__GLIBC__)
    (void)fedisableexcept(kTrapped);
#endif
    EXPECT_EQ(std::fetestexcept(kTrapped), 0);
    (void)std::signal(SIGFPE, handler_);
  }

private:
  void (*handler_)(int);
};

// A system with right-hand sides b of applications, and c of transposed ones, in its units
struct System {
  std::string name;
  BlockMatrix matrix;
  Vector b, c;
  bool narrow = true; // single precision holds its numbers, in the prescaled form at least
  bool weak = false;  // in the factored form single precision does not
};

Vector in_units(Vector v, const Vector &units)
{
  for (std::size_t i = 0; i < v.size(); ++i) v[i] *= units[i % units.size()];
  return v;
}

System system_of(const std::string &name, const BlockMatrix &matrix, double unit = 1.0)
{
  const Vector b = in_units(random_vector(matrix.size(), 1), {unit});
  return {.name = name, .matrix = matrix, .b = b, .c = b};
}

// Multiplies all blocks, and the right-hand sides, by a unit.
System in_one_unit(const std::string &name, const BlockMatrix &plain, double unit)
{
  System system = system_of(name, plain, unit);
  scale_components(system.matrix, Vector(static_cast<std::size_t>(plain.bs), unit),
                   Vector(static_cast<std::size_t>(plain.bs), 1.0));
  return system;
}

// Multiplies the components of equations and of unknowns by units, which repeat.
System in_mixed_units(const std::string &name, const BlockMatrix &plain, const Vector &equations,
                      const Vector &unknowns)
{
  System system = system_of(name, plain);
  const Vector ones(static_cast<std::size_t>(plain.bs), 1.0);
  const Vector equation = in_units(ones, equations), unknown = in_units(ones, unknowns);
  scale_components(system.matrix, equation, unknown);
  system.b = in_units(system.b, equation);
  system.c = in_units(system.c, unknown);
  system.narrow = false;
  return system;
}

// Multiplies all equations and all unknowns of a block row by its own units.
System in_units_units(const std::string &name, const BlockMatrix &plain, double of_equations,
                      double of_unknowns)
{
  System system = system_of(name, plain);
  const auto size = static_cast<std::size_t>(plain.bs);
  const auto unit = [](double of, Row row) {
    return row % 3 == 0 ? 1.0 : row % 3 == 1 ? of : 1.0 / of;
  };
  for (Row i = 0; i < plain.rows(); ++i) {
    for (Row k = plain.ptr[i]; k < plain.ptr[i + 1]; ++k)
      for (std::size_t n = 0; n < size * size; ++n)
        system.matrix.values[k * size * size + n] *=
            unit(of_equations, i) * unit(of_unknowns, plain.col[k]);
    for (std::size_t n = i * size; n < (i + 1) * size; ++n) {
      system.b[n] *= unit(of_equations, i);
      system.c[n] *= unit(of_unknowns, i);
    }
  }
  system.narrow = false;
  return system;
}

// Keeps the entries (i, j) of off-diagonal blocks for which keep(i, j) is true.
BlockMatrix sifted(BlockMatrix matrix, const std::function<bool(int, int)> &keep)
{
  for_offdiag(matrix, [&](std::span<double> block) {
    for (int n = 0; n < matrix.bs * matrix.bs; ++n)
      if (!keep(n % matrix.bs, n / matrix.bs)) block[n] = 0.0;
  });
  return matrix;
}

System with_couplings(const std::string &name, BlockMatrix matrix, double factor)
{
  scale_offdiag(matrix, factor);
  return system_of(name, matrix);
}

// Harmless systems of unusual shapes
std::vector<System> shapes(int bs)
{
  const Pattern ring = ring_pattern(7, 1, 1);
  const BlockMatrix plain = make_matrix(bs, ring, {.sparsity = 0.3});
  std::vector<System> systems{
      system_of("plain", plain),
      system_of("pivots", make_matrix(bs, ring, {.pivots = true})),
      system_of("one row", make_matrix(bs, diagonal_pattern(1))),
      system_of("diagonal", make_matrix(bs, diagonal_pattern(6))),
      system_of("one way", make_matrix(bs, one_way_pattern(8, 2))),
      system_of("arrow", make_matrix(bs, arrow_pattern(6))),
      system_of("triangular couplings", sifted(plain, [](int i, int j) { return i < j; })),
      system_of("an uncoupled unknown", sifted(plain, [](int i, int j) { return i > 0 && j > 0; })),
      system_of("an unknown that is only read", sifted(plain, [](int i, int) { return i > 0; })),
      with_couplings("zero blocks", plain, 0.0),
      with_couplings("couplings of 1e-19", plain, 1e-19),
      system_of("b = 0", plain, 0.0),
      system_of("b times 1e-40", plain, 1e-40),
  };
  return systems;
}

std::vector<System> extremes(int bs)
{
  const BlockMatrix plain = make_matrix(bs, ring_pattern(7, 1, 1), {.sparsity = 0.3});
  std::vector<System> systems{
      with_couplings("couplings of 1e-100", plain, 1e-100),
      with_couplings("couplings of 1e-300", plain, 1e-300),
      system_of("b times 1e-300", plain, 1e-300),
      system_of("b times 1e300", plain, 1e300),
      in_one_unit("unit 1e-300", plain, 1e-300),
      in_one_unit("unit 1e300", plain, 1e300),
      in_one_unit("solutions near 1e300", plain, 1e-300),
  };
  systems[0].weak = systems[1].weak = true;
  systems.back().b = systems.back().c = systems[0].b;
  for (const auto &[name, unit] : {std::pair("1e20", 1e20), {"1e60", 1e60}, {"1e100", 1e100}}) {
    const Vector one{1.0}, up{1.0, unit, 1.0 / unit}, down{1.0, 1.0 / unit, unit};
    const std::string of = std::string(" in units of ") + name;
    systems.push_back(in_mixed_units("equations" + of, plain, up, one));
    systems.push_back(in_mixed_units("unknowns" + of, plain, one, up));
    systems.push_back(in_mixed_units("both" + of, plain, up, up));
    systems.push_back(in_mixed_units("each" + of, plain, up, down));
    systems.push_back(in_units_units("equations of rows" + of, plain, unit, 1.0));
    systems.push_back(in_units_units("unknowns of rows" + of, plain, 1.0, unit));
    systems.push_back(in_units_units("rows" + of, plain, unit, unit));
    systems.push_back(in_units_units("rows each" + of, plain, unit, 1.0 / unit));
  }
  return systems;
}

// An application to three right-hand sides, of which the middle one is zero
PetscErrorCode apply_to_several(PC pc, const Vector &b)
{
  constexpr PetscInt columns = 3;
  Mat pmat;
  PetscInt local, all, begin;
  OwnedMat dense_b, dense_x;
  PetscScalar *array;

  PetscFunctionBeginUser;
  PetscCall(PCGetOperators(pc, nullptr, &pmat));
  PetscCall(MatGetLocalSize(pmat, &local, nullptr));
  PetscCall(MatGetSize(pmat, &all, nullptr));
  PetscCall(MatGetOwnershipRange(pmat, &begin, nullptr));
  for (OwnedMat *dense : {&dense_b, &dense_x})
    PetscCall(
        MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, all, columns, nullptr, dense->out()));
  PetscCall(MatDenseGetArrayWrite(dense_b, &array));
  for (PetscInt k = 0; k < columns; ++k)
    for (PetscInt i = 0; i < local; ++i)
      array[k * local + i] = k == 1 ? 0.0 : b[static_cast<std::size_t>(begin + i)];
  PetscCall(MatDenseRestoreArrayWrite(dense_b, &array));
  for (const Mat dense : {Mat(dense_b), Mat(dense_x)}) {
    PetscCall(MatAssemblyBegin(dense, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(dense, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(PCMatApply(pc, dense_b, dense_x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A set-up and one application of each kind. must_work: the set-up must not fail.
PetscErrorCode set_up_and_apply(PC pc, const System &system, bool must_work)
{
  PCFailedReason reason;
  std::string text;
  Vector x;

  PetscFunctionBeginUser;
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  EXPECT_TRUE(reason == PC_NOERROR || !must_work);
  PetscCall(apply(pc, system.b, &x));
  PetscCall(view(pc, &text));
  if (reason != PC_NOERROR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(apply_richardson(pc, system.b, false, 2, &x));
  PetscCall(apply_transpose(pc, system.c, &x));
  PetscCall(apply_to_several(pc, system.b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode check(Mat mat, const System &system, const std::string &options)
{
  Preconditioner pc;

  PetscFunctionBeginUser;
  trying(system.name + ", block size " + std::to_string(system.matrix.bs) + ", " + options);
  const Traps traps;
  PetscCall(create_pc(mat, options, &pc));
  PetscCall(set_up_and_apply(pc, system, system.narrow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct Precisions {
  std::string storage;
  bool wide; // vectors in double precision
  std::string options;
};

Precisions precisions(const std::string &storage, const std::string &vectors,
                      const std::string &gathers = "fp32")
{
  return {storage, vectors == "fp64",
          "-pc_mcpi_offdiag_precision " + storage + " -pc_mcpi_vector_precision " + vectors +
              " -pc_mcpi_gather_precision " + gathers};
}

// Kernels are the same on any number of ranks, and exchanges for all block sizes.
std::vector<int> chosen(std::vector<int> sizes, std::vector<int> on_several_ranks)
{
  return world_size() > 1 ? on_several_ranks : sizes;
}

// All that the backends have
std::vector<Precisions> all_precisions()
{
  std::vector<Precisions> all;
  for (const char *storage : {"fp64", "fp32", "fp16", "int8", "int4"}) {
    all.push_back(precisions(storage, "fp64"));
    if (std::string(storage) == "fp64") continue;
    all.push_back(precisions(storage, "fp32"));
    all.push_back(precisions(storage, "fp32", "bfp16"));
  }
  return all;
}

PetscErrorCode check_systems(const std::vector<System> &systems, const std::string &options)
{
  PetscFunctionBeginUser;
  for (const System &system : systems) {
    OwnedMat mat;
    PetscCall(create_mat(PETSC_COMM_WORLD, system.matrix, Layout::even, MATBAIJ, &mat));
    for (const Precisions &use :
         {precisions("fp64", "fp64"), precisions("fp32", "fp32"), precisions("fp16", "fp64"),
          precisions("int8", "fp32", "bfp16"), precisions("int4", "fp32")})
      for (const std::string form : {"prescaled", "factored", "entries"}) {
        if (!takes_form(form, use.storage)) continue;
        if (!use.wide && (!system.narrow || (system.weak && form == "factored"))) continue;
        PetscCall(check(mat, system, use.options + " -pc_mcpi_form " + form + options));
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(FloatingPointTraps, are_not_met_by_any_kernel)
{
  const std::vector<Precisions> all = all_precisions();

  PetscFunctionBeginUser;
  for (const int bs : chosen({1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33, 65}, {3})) {
    const System system = shapes(bs).front();
    OwnedMat mat;
    PetscCall(create_mat(PETSC_COMM_WORLD, system.matrix, bs % 2 ? Layout::even : Layout::uneven,
                         bs % 2 ? MATBAIJ : MATAIJ, &mat));
    for (const Precisions &use : all)
      for (const char *rest :
           {" -pc_mcpi_form prescaled", " -pc_mcpi_form factored -pc_mcpi_omega 0.9",
            " -pc_mcpi_form prescaled -pc_mcpi_sweep forward",
            " -pc_mcpi_form factored -pc_mcpi_sweep backward "
            "-pc_mcpi_halo_frequency sweep",
            " -pc_mcpi_method ilu0"})
        PetscCall(check(mat, system, use.options + rest));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FloatingPointTraps, are_not_met_by_systems_of_any_shape)
{
  PetscFunctionBeginUser;
  for (const int bs : chosen({1, 3, 5, 9, 33}, {3})) PetscCall(check_systems(shapes(bs), ""));
  if (world_size() == 1) PetscCall(check_systems(shapes(4), " -pc_mcpi_backend reference"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FloatingPointTraps, are_not_met_by_numbers_of_any_size)
{
  PetscFunctionBeginUser;
  for (const int bs : chosen({1, 4, 6, 9}, {4})) PetscCall(check_systems(extremes(bs), ""));
  if (world_size() == 1) PetscCall(check_systems(extremes(3), " -pc_mcpi_backend reference"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FloatingPointTraps, are_not_met_by_any_schedule_and_method)
{
  PetscFunctionBeginUser;
  for (const int bs : chosen({1, 5}, {2}))
    for (const System &system : shapes(bs))
      for (const Layout layout : {Layout::empty_ranks, Layout::uneven}) {
        OwnedMat mat;
        PetscCall(create_mat(PETSC_COMM_WORLD, system.matrix, layout, MATAIJ, &mat));
        for (const char *schedule :
             {"color -pc_mcpi_chunk_rows 2", "wave -pc_mcpi_setup_threads 2",
              "cluster -pc_mcpi_setup_threads 2", "level", "auto -pc_mcpi_ordering natural",
              "color -pc_mcpi_ordering rcm"})
          for (const char *method : {"point", "dilu", "ilu0"})
            PetscCall(check(mat, system,
                            std::string("-pc_mcpi_offdiag_precision int8 -pc_mcpi_schedule ") +
                                schedule + " -pc_mcpi_method " + method));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FloatingPointTraps, are_not_met_by_any_coloring)
{
  const System system{shapes(2).front()};
  OwnedMat mat;

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, system.matrix, Layout::even, MATBAIJ, &mat));
  for (const char *coloring : {"jplf", "wave", "greedy", "jp", "natural"})
    PetscCall(check(mat, system, std::string("-pc_mcpi_mat_coloring_type ") + coloring));
  const MostOfOneRank none(0);
  PetscCall(check(mat, system, "-pc_mcpi_mat_coloring_type jplf"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(FloatingPointTraps, are_not_met_by_coordinates)
{
  const System system{shapes(2).front()};

  PetscFunctionBeginUser;
  for (const double unit : {1.0, 0.0, 1e-300, 1e300}) { // 0: all points are one
    OwnedMat mat;
    Preconditioner pc;
    PetscInt local;
    PetscCall(create_mat(PETSC_COMM_WORLD, system.matrix, Layout::empty_ranks, MATAIJ, &mat));
    PetscCall(MatGetLocalSize(mat, &local, nullptr));
    Vector points = in_units(random_vector(static_cast<std::size_t>(local / 2 * 3), 3), {unit});
    trying("coordinates in units of " + std::to_string(unit));
    const Traps traps;
    PetscCall(create_pc(mat, "-pc_mcpi_ordering coordinates", &pc));
    PetscCall(PCSetCoordinates(pc, 3, local / 2, points.data()));
    PetscCall(set_up_and_apply(pc, system, true));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Solvers, with the precision that each makes the default
PETSC_TEST(FloatingPointTraps, are_not_met_by_solves)
{
  Recipe recipe;
  recipe.symmetric = true;

  PetscFunctionBeginUser;
  std::vector<System> systems = shapes(3);
  systems.push_back(
      system_of("symmetric", make_matrix(3, random_pattern(40, 2, true), recipe), 1e-40));
  for (const System &system : systems)
    for (const std::string options :
         {"-ksp_type gmres", "-ksp_type fgmres", "-ksp_type fgmres -pc_mcpi_method ilu0",
          "-ksp_type fgmres -pc_mcpi_form factored -pc_mcpi_schedule cluster", "-ksp_type bcgs",
          "-ksp_type richardson -ksp_max_it 20", "-ksp_type cg"}) {
      OwnedMat mat;
      OwnedSolver ksp;
      KSPConvergedReason reason;
      std::string text;
      PC pc;
      if (options == "-ksp_type cg" && system.name != "symmetric") continue;
      PetscCall(create_mat(PETSC_COMM_WORLD, system.matrix, Layout::even, MATAIJ, &mat));
      trying(system.name + ", " + options);
      const Traps traps;
      PetscCall(create_ksp(mat, mat, options, &ksp));
      for (int solves = 0; solves < 2; ++solves) {
        PetscCall(solve(ksp, system.b, nullptr, &reason, nullptr));
        EXPECT_LT(0, static_cast<int>(reason));
      }
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(view(pc, &text));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Scales that were made for the values before do not fit.
PETSC_TEST(FloatingPointTraps, are_not_met_by_new_values)
{
  PetscFunctionBeginUser;
  for (const int bs : chosen({1, 3, 9}, {3})) {
    System system = shapes(bs).front();
    const Vector plain = system.matrix.values;
    OwnedMat mat;
    PetscCall(create_mat(PETSC_COMM_WORLD, system.matrix, Layout::even, MATBAIJ, &mat));
    for (const Precisions &use : all_precisions())
      for (const std::string form : {"prescaled", "factored", "entries"}) {
        if (!takes_form(form, use.storage)) continue;
        Preconditioner pc;
        const std::string options = use.options + " -pc_mcpi_form " + form;
        PetscCall(create_pc(mat, options, &pc));
        for (const double unit : {1.0, 1e6, 1e60, 1e-60, 1.0, 1e300, 1.0, 1e-300}) {
          trying("values times " + std::to_string(unit) + ", " + options);
          system.matrix.values = in_units(plain, {unit});
          system.b = system.c = in_units(random_vector(system.b.size(), 1), {unit});
          PetscCall(set_values(system.matrix, mat));
          const Traps traps;
          PetscCall(set_up_and_apply(pc, system, true));
        }
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The failure is reported, and a program may go on.
PETSC_TEST(FloatingPointTraps, are_not_met_by_a_set_up_that_fails)
{
  PetscFunctionBeginUser;
  for (const int bs : {1, 3, 9, 40})
    for (const double value : {0.0, 1.0, 1e-310, 1e300}) {
      System system = shapes(bs).front();
      OwnedMat mat;
      for (double &number : system.matrix.diagonal(5))
        number = bs > 1 || value == 0.0 ? value : 1e-320;
      for (double &number : system.matrix.offdiag(5, 0)) number *= 1e300;
      PetscCall(create_mat(PETSC_COMM_WORLD, system.matrix, Layout::even, MATBAIJ, &mat));
      for (const char *options : {"", "-pc_mcpi_method ilu0", "-pc_mcpi_schedule cluster",
                                  "-pc_mcpi_backend reference", "-pc_mcpi_form factored"}) {
        Preconditioner pc;
        PCFailedReason reason;
        Vector x;
        trying(std::to_string(bs) + ", " + std::to_string(value) + ", " + options);
        const Traps traps;
        PetscCall(create_pc(mat, options, &pc));
        PetscCall(PCSetUp(pc));
        PetscCall(PCGetFailedReason(pc, &reason));
        EXPECT_NE(static_cast<int>(reason), static_cast<int>(PC_NOERROR));
        PetscCall(apply(pc, system.b, &x));
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}
