// The options prefix of a PETSc object, for messages that name an option.
#pragma once

#include <petsc/private/petscimpl.h>

#include <string>

namespace mcpi {

// Empty if the object has no prefix.
inline const char *prefix_of(PetscObject object)
{
  return object->prefix ? object->prefix : "";
}

// The text with this prefix in the names of options such as -pc_mcpi_its
inline std::string with_prefix(std::string text, const std::string &prefix)
{
  constexpr char kName[] = "-pc_mcpi_";
  for (std::size_t at = text.find(kName); at != std::string::npos;
       at = text.find(kName, at + 1 + prefix.size()))
    text.insert(at + 1, prefix);
  return text;
}

} // namespace mcpi
