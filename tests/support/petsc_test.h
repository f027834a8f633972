// GoogleTest in programs that run on several ranks. petsc_main.cxx has their main().
#pragma once

#include <gtest/gtest.h>
#include <petscsys.h>

#include <functional>
#include <source_location>
#include <string>

#include "petsc/compat.h"

namespace mcpi::test {

// A test that all ranks run together. If it fails on one, it fails on all. An error that the body
// returns ends the program.
#define PETSC_TEST(suite, name)                                                                    \
  static PetscErrorCode suite##_##name();                                                          \
  TEST(suite, name)                                                                                \
  {                                                                                                \
    mcpi::test::run_on_all_ranks(suite##_##name);                                                  \
  }                                                                                                \
  static PetscErrorCode suite##_##name()

void run_on_all_ranks(PetscErrorCode (*body)());

// Sets a text that is printed with every failure, for example the present case of a loop.
void describe(const std::string &text,
              const std::source_location &place = std::source_location::current());

#define EXPECT_CONTAINS(text, part)                                                                \
  EXPECT_PRED_FORMAT2(testing::IsSubstring, std::string(part), std::string(text))

// The error of a PETSc call that must fail. The message is the first one of this rank.
struct Caught {
  PetscErrorCode code = PETSC_SUCCESS;
  std::string message;
};
Caught catch_error(const std::function<PetscErrorCode()> &call);
// Checks that the call fails on every rank with this code, and that the message names the remedy.
void expect_error(const char *file, int line, const Caught &caught, PetscErrorCode code,
                  const std::string &part);
#define EXPECT_PETSC_ERROR(code, part, ...)                                                        \
  mcpi::test::expect_error(                                                                        \
      __FILE__, __LINE__,                                                                          \
      mcpi::test::catch_error([&]() -> PetscErrorCode { return __VA_ARGS__; }), code, part)

int world_size();
int world_rank();

} // namespace mcpi::test
