#include "support/petsc_test.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>

namespace mcpi::test {
namespace {

#ifdef MCPI_SANITIZED
constexpr unsigned kWatchdogSeconds = 580;
#else
constexpr unsigned kWatchdogSeconds = 280; // for one test: a hang has a name
#endif

std::string description;
std::optional<testing::ScopedTrace> trace;

extern "C" void on_alarm(int)
{
  const testing::TestInfo &test = *testing::UnitTest::GetInstance()->current_test_info();
  std::fprintf(stderr, "[%d] %s.%s: hangs %s\n", world_rank(), test.test_suite_name(), test.name(),
               description.c_str());
  _exit(9);
}

extern "C" PetscErrorCode record_error(MPI_Comm, int, const char *, const char *,
                                       PetscErrorCode code, PetscErrorType type,
                                       const char *message, void *context)
{
  auto *caught = static_cast<Caught *>(context);
  if (type == PETSC_ERROR_INITIAL) caught->message = message;
  return code;
}

} // namespace

void run_on_all_ranks(PetscErrorCode (*body)())
{
  (void)std::signal(SIGALRM, on_alarm);
  alarm(kWatchdogSeconds);
  PetscCallAbort(PETSC_COMM_WORLD, body());
  alarm(0);
  trace.reset();
  description.clear();
  int failed = testing::Test::HasFailure(), ranks;
  (void)MPI_Allreduce(&failed, &ranks, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD);
  if (ranks > 0 && !failed) ADD_FAILURE() << "failed on " << ranks << " other ranks";
}

void describe(const std::string &text, const std::source_location &place)
{
  description = text;
  trace.emplace(place.file_name(), static_cast<int>(place.line()), text);
}

Caught catch_error(const std::function<PetscErrorCode()> &call)
{
  Caught caught;
  (void)PetscPushErrorHandler(record_error, &caught);
  caught.code = call();
  (void)PetscPopErrorHandler();
  return caught;
}

void expect_error(const char *file, int line, const Caught &caught, PetscErrorCode code,
                  const std::string &part)
{
  int code_range[2] = {static_cast<int>(caught.code), -static_cast<int>(caught.code)};
  (void)MPI_Allreduce(MPI_IN_PLACE, code_range, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD);
  if (code_range[0] != code || -code_range[1] != code)
    ADD_FAILURE_AT(file, line) << "error code between " << -code_range[1] << " and "
                               << code_range[0] << " instead of " << static_cast<int>(code)
                               << " on every rank: " << caught.message;
  if (caught.message.find(part) == std::string::npos)
    ADD_FAILURE_AT(file, line) << "the message does not contain '" << part
                               << "': " << caught.message;
}

int world_size()
{
  int size;
  (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

int world_rank()
{
  int rank;
  (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

} // namespace mcpi::test
