// NCCL, opened when it is wanted: the plugin also loads where there is none.
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

  // nullptr, with the reason, if there is none
  static const NcclLibrary *open(std::string *reason);
};

} // namespace mcpi
