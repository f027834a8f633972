// Starts and ends Kokkos, releases what uses Kokkos before it ends, and makes the backend for
// Kokkos' default execution space.
#include "backend/kokkos/runtime.h"

#include <map>
#include <type_traits>
#include <utility>

#include "backend/kokkos/kokkos_backend.h"

namespace mcpi {
namespace kokkos {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

bool ours = false; // whether start() has started Kokkos

// What to release when Kokkos ends, by owner. A program may end Kokkos after the statics of this
// library, so the map is never destroyed.
std::map<const void *, std::function<void()>> &holders()
{
  static auto *all = new std::map<const void *, std::function<void()>>;
  return *all;
}

void release_all()
{
  for (const auto &holder : std::exchange(holders(), {})) holder.second();
}

} // namespace

std::string has_ended()
{
  return Kokkos::is_finalized()
             ? "Kokkos has been finalized in this process, and cannot start again"
             : "";
}

std::string start(bool chosen)
{
  if (std::string ended = has_ended(); !ended.empty()) return ended;
  if (Kokkos::is_initialized()) return {};
  try {
    if (on_device() && Kokkos::num_devices() == 0)
      return std::string("Kokkos finds no device for ") + space_name();
    Kokkos::InitializationSettings settings;
    settings.set_disable_warnings(true);
    // Device 0 is also the current device of a process that has not chosen one.
    if (const int device = SpaceTraits<Space>::current_device();
        device > 0 || (chosen && device == 0))
      settings.set_device_id(device);
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

void release_at_end(const void *owner, std::function<void()> release)
{
  static bool hooked = false; // Kokkos starts only once in a process.
  if (!hooked) Kokkos::push_finalize_hook(release_all);
  hooked = true;
  holders()[owner] = std::move(release);
}

void drop_release(const void *owner)
{
  holders().erase(owner);
}

bool on_device()
{
  return !reaches_host<Space>;
}

bool is_cuda()
{
  return SpaceTraits<Space>::cuda_memory;
}

const char *space_name()
{
  return Space::name();
}

} // namespace kokkos

std::unique_ptr<Backend> make_kokkos_backend(const ColorPlan &plan, const BackendConfig &config)
{
  return kokkos::make_backend<Kokkos::DefaultExecutionSpace>(plan, config);
}

} // namespace mcpi
