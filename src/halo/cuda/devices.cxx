#include "halo/cuda/devices.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>

#include "cuda/memory.h"
#include "petsc/collective.h"
#include "petsc/compat.h"

namespace mcpi {
namespace {

bool same(const RankDevice &a, const RankDevice &b)
{
  return std::memcmp(a.uuid, b.uuid, sizeof(a.uuid)) == 0;
}

RankDevice describe(int number)
{
  cudaDeviceProp properties;
  RankDevice device{};
  MCPI_CUDA(cudaGetDeviceProperties(&properties, number));
  static_assert(sizeof(device.uuid) == sizeof(properties.uuid));
  std::memcpy(device.uuid, &properties.uuid, sizeof(device.uuid));
  device.capability = properties.major;
  return device;
}

} // namespace

PetscErrorCode DevicesOfRanks(MPI_Comm comm, std::vector<RankDevice> *devices, std::string *problem)
{
  RankDevice mine{};
  PetscMPIInt size;

  PetscFunctionBegin;
  const auto look = [&] {
    int number = 0;
    MCPI_CUDA(cudaGetDevice(&number));
    mine = describe(number);
  };
  PetscCall(RunAgreed(comm, look, problem));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  devices->resize(static_cast<std::size_t>(size));
  PetscCallMPI(
      MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, devices->data(), sizeof(mine), MPI_BYTE, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool any_shared(const std::vector<RankDevice> &devices)
{
  for (std::size_t k = 1; k < devices.size(); ++k)
    if (std::any_of(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(k),
                    [&](const RankDevice &device) { return same(device, devices[k]); }))
      return true;
  return false;
}

std::vector<RankDevice> VisibleDevices()
{
  int count = 0;
  MCPI_CUDA(cudaGetDeviceCount(&count));
  std::vector<RankDevice> devices;
  devices.reserve(static_cast<std::size_t>(count));
  for (int number = 0; number < count; ++number) devices.push_back(describe(number));
  return devices;
}

bool reaches(const std::vector<RankDevice> &visible, const RankDevice &device)
{
  int mine = 0;
  MCPI_CUDA(cudaGetDevice(&mine));
  for (int other = 0; other < static_cast<int>(visible.size()); ++other) {
    if (!same(visible[static_cast<std::size_t>(other)], device)) continue;
    if (other == mine) return true;
    int access = 0, atomics = 0;
    MCPI_CUDA(cudaDeviceCanAccessPeer(&access, mine, other));
    if (access)
      MCPI_CUDA(
          cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, mine, other));
    return access && atomics;
  }
  return false; // this process does not see the device
}

} // namespace mcpi
