#include "common.h"
#include "compat.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

#include "petscmcpi.h"

namespace bench {

namespace {

std::string today()
{
  char text[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof(text), "%Y-%m-%d", std::localtime(&now));
  return text;
}

std::string member(const std::string &indent, const std::string &key, const nlohmann::json &value)
{
  return indent + '"' + key + "\": " + value.dump() + ",\n";
}

// Writes JSON with one line for each row, like results.py. A change of one row then changes one
// line of the file.
std::string text(const nlohmann::json &document)
{
  std::string out = "{\n";
  for (const auto &[key, value] : document.items())
    if (key != "records") out += member(" ", key, value);
  out += " \"records\": [";
  for (const nlohmann::json &record : document["records"]) {
    out += std::string(&record == &document["records"].front() ? "" : ",") + "\n  {\n";
    for (const auto &[key, value] : record.items())
      if (key != "rows") out += member("   ", key, value);
    out += "   \"rows\": [";
    for (const nlohmann::json &row : record["rows"])
      out += (&row == &record["rows"].front() ? "\n    " : ",\n    ") + row.dump();
    out += "\n   ]\n  }";
  }
  return out + "\n ]\n}\n";
}

} // namespace

PetscErrorCode ReadText(const char *option, std::string *text)
{
  constexpr std::size_t kRoom = 1 << 16;
  std::string room(kRoom, '\0');
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(nullptr, nullptr, option, room.data(), kRoom, &given));
  if (!given) PetscFunctionReturn(PETSC_SUCCESS);
  room.resize(std::strlen(room.c_str()));
  PetscCheck(room.size() + 1 < kRoom, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "%s takes at most %zu characters", option, kRoom - 2);
  *text = room;
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

PetscErrorCode ReadNumbers(const char *option, std::vector<PetscReal> *list)
{
  PetscReal numbers[32];
  PetscInt count = 32;
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetRealArray(nullptr, nullptr, option, numbers, &count, &set));
  if (set) list->assign(numbers, numbers + count);
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

PetscErrorCode DescribeSweeps(PC pc, nlohmann::json *row)
{
  constexpr const char *kSchedules[] = {"color", "wave", "cluster", "level", "auto"};
  constexpr const char *kSweeps[] = {"forward", "backward", "symmetric"};
  ISColoring coloring;
  PCMCPISchedule schedule;
  PCMCPISweepType sweep;
  PetscInt colors, cluster_rows = PETSC_DECIDE, chunk_rows = PETSC_DECIDE;
  PetscOptions options;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PCMCPIGetColoring(pc, &coloring));
  PetscCall(ISColoringGetColors(coloring, nullptr, &colors, nullptr));
  PetscCall(PCMCPIGetSchedule(pc, &schedule));
  PetscCall(PCMCPIGetSweep(pc, &sweep));
  PetscCall(PetscObjectGetOptions((PetscObject)pc, &options));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PetscOptionsGetInt(options, prefix, "-pc_mcpi_cluster_rows", &cluster_rows, nullptr));
  PetscCall(PetscOptionsGetInt(options, prefix, "-pc_mcpi_chunk_rows", &chunk_rows, nullptr));
  row->update({{"schedule", kSchedules[schedule]},
               {"sweep", kSweeps[sweep]},
               {"colors", colors},
               {"cluster_rows", cluster_rows},
               {"chunk_rows", chunk_rows}});
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
  PetscInt major, minor, subminor;
  std::string command;

  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, nullptr));
  for (int i = 0; i < argc; ++i) command.append(i > 0 ? " " : "").append(argv[i]);
  *document = {{"benchmark", benchmark},
               {"machine", Processor()},
               {"petsc", "PETSc " + std::to_string(major) + "." + std::to_string(minor) + "." +
                             std::to_string(subminor)},
               {"gpu", nullptr},
               {"date", today()}};
  (*document)["records"] = nlohmann::json::array();
  (*document)["records"].push_back({{"commit", options.commit.empty() ? "unknown" : options.commit},
                                    {"command", command},
                                    {"rows", nlohmann::json::array()}});
  PetscFunctionReturn(PETSC_SUCCESS);
}

void StartRecord(const std::string &name, nlohmann::json *document)
{
  nlohmann::json &records = (*document)["records"];
  if (!records.back()["rows"].empty()) records.push_back(nlohmann::json(records.back()));
  records.back()["rows"] = nlohmann::json::array();
  records.back()["name"] = name;
}

nlohmann::json *Rows(nlohmann::json *document)
{
  return &(*document)["records"].back()["rows"];
}

void AddToRows(const nlohmann::json &values, nlohmann::json *document)
{
  for (nlohmann::json &row : *Rows(document)) row.update(values);
}

PetscErrorCode WriteDocument(const CommonOptions &options, const nlohmann::json &document,
                             bool append)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank > 0 || options.json.empty()) PetscFunctionReturn(PETSC_SUCCESS);
  nlohmann::json all = document;
  std::ifstream before(options.json);
  if (append && before) {
    all["records"] = nlohmann::json::parse(before)["records"];
    for (const nlohmann::json &record : document["records"]) all["records"].push_back(record);
  }
  std::ofstream(options.json) << text(all);
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::string Processor()
{
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
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
