/*
   This header defines the enumerations of PCMCPI. It is plain C and includes nothing. The
   arithmetic core, which does not depend on PETSc, can therefore share it with the public
   interface.
*/
#ifndef PETSCMCPITYPES_H
#define PETSCMCPITYPES_H

/*E
   PCMCPISweepType - order in which one sweep visits the colors

   Values:
+  `PC_MCPI_SWEEP_FORWARD`   - colors ascending
.  `PC_MCPI_SWEEP_BACKWARD`  - colors descending
-  `PC_MCPI_SWEEP_SYMMETRIC` - forward, then backward; the default, which `KSPCG`, `KSPMINRES` and
                               `KSPCHEBYSHEV` need

   Level: intermediate

.seealso: `PCMCPISetSweep()`
E*/
typedef enum {
  PC_MCPI_SWEEP_FORWARD,
  PC_MCPI_SWEEP_BACKWARD,
  PC_MCPI_SWEEP_SYMMETRIC
} PCMCPISweepType;

/*E
   PCMCPISchedule - which block rows are relaxed at the same time, and which after each other

   Values:
+  `PC_MCPI_SCHEDULE_COLOR`   - few colors of block rows; default
.  `PC_MCPI_SCHEDULE_WAVE`    - more colors, which follow the order of the rows
.  `PC_MCPI_SCHEDULE_CLUSTER` - colors of clusters of strongly coupled block rows; the rows of a
                                cluster are relaxed one after the other
.  `PC_MCPI_SCHEDULE_LEVEL`   - the levels of the order of the rows: Gauss-Seidel in that order
-  `PC_MCPI_SCHEDULE_AUTO`    - what is fastest by measurements

   Level: intermediate

   Note:
   With color, wave and level the result does not depend on the number of ranks.

.seealso: `PCMCPISetSchedule()`
E*/
typedef enum {
  PC_MCPI_SCHEDULE_COLOR,
  PC_MCPI_SCHEDULE_WAVE,
  PC_MCPI_SCHEDULE_CLUSTER,
  PC_MCPI_SCHEDULE_LEVEL,
  PC_MCPI_SCHEDULE_AUTO
} PCMCPISchedule;

/*E
   PCMCPIMethod - block Gauss-Seidel, or an incomplete factorization

   Values:
+  `PC_MCPI_METHOD_POINT` - the blocks of the matrix, so that a sweep is one of block
                            Gauss-Seidel or SOR
.  `PC_MCPI_METHOD_DILU`  - those of the incomplete factorization DILU in the order of the sweep
.  `PC_MCPI_METHOD_ILU0`  - all blocks of the incomplete factorization ILU(0) in that order
-  `PC_MCPI_METHOD_AUTO`  - ILU0 where a trial finds that Gauss-Seidel enlarges errors and ILU(0)
                            does not, else POINT; default

   Level: intermediate

.seealso: `PCMCPISetMethod()`
E*/
typedef enum {
  PC_MCPI_METHOD_POINT,
  PC_MCPI_METHOD_DILU,
  PC_MCPI_METHOD_ILU0,
  PC_MCPI_METHOD_AUTO
} PCMCPIMethod;

/*E
   PCMCPIPrecision - how the numbers of the off-diagonal blocks are stored

   Values:
+  `PC_MCPI_PRECISION_FP64` - IEEE binary64
.  `PC_MCPI_PRECISION_FP32` - IEEE binary32
.  `PC_MCPI_PRECISION_FP16` - IEEE binary16
.  `PC_MCPI_PRECISION_INT8` - integers -127..127 and one power of two per block
.  `PC_MCPI_PRECISION_INT4` - integers -7..7 and one power of two per block
-  `PC_MCPI_PRECISION_AUTO` - INT8 or FP32, by the `KSP` and by what runs the sweeps; default

   Level: intermediate

   Note:
   Sums are accumulated in the vectors' precision, never in the storage precision.

.seealso: `PCMCPISetOffdiagPrecision()`, `PCMCPISetVectorPrecision()`
E*/
typedef enum {
  PC_MCPI_PRECISION_FP64,
  PC_MCPI_PRECISION_FP32,
  PC_MCPI_PRECISION_FP16,
  PC_MCPI_PRECISION_INT8,
  PC_MCPI_PRECISION_INT4,
  PC_MCPI_PRECISION_AUTO
} PCMCPIPrecision;

/*E
   PCMCPIVectorPrecision - precision of the vectors inside the sweeps

   Values:
+  `PC_MCPI_VECTOR_PRECISION_FP64` - IEEE binary64
.  `PC_MCPI_VECTOR_PRECISION_FP32` - IEEE binary32
-  `PC_MCPI_VECTOR_PRECISION_AUTO` - fp32 if the `KSP` that applies the preconditioner is known to
                                      be flexible and the blocks are not fp64, else fp64; default

   Level: advanced

   Note:
   With single precision the preconditioner is linear to about 1e-7 only. A Krylov method that
   assumes a linear operator then reports residuals below the true ones.

.seealso: `PCMCPISetVectorPrecision()`
E*/
typedef enum {
  PC_MCPI_VECTOR_PRECISION_FP64,
  PC_MCPI_VECTOR_PRECISION_FP32,
  PC_MCPI_VECTOR_PRECISION_AUTO
} PCMCPIVectorPrecision;

/*E
   PCMCPIGatherPrecision - precision in which off-diagonal products read x

   Values:
+  `PC_MCPI_GATHER_PRECISION_FP32`  - its entries, in the vectors' precision
.  `PC_MCPI_GATHER_PRECISION_BFP16` - 16-bit block floating point: integers -32767..32767 and one
                                      power of two per block row
-  `PC_MCPI_GATHER_PRECISION_AUTO`  - bfp16 on a device, beside blocks of few bits and under a
                                      flexible `KSP`, else fp32; default

   Level: advanced

   Note:
   The vector itself stays in its precision.

.seealso: `PCMCPISetGatherPrecision()`
E*/
typedef enum {
  PC_MCPI_GATHER_PRECISION_FP32,
  PC_MCPI_GATHER_PRECISION_BFP16,
  PC_MCPI_GATHER_PRECISION_AUTO
} PCMCPIGatherPrecision;

/*E
   PCMCPIForm - the forms of the same iteration

   Values:
+  `PC_MCPI_FORM_PRESCALED` - store D^{-1}O; the diagonal blocks leave the traffic of every sweep
.  `PC_MCPI_FORM_FACTORED`  - store O and apply D^{-1} in every sweep, as published codes do
.  `PC_MCPI_FORM_AUTO`      - prescaled, unless the diagonal blocks are too stiff for its rounding,
                              or large blocks have few entries
-  `PC_MCPI_FORM_ENTRIES`   - work on the entries of the matrix, with sparse factors of D; on a CPU

   Level: advanced

.seealso: `PCMCPISetForm()`
E*/
typedef enum {
  PC_MCPI_FORM_PRESCALED,
  PC_MCPI_FORM_FACTORED,
  PC_MCPI_FORM_AUTO,
  PC_MCPI_FORM_ENTRIES
} PCMCPIForm;

/*E
   PCMCPIBackendType - hardware and code that run the sweeps

   Values:
+  `PC_MCPI_BACKEND_AUTO`      - the device, if one that can be used is in use, else the CPU
.  `PC_MCPI_BACKEND_HOST`      - the CPU, with SIMD
.  `PC_MCPI_BACKEND_CUDA`      - an NVIDIA GPU
.  `PC_MCPI_BACKEND_KOKKOS`    - Kokkos' default execution space
-  `PC_MCPI_BACKEND_REFERENCE` - plain loops in double precision, for tests

   Level: intermediate

.seealso: `PCMCPISetBackend()`
E*/
typedef enum {
  PC_MCPI_BACKEND_AUTO,
  PC_MCPI_BACKEND_HOST,
  PC_MCPI_BACKEND_CUDA,
  PC_MCPI_BACKEND_KOKKOS,
  PC_MCPI_BACKEND_REFERENCE
} PCMCPIBackendType;

/*E
   PCMCPIHaloType - how ghost values are exchanged between MPI processes

   Values:
+  `PC_MCPI_HALO_AUTO` - the fastest usable one
.  `PC_MCPI_HALO_SF`   - `PetscSF`
.  `PC_MCPI_HALO_NCCL` - NCCL
-  `PC_MCPI_HALO_PEER` - stores into the neighbor's memory

   Level: advanced

.seealso: `PCMCPISetHalo()`, `PCMCPISetHaloFrequency()`
E*/
typedef enum {
  PC_MCPI_HALO_AUTO,
  PC_MCPI_HALO_SF,
  PC_MCPI_HALO_NCCL,
  PC_MCPI_HALO_PEER
} PCMCPIHaloType;

/*E
   PCMCPIHaloFrequency - how often ghost values are exchanged between MPI processes

   Values:
+  `PC_MCPI_HALO_FREQUENCY_COLOR` - after every color: the iterate does not depend on the number of
                                    ranks
-  `PC_MCPI_HALO_FREQUENCY_SWEEP` - before every pass over the colors: block Jacobi across ranks

   Level: advanced

.seealso: `PCMCPISetHaloFrequency()`
E*/
typedef enum { PC_MCPI_HALO_FREQUENCY_COLOR, PC_MCPI_HALO_FREQUENCY_SWEEP } PCMCPIHaloFrequency;

/*E
   PCMCPIOrderingType - order of the rows inside a color; only with clusters it changes the result

   Values:
+  `PC_MCPI_ORDERING_AUTO`        - along a Hilbert curve after `PCSetCoordinates()`, else the more
                                    local of natural and rcm; with clusters one of these,
                                    see `PCMCPISetSchedule()`
.  `PC_MCPI_ORDERING_NATURAL`     - as in the matrix
.  `PC_MCPI_ORDERING_RCM`         - reverse Cuthill-McKee
-  `PC_MCPI_ORDERING_COORDINATES` - along a Hilbert curve through the points given to
                                    `PCSetCoordinates()`

   Level: advanced

.seealso: `PCMCPISetOrdering()`
E*/
typedef enum {
  PC_MCPI_ORDERING_AUTO,
  PC_MCPI_ORDERING_NATURAL,
  PC_MCPI_ORDERING_RCM,
  PC_MCPI_ORDERING_COORDINATES
} PCMCPIOrderingType;

#endif
