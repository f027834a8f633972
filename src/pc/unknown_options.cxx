#include "pc/unknown_options.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pc/mcpi.h"

namespace mcpi {
namespace {

constexpr std::string_view kOurs = "pc_mcpi_";

std::set<std::string> told; // since PetscInitialize()

PetscErrorCode Forget()
{
  PetscFunctionBegin;
  told.clear();
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::string lower(std::string text)
{
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// PETSc takes -mg_levels_pc_mcpi_its for the prefix mg_levels_1_, too. Returns the prefix without
// numbers.
std::string without_numbers(const std::string &prefix)
{
  std::string kept;
  for (std::size_t begin = 0; begin < prefix.size();) {
    const std::size_t end = std::min(prefix.find('_', begin), prefix.size() - 1) + 1;
    if (prefix.find_first_not_of("0123456789", begin) + 1 != end || prefix[end - 1] != '_')
      kept.append(prefix, begin, end - begin);
    begin = end;
  }
  return kept;
}

// Levenshtein's distance: the least number of letters to insert, delete or replace
std::size_t distance(std::string_view a, std::string_view b)
{
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// Options of colorings are read at the set-up.
bool may_exist(std::string_view name)
{
  return name.starts_with("mat_coloring_") ||
         std::any_of(Options().begin(), Options().end(),
                     [&](const Option &option) { return option.name == name; });
}

// What to tell about an option of the database without its dash; empty for an option that may exist
// or is not for a PC with this prefix
std::string warning(const std::string &given, const std::string &prefix)
{
  const std::string option = lower(given);
  const std::size_t at = option.find(kOurs);
  if (at == std::string::npos || without_numbers(option.substr(0, at)) != without_numbers(prefix))
    return "";
  const std::string name = option.substr(at + kOurs.size());
  if (may_exist(name)) return "";
  const Option &nearest =
      *std::min_element(Options().begin(), Options().end(), [&](const Option &a, const Option &b) {
        return distance(name, a.name) < distance(name, b.name);
      });
  const std::string text = "There is no option -" + given + ". ";
  if (2 * distance(name, nearest.name) > name.size()) return text + "-help lists the options";
  return text + "Did you mean -" + option.substr(0, at) + std::string(kOurs) + nearest.name + "?";
}

// One rank prints. On PETSC_COMM_SELF that is the first of the program, since all ranks may have
// such a PC.
PetscErrorCode print(PC pc, const std::string &text)
{
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)pc), &rank));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCall(PetscInfo(pc, "%s\n", text.c_str()));
  if (rank == 0 && (size > 1 || PetscGlobalRank == 0))
    PetscCall(
        PetscFPrintf(PETSC_COMM_SELF, PETSC_STDERR, "Warning from PCMCPI: %s\n", text.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode WarnOfUnknownOptions(PC pc)
{
  PetscInt count;
  char **names, **values;
  std::vector<std::string> warnings;

  PetscFunctionBegin;
  const std::string prefix = lower(prefix_of((PetscObject)pc));
  PetscCall(PetscOptionsLeftGet(((PetscObject)pc)->options, &count, &names, &values));
  warnings.reserve(static_cast<std::size_t>(count));
  for (PetscInt k = 0; k < count; ++k) warnings.push_back(warning(names[k], prefix));
  PetscCall(PetscOptionsLeftRestore(((PetscObject)pc)->options, &count, &names, &values));
  for (const std::string &text : warnings) {
    if (text.empty() || told.count(text) != 0) continue;
    if (told.empty()) PetscCall(PetscRegisterFinalize(Forget));
    told.insert(text);
    PetscCall(print(pc, text));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
