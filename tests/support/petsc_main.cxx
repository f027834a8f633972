// main() of the test programs that use PETSc, on any number of ranks. MPI outlives PETSc, so that a
// test may finalize PETSc and initialize it again.
#include <cstdio>
#include <ctime>

#include "petscmcpi.h"
#include "support/petsc_test.h"

namespace {

constexpr int kPrintedFailures = 6; // of one test on one rank

// Every rank prints its failures, the first rank the results.
class Printer final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo &) override { failures_ = 0; }
  void OnTestPartResult(const testing::TestPartResult &result) override
  {
    if (result.passed() || (result.failed() && ++failures_ > kPrintedFailures)) return;
    std::fprintf(stderr, "[%d] %s:%d: %s\n", mcpi::test::world_rank(),
                 result.file_name() ? result.file_name() : "", result.line_number(),
                 result.message());
  }
  void OnTestEnd(const testing::TestInfo &test) override
  {
    const testing::TestResult &result = *test.result();
    if (mcpi::test::world_rank() > 0) return;
    std::printf("%-7s %6.2f s  %s.%s\n",
                result.Failed()    ? "FAILED"
                : result.Skipped() ? "skipped"
                                   : "ok",
                static_cast<double>(result.elapsed_time()) * 1e-3, test.test_suite_name(),
                test.name());
    (void)std::fflush(stdout);
  }

  int failures_ = 0;
};

// Gives all ranks the same order of tests. Only the first rank lists tests or writes reports.
void agree_on_flags()
{
  testing::TestEventListeners &listeners = testing::UnitTest::GetInstance()->listeners();
  int seed = GTEST_FLAG_GET(random_seed);
  if (seed == 0) seed = static_cast<int>(std::time(nullptr) % 99999) + 1;
  (void)MPI_Bcast(&seed, 1, MPI_INT, 0, MPI_COMM_WORLD);
  GTEST_FLAG_SET(random_seed, seed);
  GTEST_FLAG_SET(catch_exceptions, false); // The other ranks would wait for this one.
  delete listeners.Release(listeners.default_result_printer());
  if (mcpi::test::world_rank() > 0) delete listeners.Release(listeners.default_xml_generator());
  listeners.Append(new Printer);
}

} // namespace

int main(int argc, char **argv)
{
  int provided;
  testing::InitGoogleTest(&argc, argv);
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 2;
  if (PetscInitialize(&argc, &argv, nullptr, nullptr) != PETSC_SUCCESS) return 2;
  PetscCallAbort(PETSC_COMM_WORLD, PCMCPIRegister());
  agree_on_flags();
  const bool listed = GTEST_FLAG_GET(list_tests) && mcpi::test::world_rank() > 0;
  const int failed = listed ? 0 : RUN_ALL_TESTS();
  PetscCallAbort(PETSC_COMM_WORLD, PetscFinalize());
  MPI_Finalize();
  return failed;
}
