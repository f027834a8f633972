// What the benchmarks share.
#pragma once

#include <petscksp.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "petscmcpi.h"

namespace bench {

// -n, -mesh, -bs, -sweeps, -repeat, -json, -commit; what is not given stays
struct CommonOptions {
  PetscInt n, sweeps, repeat;
  std::vector<PetscInt> bs;
  std::string mesh, json, commit;
};
PetscErrorCode ReadCommonOptions(CommonOptions *options);
PetscErrorCode ReadText(const char *option, std::string *text);
PetscErrorCode ReadList(const char *option, std::vector<std::string> *list); // separated by commas

// A solver that takes these options and no others; mine must outlive it. Collective
PetscErrorCode CreateSolver(Mat mat, const std::string &chosen, PetscOptions *mine, KSP *ksp);

// What the records measure, where options do not say otherwise: forward sweeps, and vectors in
// single precision unless the blocks are double. -vectors <fp32,fp64>. Before PCSetFromOptions(),
// which may change either
PetscErrorCode UseMeasuredSweeps(PC pc);
PetscErrorCode SetBlocks(PC pc, PCMCPIPrecision blocks);

double Median(std::vector<double> values);

// A document as results/README.md defines it, with one record that has no rows yet
PetscErrorCode StartDocument(const char *benchmark, const CommonOptions &options, int argc,
                             char **argv, nlohmann::json *document);
// Names the last record, or adds one of the same commit and command if the last one has rows
void StartRecord(const std::string &name, nlohmann::json *document);
// The rows of the last record
nlohmann::json *Rows(nlohmann::json *document);
// Adds values that all rows of the last record share
void AddToRows(const nlohmann::json &values, nlohmann::json *document);
// Rank 0 writes it to -json, if that is given. With append, records in that file are kept
PetscErrorCode WriteDocument(const CommonOptions &options, const nlohmann::json &document,
                             bool append = false);

std::string Processor(); // model of the CPU

// What main() of every benchmark does: PETSc with mcpi around run
int Main(int argc, char **argv, const char *help, PetscErrorCode (*run)(int argc, char **argv));

} // namespace bench
