// This file chooses the exchange of ghost values and creates it.
#include "pc/halo_choice.h"

#include "halo/sf.h"
#include "pc/mcpi.h"
#include "petsc/compat.h"
#include "petsc/prefix.h"
#include "petscmcpi.h"
#if defined(MCPI_HAVE_CUDA)
#include "halo/cuda/nccl.h"
#include "halo/cuda/peer.h"
#endif

namespace mcpi {
namespace {

#if defined(MCPI_HAVE_CUDA)
constexpr char kDeviceRemedy[] = "use -pc_mcpi_backend cuda, or -pc_mcpi_halo sf";
#else
constexpr char kDeviceRemedy[] = "this libpetscmcpi was built without CUDA, use -pc_mcpi_halo sf";
#endif

// Creates an exchange of this type on a device. If it cannot be used, *halo stays empty and reason
// says why.
PetscErrorCode try_device_halo(MPI_Comm comm, const ColorPlan &plan,
                               const std::vector<PetscSFNode> &remote, const HaloRequest &request,
                               PCMCPIHaloType type, std::unique_ptr<Halo> *halo,
                               std::string *reason)
{
  PetscFunctionBegin;
#if defined(MCPI_HAVE_CUDA)
  if (type == PC_MCPI_HALO_PEER)
    PetscCall(CreatePeerHalo(comm, plan, remote,
                             {request.type == type, request.symmetric, request.timeout}, halo,
                             reason));
  else
    PetscCall(CreateNcclHalo(comm, plan, remote, halo, reason));
#else
  (void)comm, (void)plan, (void)remote, (void)request, (void)type, (void)halo;
  *reason = "this libpetscmcpi was built without CUDA";
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode HaloCreate(MPI_Comm comm, const ColorPlan &plan,
                          const std::vector<PetscSFNode> &remote, const HaloRequest &request,
                          std::unique_ptr<Halo> *halo, HaloChoice *choice)
{
  PetscFunctionBegin;
  *choice = {PC_MCPI_HALO_SF, "", false, ""};
  halo->reset();
  for (const PCMCPIHaloType type : {PC_MCPI_HALO_PEER, PC_MCPI_HALO_NCCL}) {
    if (request.type != type &&
        (request.type != PC_MCPI_HALO_AUTO || !request.on_device || !request.exchanges))
      continue;
    std::string reason;
    PetscCheck(request.on_device, comm, PETSC_ERR_SUP_SYS,
               "-%spc_mcpi_halo %s needs the sweeps on a device: %s", current_prefix(),
               PCMCPIHaloTypes[type], with_prefix(kDeviceRemedy).c_str());
    if (!request.exchanges) continue;
    PetscCall(try_device_halo(comm, plan, remote, request, type, halo, &reason));
    if (*halo) {
      choice->type = type;
      if (type == PC_MCPI_HALO_PEER && !(*halo)->packets())
        choice->reason_not_inside = request.symmetric
                                        ? "ranks share a device"
                                        : "the pattern is not symmetric between ranks";
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCheck(request.type != type, comm, PETSC_ERR_SUP_SYS,
               "-%spc_mcpi_halo %s cannot be used: %s. Use auto or sf", current_prefix(),
               PCMCPIHaloTypes[type], reason.c_str());
    choice->reason += (choice->reason.empty() ? "not " : "; not ") +
                      std::string(PCMCPIHaloTypes[type]) + ": " + reason;
  }
  if (request.exchanges)
    PetscCall(CreateSFHalo(comm, {plan.color_begin.begin(), plan.color_begin.end()}, remote,
                           request.event, halo));
  else
    *halo = std::make_unique<NoHalo>();
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
