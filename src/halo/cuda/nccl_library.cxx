#if !defined(MCPI_WITHOUT_NCCL) && __has_include(<nccl.h>)
#include "halo/cuda/nccl_library.h"

#include <dlfcn.h>

namespace mcpi {

const NcclLibrary *NcclLibrary::open(std::string *reason)
{
  static NcclLibrary library{};
  static bool opened = false;
  if (opened) return &library;
  // The library is never closed, because its threads may outlive this plugin.
  void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    *reason = "libnccl.so.2 is not found";
    return nullptr;
  }
  bool complete = true;
  const auto take = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    complete = complete && function;
  };
  take(library.get_unique_id, "ncclGetUniqueId");
  take(library.comm_init_rank, "ncclCommInitRank");
  take(library.comm_destroy, "ncclCommDestroy");
  take(library.group_start, "ncclGroupStart");
  take(library.group_end, "ncclGroupEnd");
  take(library.send, "ncclSend");
  take(library.recv, "ncclRecv");
  take(library.get_error_string, "ncclGetErrorString");
  if (!complete) {
    *reason = "libnccl.so.2 is too old";
    return nullptr;
  }
  opened = true;
  return &library;
}

} // namespace mcpi

#endif
