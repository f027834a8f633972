// The options prefix of a PETSc object, for messages that name an option.
#pragma once

#include <petsc/private/petscimpl.h>

namespace mcpi {

// Empty if the object has no prefix.
inline const char *prefix_of(PetscObject object)
{
  return object->prefix ? object->prefix : "";
}

} // namespace mcpi
