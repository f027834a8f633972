// Matrices and options of the tests of exchanges between devices
#pragma once

#include <cuda_runtime.h>

#include "support/petsc.h"

namespace mcpi::test {

inline bool own_devices()
{
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices >= world_size();
}

inline std::vector<const char *> exchanges()
{
  std::vector<const char *> names = {"sf", "peer"};
  if (own_devices()) names.push_back("nccl");
  return names;
}

// Adds options for the device. With this vector precision, relaxations may contain the exchanges,
// if the blocks allow it.
inline std::string on_device(const std::string &options, const std::string &halo)
{
  const char *const vectors =
      options.find("offdiag_precision fp64") == std::string::npos ? "fp32" : "fp64";
  return options + " -pc_mcpi_vector_precision " + vectors +
         " -pc_mcpi_backend cuda -pc_mcpi_halo " + halo;
}

inline PetscErrorCode create_case(const BlockMatrix &matrix, Layout layout, MatType type,
                                  OwnedMat *mat)
{
  PetscFunctionBeginUser;
  PetscCall(create_mat(PETSC_COMM_WORLD, matrix, layout, type, mat));
  PetscCall(MatSetVecType(*mat, VECCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi::test
