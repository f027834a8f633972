// The border between functions that throw and functions that PETSc calls.
#pragma once

#include <petscsys.h>

#include <exception>
#include <new>

#include "core/errors.h"
#include "petsc/prefix.h"

namespace mcpi {

// Runs body and turns its exceptions into PETSc errors. No exception may leave a function that
// PETSc calls.
template <class Body> PetscErrorCode Guarded(const Body &body)
{
  try {
    return body();
  } catch (const OutOfMemory &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "PCMCPI: %s", with_prefix(e.what()).c_str());
  } catch (const std::bad_alloc &) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM,
            "PCMCPI ran out of memory. Use a smaller -%spc_mcpi_offdiag_precision or more ranks",
            current_prefix());
  } catch (const std::exception &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "PCMCPI: %s", with_prefix(e.what()).c_str());
  }
}

// The same for a function of an object. Messages name options with its prefix.
template <class Body> PetscErrorCode Guarded(PetscObject object, const Body &body)
{
  const PrefixScope prefix(object);
  return Guarded(body);
}

} // namespace mcpi
