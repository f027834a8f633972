#include "support.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace test {
namespace {

#ifdef MCPI_SANITIZED
constexpr unsigned kWatchdogSeconds = 580;
#else
constexpr unsigned kWatchdogSeconds = 280; // for one TEST: a hang has a name
#endif
constexpr int kPrintedFailures = 6; // of one TEST on one rank

struct Case {
  const char *name;
  Body body;
};

std::vector<Case> &cases()
{
  static std::vector<Case> list;
  return list;
}

const char *current = "";
std::string description = "";
int failures = 0;

extern "C" void on_alarm(int)
{
  std::fprintf(stderr, "[%d] %s: hangs %s\n", world_rank(), current, description.c_str());
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

Registration::Registration(const char *name, Body body)
{
  cases().push_back({name, body});
}

void report_failure(const char *file, int line, const std::string &text)
{
  if (++failures > kPrintedFailures) return;
  std::fprintf(stderr, "[%d] %s:%d: %s%s%s: %s\n", world_rank(), file, line, current,
               description.empty() ? "" : ", ", description.c_str(), text.c_str());
}

void describe(const std::string &text)
{
  description = text;
}

Caught catch_error(const std::function<PetscErrorCode()> &call)
{
  Caught caught;
  (void)PetscPushErrorHandler(record_error, &caught);
  caught.code = call();
  (void)PetscPopErrorHandler();
  return caught;
}

void check_error(const char *file, int line, const Caught &caught, PetscErrorCode code,
                 const std::string &part)
{
  int code_range[2] = {static_cast<int>(caught.code), -static_cast<int>(caught.code)};
  (void)MPI_Allreduce(MPI_IN_PLACE, code_range, 2, MPI_INT, MPI_MAX, PETSC_COMM_WORLD);
  if (code_range[0] != code || -code_range[1] != code)
    report_failure(file, line,
                   "error code between " + std::to_string(-code_range[1]) + " and " +
                       std::to_string(code_range[0]) + " instead of " +
                       std::to_string(static_cast<int>(code)) +
                       " on every rank: " + caught.message);
  if (caught.message.find(part) == std::string::npos)
    report_failure(file, line, "the message does not contain '" + part + "': " + caught.message);
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

int failures_of_all_ranks()
{
  int failed = failures;
  (void)MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return failed;
}

int run_all()
{
  char only[256] = "";
  PetscBool listed = PETSC_FALSE;
  int total = 0;

  (void)PetscOptionsGetString(nullptr, nullptr, "-only", only, sizeof only, &listed);
  (void)std::signal(SIGALRM, on_alarm);
  for (const Case &c : cases()) {
    if (listed && std::string(c.name).find(only) == std::string::npos) continue;
    current = c.name;
    describe("");
    failures = 0;
    const double start = MPI_Wtime();
    alarm(kWatchdogSeconds);
    PetscCallAbort(PETSC_COMM_WORLD, c.body());
    alarm(0);
    const int failed = failures_of_all_ranks();
    if (world_rank() == 0)
      std::printf("%-7s %6.2f s  %s\n", failed ? "FAILED" : "ok", MPI_Wtime() - start, c.name);
    (void)std::fflush(stdout);
    total += failed;
  }
  return total;
}

} // namespace test
