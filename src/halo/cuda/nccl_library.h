// The functions of NCCL. The library is opened only when it is needed, so the plugin also loads
// where NCCL is not installed.
#pragma once

#include <nccl.h>

#include <string>

namespace mcpi {

struct NcclLibrary {
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRank) comm_init_rank;
  decltype(&ncclCommDestroy) comm_destroy;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) recv;
  decltype(&ncclGetErrorString) get_error_string;

  // Returns nullptr and sets *reason if there is no usable NCCL library.
  static const NcclLibrary *open(std::string *reason);
};

} // namespace mcpi
