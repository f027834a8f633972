/*
   This header declares the public interface of petsc-mcpi, a multicolor point-implicit
   preconditioner and smoother for PETSc. docs/api.md has the manual pages.
*/
#ifndef PETSCMCPI_H
#define PETSCMCPI_H

#include <petscksp.h>

#include "petscmcpitypes.h"

#define PETSCMCPI_VERSION_MAJOR 0
#define PETSCMCPI_VERSION_MINOR 2
#define PETSCMCPI_VERSION_SUBMINOR 0
#define PETSCMCPI_VERSION "0.2.0"

#define PCMCPI "mcpi"
#define MATCOLORINGJPLF "jplf"
#define MATCOLORINGWAVE "wave"
#define MATCOLORINGLEVELS "levels"

/* Names of the values of the enumerations, as KSPConvergedReasons[] */
PETSC_EXTERN const char *const PCMCPISweepTypes[];
PETSC_EXTERN const char *const PCMCPISchedules[];
PETSC_EXTERN const char *const PCMCPIMethods[];
PETSC_EXTERN const char *const PCMCPIPrecisions[];
PETSC_EXTERN const char *const PCMCPIVectorPrecisions[];
PETSC_EXTERN const char *const PCMCPIGatherPrecisions[];
PETSC_EXTERN const char *const PCMCPIForms[];
PETSC_EXTERN const char *const PCMCPIBackendTypes[];
PETSC_EXTERN const char *const PCMCPIHaloTypes[];
PETSC_EXTERN const char *const PCMCPIHaloFrequencies[];
PETSC_EXTERN const char *const PCMCPIOrderingTypes[];

PETSC_EXTERN PetscErrorCode PCMCPIRegister(void);
PETSC_EXTERN PetscErrorCode MatColoringRegisterJPLF(void);
PETSC_EXTERN PetscErrorCode MatColoringRegisterWave(void);
PETSC_EXTERN PetscErrorCode MatColoringRegisterLevels(void);

PETSC_EXTERN PetscErrorCode PCMCPISetIts(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCMCPIGetIts(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCMCPISetSweep(PC, PCMCPISweepType);
PETSC_EXTERN PetscErrorCode PCMCPIGetSweep(PC, PCMCPISweepType *);
PETSC_EXTERN PetscErrorCode PCMCPISetOmega(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCMCPIGetOmega(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCMCPISetMethod(PC, PCMCPIMethod);
PETSC_EXTERN PetscErrorCode PCMCPIGetMethod(PC, PCMCPIMethod *);
PETSC_EXTERN PetscErrorCode PCMCPISetOffdiagPrecision(PC, PCMCPIPrecision);
PETSC_EXTERN PetscErrorCode PCMCPIGetOffdiagPrecision(PC, PCMCPIPrecision *);
PETSC_EXTERN PetscErrorCode PCMCPISetVectorPrecision(PC, PCMCPIVectorPrecision);
PETSC_EXTERN PetscErrorCode PCMCPIGetVectorPrecision(PC, PCMCPIVectorPrecision *);
PETSC_EXTERN PetscErrorCode PCMCPISetGatherPrecision(PC, PCMCPIGatherPrecision);
PETSC_EXTERN PetscErrorCode PCMCPIGetGatherPrecision(PC, PCMCPIGatherPrecision *);
PETSC_EXTERN PetscErrorCode PCMCPISetForm(PC, PCMCPIForm);
PETSC_EXTERN PetscErrorCode PCMCPIGetForm(PC, PCMCPIForm *);
PETSC_EXTERN PetscErrorCode PCMCPISetRestart(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCMCPIGetRestart(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCMCPISetBackend(PC, PCMCPIBackendType);
PETSC_EXTERN PetscErrorCode PCMCPIGetBackend(PC, PCMCPIBackendType *);
PETSC_EXTERN PetscErrorCode PCMCPISetHalo(PC, PCMCPIHaloType);
PETSC_EXTERN PetscErrorCode PCMCPIGetHalo(PC, PCMCPIHaloType *);
PETSC_EXTERN PetscErrorCode PCMCPISetHaloFrequency(PC, PCMCPIHaloFrequency);
PETSC_EXTERN PetscErrorCode PCMCPIGetHaloFrequency(PC, PCMCPIHaloFrequency *);
PETSC_EXTERN PetscErrorCode PCMCPISetSchedule(PC, PCMCPISchedule);
PETSC_EXTERN PetscErrorCode PCMCPIGetSchedule(PC, PCMCPISchedule *);
PETSC_EXTERN PetscErrorCode PCMCPISetOrdering(PC, PCMCPIOrderingType);
PETSC_EXTERN PetscErrorCode PCMCPIGetOrdering(PC, PCMCPIOrderingType *);

PETSC_EXTERN PetscErrorCode PCMCPIGetColoring(PC, ISColoring *);
PETSC_EXTERN PetscErrorCode PCMCPIGetFailedBlock(PC, PetscInt *);

#endif
