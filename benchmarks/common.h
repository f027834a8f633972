// Common code of the benchmarks: options, solvers, and documents of results in JSON.
#pragma once

#include <petscksp.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "petscmcpi.h"

namespace bench {

// The options -n, -mesh, -bs, -sweeps, -repeat, -json and -commit. Members whose option is not
// given keep their values.
struct CommonOptions {
  PetscInt n, sweeps, repeat;
  std::vector<PetscInt> bs;
  std::string mesh, json, commit;
};
PetscErrorCode ReadCommonOptions(CommonOptions *options);
PetscErrorCode ReadText(const char *option, std::string *text);
PetscErrorCode ReadList(const char *option, std::vector<std::string> *list); // separated by commas
PetscErrorCode ReadNumbers(const char *option, std::vector<PetscReal> *list);

// Collective. Creates a solver that reads these options and no others. mine must outlive it.
PetscErrorCode CreateSolver(Mat mat, const std::string &chosen, PetscOptions *mine, KSP *ksp);

// Sets what the benchmarks measure by default: forward sweeps, and vectors in single precision
// unless the blocks are double. The option -vectors <fp32,fp64> selects the vector precision. Call
// it before PCSetFromOptions(), which may change both settings.
PetscErrorCode UseMeasuredSweeps(PC pc);
PetscErrorCode SetBlocks(PC pc, PCMCPIPrecision blocks);

// Adds to a row what the sweeps of a smoother are: the number of colors, and as set the schedule,
// the sweep, and the rows of clusters and of chunks (-1: the smoother decides).
PetscErrorCode DescribeSweeps(PC pc, nlohmann::json *row);

double Median(std::vector<double> values);

// Starts a document as results/README.md defines it, with one record that has no rows yet.
PetscErrorCode StartDocument(const char *benchmark, const CommonOptions &options, int argc,
                             char **argv, nlohmann::json *document);
// Names the last record. If it already has rows, a record of the same commit and command is added.
void StartRecord(const std::string &name, nlohmann::json *document);
// The rows of the last record
nlohmann::json *Rows(nlohmann::json *document);
// Adds these values to all rows of the last record.
void AddToRows(const nlohmann::json &values, nlohmann::json *document);
// Rank 0 writes the document to the file of -json, if that is given. With append, records in that
// file are kept.
PetscErrorCode WriteDocument(const CommonOptions &options, const nlohmann::json &document,
                             bool append = false);

std::string Processor(); // model of the CPU

// main() of every benchmark: initializes PETSc and mcpi, calls run, and finalizes PETSc.
int Main(int argc, char **argv, const char *help, PetscErrorCode (*run)(int argc, char **argv));

} // namespace bench
