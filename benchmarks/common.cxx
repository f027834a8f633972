#include "common.h"
#include "compat.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "petscmcpi.h"

namespace bench {

PetscErrorCode ReadText(const char *option, std::string *text)
{
  char given_text[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(
      PetscOptionsGetString(nullptr, nullptr, option, given_text, sizeof(given_text), &given));
  if (given) *text = given_text;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReadCommonOptions(CommonOptions *options)
{
  PetscInt bs[64], count = 64;
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-n", &options->n, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-sweeps", &options->sweeps, nullptr));
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-repeat", &options->repeat, nullptr));
  PetscCall(PetscOptionsGetIntArray(nullptr, nullptr, "-bs", bs, &count, &given));
  if (given) options->bs.assign(bs, bs + count);
  PetscCall(ReadText("-mesh", &options->mesh));
  PetscCheck(options->mesh.empty() || options->mesh == "mix" || options->mesh == "tet" ||
                 options->mesh == "grid",
             PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-mesh takes mix, tet and grid");
  PetscCall(ReadText("-json", &options->json));
  PetscCall(ReadText("-commit", &options->commit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ReadList(const char *option, std::vector<std::string> *list)
{
  std::string text;

  PetscFunctionBegin;
  PetscCall(ReadText(option, &text));
  if (text.empty()) PetscFunctionReturn(PETSC_SUCCESS);
  std::istringstream in(text);
  list->clear();
  for (std::string one; std::getline(in, one, ',');) list->push_back(one);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CreateSolver(Mat mat, const std::string &chosen, PetscOptions *mine, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(mine));
  PetscCall(PetscOptionsInsertString(*mine, chosen.c_str()));
  PetscCall(KSPCreate(PetscObjectComm(reinterpret_cast<PetscObject>(mat)), ksp));
  PetscCall(PetscObjectSetOptions(reinterpret_cast<PetscObject>(*ksp), *mine));
  PetscCall(KSPSetOperators(*ksp, mat, mat));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PetscObjectSetOptions(reinterpret_cast<PetscObject>(pc), *mine));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode UseMeasuredSweeps(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCMCPISetSweep(pc, PC_MCPI_SWEEP_FORWARD));
  PetscCall(SetBlocks(pc, PC_MCPI_PRECISION_FP32));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetBlocks(PC pc, PCMCPIPrecision blocks)
{
  std::string vectors = "fp32";

  PetscFunctionBegin;
  PetscCall(ReadText("-vectors", &vectors));
  PetscCheck(vectors == "fp32" || vectors == "fp64", PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-vectors: there is no %s", vectors.c_str());
  const bool wide = blocks == PC_MCPI_PRECISION_FP64 || vectors == "fp64";
  PetscCall(PCMCPISetVectorPrecision(pc, wide ? PC_MCPI_VECTOR_PRECISION_FP64
                                              : PC_MCPI_VECTOR_PRECISION_FP32));
  PetscCall(PCMCPISetOffdiagPrecision(pc, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

double Median(std::vector<double> values)
{
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

PetscErrorCode StartDocument(const char *benchmark, const CommonOptions &options, int argc,
                             char **argv, nlohmann::json *document)
{
  char version[256];
  std::string command;

  PetscFunctionBegin;
  PetscCall(PetscGetVersion(version, sizeof(version)));
  for (int i = 0; i < argc; ++i) command += (i ? " " : "") + std::string(argv[i]);
  *document = {{"benchmark", benchmark},
               {"commit", options.commit},
               {"petsc", version},
               {"command", command}};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode WriteDocument(const CommonOptions &options, const nlohmann::json &document)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0 && !options.json.empty()) std::ofstream(options.json) << document.dump(1) << '\n';
  PetscFunctionReturn(PETSC_SUCCESS);
}

int Main(int argc, char **argv, const char *help, PetscErrorCode (*run)(int argc, char **argv))
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, nullptr, help));
  PetscCall(PCMCPIRegister());
  PetscCall(run(argc, argv));
  PetscCall(PetscFinalize());
  return 0;
}

} // namespace bench
