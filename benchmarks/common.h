// What the benchmarks share.
#pragma once

#include <petscsys.h>

#include <string>
#include <vector>

namespace bench {

// -n, -mesh, -bs, -sweeps, -repeat, -json, -commit; what is not given stays
struct CommonOptions {
  PetscInt              n, sweeps, repeat;
  std::vector<PetscInt> bs;
  std::string           mesh, json, commit;
};
PetscErrorCode ReadCommonOptions(CommonOptions *options);
PetscErrorCode ReadText(const char *option, std::string *text);
PetscErrorCode ReadList(const char *option, std::vector<std::string> *list); // separated by commas

double      Median(std::vector<double> values);
std::string CommandLine(int argc, char **argv);

} // namespace bench
