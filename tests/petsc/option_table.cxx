// Tests every row of the table of options: help, option, setter, getter, refusals, and agreement
// between ranks. The test does not look for leaks, because PETSc does not free its memory after
// errors.
#include "pc/option_table.h"

#include <cstdarg>
#include <cstdio>
#include <map>

#include "pc/mcpi.h"
#include "support/petsc.h"

using namespace mcpi::test;
using mcpi::Option;

namespace {

// How a program sets an option and reads it. Numbers represent values of all types but strings.
struct Functions {
  std::function<PetscErrorCode(PC, double)> set;
  std::function<PetscErrorCode(PC, double *)> get;
};

template <class Value>
Functions functions(PetscErrorCode (*set)(PC, Value), PetscErrorCode (*get)(PC, Value *))
{
  return {[set](PC pc, double value) { return set(pc, static_cast<Value>(value)); },
          [get](PC pc, double *value) {
            Value got;
            PetscFunctionBeginUser;
            PetscCall(get(pc, &got));
            *value = static_cast<double>(got);
            PetscFunctionReturn(PETSC_SUCCESS);
          }};
}

// A coloring type is represented by its place in the list.
const char *const colorings[] = {"", MATCOLORINGGREEDY};

#define PAIR(Name)                                                                                 \
  {                                                                                                \
    "PCMCPISet" #Name, functions(PCMCPISet##Name, PCMCPIGet##Name)                                 \
  }

const std::map<std::string, Functions> public_functions = {
    PAIR(Its),
    PAIR(Sweep),
    PAIR(Omega),
    PAIR(Restart),
    PAIR(OffdiagPrecision),
    PAIR(VectorPrecision),
    PAIR(GatherPrecision),
    PAIR(Form),
    PAIR(Method),
    PAIR(Schedule),
    PAIR(Backend),
    PAIR(Halo),
    PAIR(HaloFrequency),
    PAIR(Ordering),
};

bool is_coloring(const Option &option)
{
  return option.name == std::string("mat_coloring_type");
}

double default_of(const Option &option)
{
  return is_coloring(option) ? 0 : option.number(mcpi::Settings());
}

// An allowed value other than the default
double other_value(const Option &option)
{
  const double standard = default_of(option);

  if (option.allowed.names) return standard == 0 ? 1 : standard - 1;
  if (!option.allowed.test) return 1 - standard; // of two
  for (const double value : {2.0, 0.5})
    if (option.allowed.test(value) && value != standard) return value;
  return standard;
}

// The value as text behind the option
std::string text_of(const Option &option, double value)
{
  if (is_coloring(option)) return colorings[static_cast<int>(value)];
  if (option.allowed.names) return option.allowed.names[static_cast<int>(value)];
  std::ostringstream text;
  text << value;
  return text.str();
}

// By the public functions, or by the database where there are none
Functions functions_of(const Option &option)
{
  if (option.setter) return public_functions.at(option.setter);
  return {[&option](PC pc, double value) {
            return set_options(pc, "-pc_mcpi_" + std::string(option.name) + " " +
                                       text_of(option, value));
          },
          [&option](PC pc, double *value) {
            const mcpi::Settings &settings = mcpi::Data(pc).settings;
            *value =
                is_coloring(option) ? settings.coloring == colorings[1] : option.number(settings);
            return PETSC_SUCCESS;
          }};
}

// The number of values of an enumeration. Behind their names stand those of its type and prefix.
int count_names(const Option &option)
{
  int count = 0;

  while (option.allowed.names[count]) ++count;
  return count - 2;
}

// The values of an enumeration, as -help lists them
std::string names_of(const Option &option)
{
  std::string all;

  for (int k = 0; k < count_names(option); ++k)
    all += (k > 0 ? " " : "") + std::string(option.allowed.names[k]);
  return all;
}

PetscErrorCode create_sample(const std::string &options, OwnedMat *mat, Preconditioner *pc)
{
  static const BlockMatrix matrix = make_matrix(3, random_pattern(40, 3, false));

  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, Layout::even, MATBAIJ, mat));
  PetscCall(create_pc(*mat, options, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::string help;

PetscErrorCode collect_help(FILE *, const char format[], va_list arguments)
{
  std::vector<char> text(16384);
  size_t full;

  PetscFunctionBeginUser;
  PetscCall(PetscVSNPrintf(text.data(), text.size(), format, &full, arguments));
  help += text.data();
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PETSC_TEST(OptionTable, every_option_has_its_public_functions_unless_it_is_for_the_database)
{
  std::size_t count = 0;

  PetscFunctionBeginUser;
  for (const Option &option : mcpi::Options()) {
    describe(option.name);
    if (!option.setter) {
      EXPECT_EQ(option.getter, nullptr);
      continue;
    }
    ++count;
    EXPECT_EQ(public_functions.count(option.setter), 1u);
    EXPECT_EQ(std::string(option.setter) + "_C", option.set_composed);
    EXPECT_EQ(std::string(option.getter) + "_C", option.get_composed);
  }
  EXPECT_EQ(count, public_functions.size());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(OptionTable, names_of_the_values_are_those_of_the_interface)
{
  static const std::map<std::string, const char *const *> arrays = {
      {"PCMCPISweepType", PCMCPISweepTypes},
      {"PCMCPISchedule", PCMCPISchedules},
      {"PCMCPIMethod", PCMCPIMethods},
      {"PCMCPIPrecision", PCMCPIPrecisions},
      {"PCMCPIVectorPrecision", PCMCPIVectorPrecisions},
      {"PCMCPIGatherPrecision", PCMCPIGatherPrecisions},
      {"PCMCPIForm", PCMCPIForms},
      {"PCMCPIBackendType", PCMCPIBackendTypes},
      {"PCMCPIHaloType", PCMCPIHaloTypes},
      {"PCMCPIHaloFrequency", PCMCPIHaloFrequencies},
      {"PCMCPIOrderingType", PCMCPIOrderingTypes},
  };

  PetscFunctionBeginUser;
  for (const Option &option : mcpi::Options()) {
    if (!option.allowed.names) continue;
    describe(option.name);
    const std::string type = option.allowed.names[count_names(option)];
    const auto found = arrays.find(type);
    EXPECT_EQ(found == arrays.end() ? nullptr : found->second, option.allowed.names);
  }
  EXPECT_STREQ(PCMCPISweepTypes[PC_MCPI_SWEEP_SYMMETRIC], "symmetric");
  EXPECT_STREQ(PCMCPISchedules[PC_MCPI_SCHEDULE_AUTO], "auto");
  EXPECT_STREQ(PCMCPIPrecisions[PC_MCPI_PRECISION_INT4], "int4");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(OptionTable, help_lists_every_option_with_its_text_and_values)
{
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  const auto before = PetscVFPrintf;
  PetscVFPrintf = collect_help;
  PetscCall(create_sample("-help", &mat, &pc));
  PetscVFPrintf = before;
  if (world_rank() != 0) PetscFunctionReturn(PETSC_SUCCESS); // PETSc prints on the first rank
  for (const Option &option : mcpi::Options()) {
    const std::size_t begin = help.find("  -pc_mcpi_" + std::string(option.name));
    describe(option.name);
    EXPECT_TRUE(begin != std::string::npos);
    if (begin == std::string::npos) continue;
    const std::string line = help.substr(begin, help.find("\n", begin) - begin);
    EXPECT_TRUE(option.help[0] != '\0');
    EXPECT_CONTAINS(line, option.help);
    EXPECT_CONTAINS(line, option.setter ? option.setter : "PCMCPI");
    if (option.allowed.text) {
      EXPECT_CONTAINS(line, option.allowed.text);
    }
    if (option.allowed.names) {
      EXPECT_CONTAINS(line, names_of(option));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(OptionTable, every_option_is_changed_by_its_name_and_read_by_its_getter)
{
  PetscFunctionBeginUser;
  for (const Option &option : mcpi::Options()) {
    const double value = other_value(option);
    const Functions call = functions_of(option);
    OwnedMat mat;
    Preconditioner plain, changed;
    double got;

    describe(option.name);
    EXPECT_TRUE(value != default_of(option));
    PetscCall(create_sample("", &mat, &changed));
    PetscCall(create_pc(mat, "", &plain, Defaults::chosen));
    PetscCall(call.get(plain, &got));
    if (option.name != std::string("backend")) {
      EXPECT_EQ(got, default_of(option)); // -test_backend
    }
    PetscCall(create_pc(mat, "-pc_mcpi_" + std::string(option.name) + " " + text_of(option, value),
                        &changed));
    PetscCall(call.get(changed, &got));
    EXPECT_EQ(got, value);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(OptionTable, every_option_that_is_changed_acts_when_it_says)
{
  PetscFunctionBeginUser;
  for (const Option &option : mcpi::Options()) {
    const Functions call = functions_of(option);
    const bool needs_setup =
        option.effect == mcpi::Effect::values || option.effect == mcpi::Effect::plan;
    OwnedMat mat;
    Preconditioner pc;
    double got;

    describe(option.name);
    PetscCall(create_sample("", &mat, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(call.get(pc, &got));
    PetscCall(call.set(pc, got)); // the value in force
    EXPECT_TRUE(mcpi::Data(pc).smoother.usable());
    PetscCall(call.set(pc, other_value(option)));
    EXPECT_EQ(mcpi::Data(pc).smoother.usable(), !needs_setup);
    PetscCall(call.get(pc, &got));
    EXPECT_EQ(got, other_value(option));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_TEST(OptionTable, every_option_refuses_what_its_row_does_not_allow)
{
  OwnedMat mat;
  Preconditioner pc;

  PetscFunctionBeginUser;
  PetscCall(create_sample("", &mat, &pc));
  for (const Option &option : mcpi::Options()) {
    const Functions call = functions_of(option);
    const std::string name = "-pc_mcpi_" + std::string(option.name);

    describe(option.name);
    if (option.allowed.test) EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, name, call.set(pc, -7));
    if (!option.allowed.names) continue;
    for (const int value : {-1, count_names(option)})
      EXPECT_PETSC_ERROR(PETSC_ERR_ARG_OUTOFRANGE, name, call.set(pc, value));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(PETSC_USE_DEBUG) // which looks in the setters
PETSC_TEST(OptionTable, every_option_that_differs_from_rank_to_rank_is_refused)
{
  PetscFunctionBeginUser;
  if (world_size() == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (const Option &option : mcpi::Options()) {
    const Functions call = functions_of(option);
    OwnedMat mat;
    Preconditioner pc;
    double standard;

    describe(option.name);
    PetscCall(create_sample("", &mat, &pc));
    PetscCall(call.get(pc, &standard));
    PetscCall(call.set(pc, world_rank() == 0 ? other_value(option) : standard));
    EXPECT_PETSC_ERROR(PETSC_ERR_ARG_INCOMP, "-pc_mcpi_" + std::string(option.name) + " differs",
                       PCSetUp(pc));
    PetscCall(call.set(pc, standard));
    PetscCall(PCSetUp(pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
