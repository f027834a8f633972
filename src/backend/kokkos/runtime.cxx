#include "backend/kokkos/runtime.h"

#include <type_traits>

#include "backend/kokkos/memory.h"
#include "backend/kokkos/spaces.h"

namespace mcpi::kokkos {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

bool ours = false; // Kokkos was started here

} // namespace

std::string has_ended()
{
  return Kokkos::is_finalized() ? "Kokkos has been finalized in this process, and cannot start again" : "";
}

std::string start()
{
  if (std::string ended = has_ended(); !ended.empty()) return ended;
  if (Kokkos::is_initialized()) return {};
  try {
    if (on_device() && Kokkos::num_devices() == 0) return std::string("Kokkos finds no device for ") + space_name();
    Kokkos::InitializationSettings settings;
    settings.set_disable_warnings(true);
    if (const int device = SpaceTraits<Space>::current_device(); device >= 0)
      settings.set_device_id(device); // that of the rest of the program
    Kokkos::initialize(settings);
  } catch (const std::exception &e) {
    return std::string("Kokkos does not start: ") + e.what();
  }
  ours = true;
  return {};
}

void finish()
{
  if (ours && Kokkos::is_initialized() && !Kokkos::is_finalized()) Kokkos::finalize();
  ours = false;
}

bool on_device()
{
  return !reaches_host<Space>;
}

bool is_cuda()
{
  return SpaceTraits<Space>::cuda_memory;
}

bool auto_takes()
{
  return on_device() && !is_cuda();
}

const char *space_name()
{
  return Space::name();
}

} // namespace mcpi::kokkos
