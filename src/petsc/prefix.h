// The options prefix of a PETSc object, for messages that name an option.
#pragma once

#include <petsc/private/petscimpl.h>

#include <string>
#include <utility>

namespace mcpi {

// Empty if the object has no prefix.
inline const char *prefix_of(PetscObject object)
{
  return object->prefix ? object->prefix : "";
}

// While a function of a PC runs, messages name options with the prefix of this PC. Much of the code
// that makes messages does not know the PC.
class PrefixScope {
public:
  explicit PrefixScope(PetscObject object) : outer_(std::exchange(in_force, prefix_of(object))) {}
  ~PrefixScope() { in_force = outer_; }
  PrefixScope(const PrefixScope &) = delete;
  PrefixScope &operator=(const PrefixScope &) = delete;
  static const char *current() { return in_force; }

private:
  inline static const char *in_force = "";
  const char *outer_;
};

inline const char *current_prefix()
{
  return PrefixScope::current();
}

// The text with the current prefix in the names of options such as -pc_mcpi_its
inline std::string with_prefix(std::string text)
{
  constexpr char kName[] = "-pc_mcpi_";
  const std::string prefix = current_prefix();
  for (std::size_t at = text.find(kName); at != std::string::npos;
       at = text.find(kName, at + 1 + prefix.size()))
    text.insert(at + 1, prefix);
  return text;
}

} // namespace mcpi
