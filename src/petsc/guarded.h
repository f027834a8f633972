// The border between functions that throw and functions that PETSc calls.
#pragma once

#include <petscsys.h>

#include <exception>
#include <new>

#include "core/errors.h"

namespace mcpi {

// Runs body and turns its exceptions into PETSc errors. No exception may leave a function that
// PETSc calls.
template <class Body> PetscErrorCode Guarded(const Body &body)
{
  try {
    return body();
  } catch (const OutOfMemory &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "PCMCPI: %s", e.what());
  } catch (const std::bad_alloc &) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM,
            "PCMCPI ran out of memory. Use a smaller -pc_mcpi_offdiag_precision or more ranks");
  } catch (const std::exception &e) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "PCMCPI: %s", e.what());
  }
}

} // namespace mcpi
