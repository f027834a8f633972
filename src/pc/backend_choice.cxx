#include "pc/backend_choice.h"

#include <exception>
#include <new>

#include "backend/host/entries_backend.h"
#include "backend/host/host_backend.h"
#include "backend/reference/reference_backend.h"
#include "core/sparse_factors.h"
#include "petsc/collective.h"
#include "petsc/compat.h"
#include "petsc/prefix.h"

#if defined(MCPI_HAVE_CUDA)
#include <cuda_runtime.h>

#include "backend/cuda/cuda_backend.h"
#include "method/cuda/incomplete_lu.h"
#endif
#if defined(MCPI_HAVE_CUDA) || defined(MCPI_HAVE_KOKKOS)
#include <petscdevice.h>
#endif
#if defined(MCPI_HAVE_KOKKOS)
#include "backend/kokkos/runtime.h"
#endif

namespace mcpi {
namespace {

#if defined(MCPI_HAVE_CUDA)

// Sets in_use if the matrix or its vectors live on a CUDA device, or if PETSc uses one.
PetscErrorCode device_in_use(Mat pmat, bool *in_use)
{
  PetscBool on_device = PETSC_FALSE, vectors;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pmat, &on_device, MATSEQAIJCUSPARSE,
                                      MATMPIAIJCUSPARSE, ""));
  PetscCall(HasCudaVectors(pmat, &vectors));
  *in_use = vectors || on_device;
#if defined(PETSC_HAVE_CUDA)
  *in_use = *in_use || PetscDeviceInitialized(PETSC_DEVICE_CUDA);
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSC_HAVE_CUDA)

// Chooses the device that PETSc uses.
PetscErrorCode choose_device(MPI_Comm, int, int *device)
{
  PetscDeviceContext context;
  PetscDevice chosen;
  PetscInt id;

  PetscFunctionBegin;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextGetDevice(context, &chosen));
  PetscCall(PetscDeviceGetDeviceId(chosen, &id));
  *device = static_cast<int>(id);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else

// Whether the program has used this device. The CUDA runtime tells only which device is current,
// and device 0 is current from the beginning.
bool is_active(int device)
{
  using GetState = int (*)(int device, unsigned *flags, int *active);
  void *address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  unsigned flags = 0;
  int active = 0;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &address,
                                                             7000, cudaEnableDefault, &found);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuDevicePrimaryCtxGetState", &address, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess || !address) return false;
  return reinterpret_cast<GetState>(address)(device, &flags, &active) == 0 && active;
}

// Keeps the current device if the program has selected or used it. Otherwise the ranks of a node
// take the devices in turn.
PetscErrorCode choose_device(MPI_Comm comm, int count, int *device)
{
  MPI_Comm node;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Comm_rank(node, &rank));
  PetscCallMPI(MPI_Comm_free(&node));
  if (cudaGetDevice(device) != cudaSuccess) *device = 0;
  if (*device == 0 && !is_active(0)) *device = rank % count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif

// Returns 0 if the library has code for the device. Otherwise returns 10 times the device's compute
// capability.
int lacking_code(int device)
{
  const DeviceGuard guard(device);
  int major = 0, minor = 0;
  if (has_code_for_cuda_device()) return 0;
  (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  (void)cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  return 10 * major + minor;
}

// Collective. Chooses a device for each rank. If PETSc has CUDA, the device is the one that PETSc
// takes. reason: why some rank cannot use a device, on all ranks; empty if all ranks can
PetscErrorCode take_device(MPI_Comm comm, int *device, std::string *reason)
{
  constexpr PetscMPIInt kNone = 1, kDriver = 2;
  int count = 0;
  PetscMPIInt unusable = 0, lacking = 0;

  PetscFunctionBegin;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    unusable = error == cudaErrorInsufficientDriver ? kDriver : kNone;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &unusable, 1, MPI_INT, MPI_MAX, comm));
  if (unusable) {
    *reason = unusable == kDriver ? "the CUDA driver of some rank is missing or too old"
                                  : "some rank has no CUDA device";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(choose_device(comm, count, device));
  PetscCall(RunAgreed(
      comm, [&] { lacking = lacking_code(*device); }, reason));
  if (!reason->empty()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &lacking, 1, MPI_INT, MPI_MAX, comm));
  *reason = BackendLacksCode(lacking);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif

#if defined(MCPI_HAVE_KOKKOS)

#if !defined(PETSC_HAVE_KOKKOS)
// Ends Kokkos when MPI ends. MPI ends after PETSc, even if a program initializes and finalizes
// PETSc several times.
int finish_kokkos(MPI_Comm, int, void *, void *)
{
  kokkos::finish();
  return MPI_SUCCESS;
}
#endif

// Collective. Starts Kokkos, unless PETSc or the application has started it. reason: why Kokkos
// does not run on some rank; empty if it runs on all ranks
PetscErrorCode start_kokkos(MPI_Comm comm, std::string *reason)
{
  PetscMPIInt failed = 0;

  PetscFunctionBegin;
#if defined(PETSC_HAVE_KOKKOS)
  *reason = kokkos::has_ended();
  if (reason->empty()) PetscCall(PetscKokkosInitializeCheck());
#else
  static bool registered = false;
  bool chosen = false;
#if defined(PETSC_HAVE_CUDA)
  chosen = kokkos::is_cuda();
  if (chosen) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA)); // PETSc chooses the device
#elif defined(PETSC_HAVE_HIP)
  chosen = kokkos::on_device();
  if (chosen) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_HIP));
#endif
  *reason = kokkos::start(chosen);
  if (reason->empty() && !registered) {
    int keyval;
    PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finish_kokkos, &keyval, nullptr));
    PetscCallMPI(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr));
    PetscCallMPI(MPI_Comm_free_keyval(&keyval));
    registered = true;
  }
#endif
  failed = !reason->empty();
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm));
  if (failed && reason->empty()) *reason = "Kokkos does not start on another rank";
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Whether PETSc uses a device of HIP or SYCL, which only the Kokkos backend supports.
bool kokkos_device_in_use()
{
  bool used = false;
#if defined(PETSC_HAVE_KOKKOS) && defined(PETSC_HAVE_HIP)
  used = used || PetscDeviceInitialized(PETSC_DEVICE_HIP);
#endif
#if defined(PETSC_HAVE_KOKKOS) && defined(PETSC_HAVE_SYCL)
  used = used || PetscDeviceInitialized(PETSC_DEVICE_SYCL);
#endif
  return used && kokkos::on_device() && !kokkos::is_cuda();
}

#endif

} // namespace

PetscErrorCode BackendDecide(Mat pmat, const Settings &settings, BackendChoice *choice)
{
  const PCMCPIBackendType wanted = settings.backend;
  MPI_Comm comm = PetscObjectComm((PetscObject)pmat);

  PetscFunctionBegin;
  choice->type = wanted;
  choice->reason.clear();
  choice->space.clear();
  choice->device = kNoDevice;
  choice->kokkos_on_device = choice->kokkos_on_cuda = false;
#if defined(MCPI_HAVE_CUDA)
  bool in_use = wanted == PC_MCPI_BACKEND_CUDA;
  if (wanted == PC_MCPI_BACKEND_AUTO) {
    PetscCall(device_in_use(pmat, &in_use));
    PetscMPIInt any = in_use;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, comm));
    in_use = any != 0;
  }
  if (in_use) {
    PetscCall(take_device(comm, &choice->device, &choice->reason));
    PetscCheck(choice->reason.empty() || wanted == PC_MCPI_BACKEND_AUTO, comm, PETSC_ERR_SUP_SYS,
               "-%spc_mcpi_backend cuda: %s. Use auto or host", current_prefix(),
               choice->reason.c_str());
    choice->type = choice->reason.empty() ? PC_MCPI_BACKEND_CUDA : PC_MCPI_BACKEND_HOST;
    if (!choice->reason.empty()) choice->device = kNoDevice;
  }
#else
  PetscCheck(wanted != PC_MCPI_BACKEND_CUDA, comm, PETSC_ERR_SUP_SYS,
             "This libpetscmcpi was built without the CUDA backend. Use -%spc_mcpi_backend auto or "
             "host, or build with -DMCPI_CUDA=ON",
             current_prefix());
#endif
#if defined(MCPI_HAVE_KOKKOS)
  PetscMPIInt takes_kokkos = wanted == PC_MCPI_BACKEND_KOKKOS ||
                             (choice->type == PC_MCPI_BACKEND_AUTO && kokkos_device_in_use());
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &takes_kokkos, 1, MPI_INT, MPI_MAX, comm));
  if (takes_kokkos) {
    PetscCall(start_kokkos(comm, &choice->reason));
    PetscCheck(
        choice->reason.empty() || wanted == PC_MCPI_BACKEND_AUTO, comm, PETSC_ERR_SUP_SYS,
        "-%spc_mcpi_backend kokkos: %s. Use auto or host, or initialize Kokkos in the program",
        current_prefix(), choice->reason.c_str());
    choice->type = choice->reason.empty() ? PC_MCPI_BACKEND_KOKKOS : PC_MCPI_BACKEND_HOST;
  }
  if (choice->type == PC_MCPI_BACKEND_KOKKOS) {
    choice->space = kokkos::space_name();
    choice->kokkos_on_device = kokkos::on_device();
    choice->kokkos_on_cuda = kokkos::is_cuda();
  }
#else
  PetscCheck(
      wanted != PC_MCPI_BACKEND_KOKKOS, comm, PETSC_ERR_SUP_SYS,
      "This libpetscmcpi was built without the Kokkos backend. Use -%spc_mcpi_backend auto or "
      "host, or build with -DMCPI_KOKKOS=ON",
      current_prefix());
#endif
  if (choice->type == PC_MCPI_BACKEND_AUTO) choice->type = PC_MCPI_BACKEND_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BackendCreate(MPI_Comm comm, PCMCPIBackendType type, const ColorPlan &plan,
                             const BackendConfig &config, std::unique_ptr<Backend> *backend)
{
  PetscFunctionBegin;
  const bool entries = config.numeric.form == PC_MCPI_FORM_ENTRIES;
  PetscCheck(!entries || type == PC_MCPI_BACKEND_HOST || type == PC_MCPI_BACKEND_REFERENCE, comm,
             PETSC_ERR_ARG_INCOMP, "%s",
             with_prefix("-pc_mcpi_form entries needs -pc_mcpi_backend host").c_str());
  PetscCheck(!entries || plan.bs <= SparseEntries::kMostUnknowns, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "%s takes at most %d unknowns of a block, not %d",
             with_prefix("-pc_mcpi_form entries").c_str(), SparseEntries::kMostUnknowns, plan.bs);
  switch (type) {
  case PC_MCPI_BACKEND_REFERENCE: {
    BackendConfig whole = config; // the same operator, from whole blocks
    if (entries) whole.numeric.form = PC_MCPI_FORM_FACTORED;
    *backend = make_reference_backend(plan, whole);
    break;
  }
#if defined(MCPI_HAVE_CUDA)
  case PC_MCPI_BACKEND_CUDA:
    PetscCall(RunTogether(comm, [&] { *backend = make_cuda_backend(plan, config); }));
    break;
#endif
#if defined(MCPI_HAVE_KOKKOS)
  case PC_MCPI_BACKEND_KOKKOS:
    PetscCall(RunTogether(comm, [&] { *backend = make_kokkos_backend(plan, config); }));
    break;
#endif
  default:
    *backend =
        entries ? make_entries_backend(plan) : make_host_backend(plan, config, simd_kernels());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

std::unique_ptr<Method> MethodCreate(PCMCPIBackendType backend, PCMCPIMethod method,
                                     const ColorPlan &plan, const GhostRows &ghosts)
{
#if defined(MCPI_HAVE_CUDA)
  if (backend == PC_MCPI_BACKEND_CUDA) return make_cuda_method(method, plan, ghosts);
#endif
  (void)backend;
  return make_method(method, plan, ghosts);
}

void ReleaseWithKokkos(const void *owner, const std::function<void()> &release)
{
#if defined(MCPI_HAVE_KOKKOS)
  if (release)
    kokkos::release_at_end(owner, release);
  else
    kokkos::drop_release(owner);
#else
  (void)owner;
  (void)release;
#endif
}

std::string BackendLacksCode(int capability)
{
  if (capability == 0) return {};
  constexpr int kOldest = 90;
  const std::string cure = capability < kOldest ? "it needs 9.0 (H100) or newer"
                                                : "build it with -DCMAKE_CUDA_ARCHITECTURES=" +
                                                      std::to_string(capability);
  return "libpetscmcpi has no code for a GPU of compute capability " +
         std::to_string(capability / 10) + "." + std::to_string(capability % 10) + ": " + cure;
}

PetscErrorCode HasCudaVectors(Mat mat, PetscBool *cuda)
{
  VecType type;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(mat, &type));
  PetscCall(PetscStrInList(type, VECSEQCUDA ":" VECMPICUDA ":" VECCUDA, ':', cuda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
