// Initializes PETSc before the tests of a program that links gtest_main, and finalizes it after
// them. One file of the program includes this header.
#pragma once

#include <gtest/gtest.h>
#include <petscsys.h>

namespace mcpi::test {

class PetscEnvironment final : public testing::Environment {
public:
  void SetUp() override { ASSERT_EQ(PetscInitializeNoArguments(), 0); }
  void TearDown() override { ASSERT_EQ(PetscFinalize(), 0); }
};

inline testing::Environment *const petsc_environment =
    testing::AddGlobalTestEnvironment(new PetscEnvironment);

} // namespace mcpi::test
