// What differs between execution spaces, and arrays in their memory. Code that only one kind of
// device understands is in this file and nowhere else, except for src/backend/device.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/kokkos/tuning.h"
#include "sweep/backend.h"
#if defined(KOKKOS_ENABLE_CUDA)
#include "cuda/recorded_runs.h"
#endif

namespace mcpi::kokkos {

// Backend::replay() without recording: everything is launched anew each time.
struct DirectRuns {
  template <class Space> int run(Space &, const RunKey &, const std::function<int()> &record)
  {
    return record();
  }
  void clear() {}
};

// Launches in order. Execution spaces that can let a kernel begin before the previous launch has
// ended override these functions. In a kernel, all code that does not depend on the previous launch
// stands before await_launched().
struct InOrder {
  // the next launch may begin early
  template <class Space> static void launch_early(const Space &) {}
  static KOKKOS_FORCEINLINE_FUNCTION void let_next_begin() {} // the next kernel may begin
  static KOKKOS_FORCEINLINE_FUNCTION void await_launched() {} // wait for the previous launch
};

// Execution spaces on the host.
template <class Space> struct SpaceTraits : InOrder {
  using Runs = DirectRuns;
  static constexpr bool teams = false; // whether teams have more than one thread
  static constexpr bool cuda_memory = false;

  static Space instance() { return Space(); }
  // an instance on the user's stream, if the space has streams
  static Space on(void *, const Space &own) { return own; }
  static int processors(const Space &) { return 1; } // multiprocessors or compute units
  static int current_device() { return -1; }
};

// What devices have in common.
template <class Space> struct DeviceTraits : InOrder {
  using Runs = DirectRuns;
  static constexpr bool teams = true;
  static constexpr bool cuda_memory = false;

  static Space instance() { return Kokkos::Experimental::partition_space(Space(), 1)[0]; }
  static int processors(const Space &space)
  {
    return space.concurrency() / 1024 > 0 ? space.concurrency() / 1024 : 1;
  }
  static int current_device() { return -1; } // -1: Kokkos chooses a device
};

template <class Space> constexpr int team_size(int wanted)
{
  return SpaceTraits<Space>::teams ? wanted : 1;
}

#if defined(KOKKOS_ENABLE_CUDA)
// Records an application as one CUDA graph, on a stream of its own. While a stream that waits for
// the legacy stream is recorded, nobody may use the legacy stream.
class CudaRuns {
public:
  int run(Kokkos::Cuda &space, const RunKey &key, const std::function<int()> &record)
  {
    return runs_.run(space.cuda_stream(), key, record, stream_, [&] {
      const Swapped swapped(space, recorded_);
      return record();
    });
  }
  void clear() { runs_.clear(); }

private:
  struct Swapped {
    Kokkos::Cuda &space;
    const Kokkos::Cuda before;

    Swapped(Kokkos::Cuda &of, const Kokkos::Cuda &now) : space(of), before(of) { space = now; }
    Swapped(const Swapped &) = delete;
    Swapped &operator=(const Swapped &) = delete;
    ~Swapped() { space = before; }
  };

  cuda::Stream stream_;
  Kokkos::Cuda recorded_{stream_};
  cuda::RecordedRuns runs_;
};

template <> struct SpaceTraits<Kokkos::Cuda> : DeviceTraits<Kokkos::Cuda> {
  using Runs = CudaRuns;
  static constexpr bool cuda_memory = true;
#if defined(__CUDA_ARCH_LIST__)
  // griddepcontrol needs compute capability 9.0. The oldest architecture comes first in the list.
  static constexpr int kArchitectures[] = {__CUDA_ARCH_LIST__};
  static constexpr bool kEarly = kArchitectures[0] >= 900;
#else
  static constexpr bool kEarly = false;
#endif

  // Programmatic dependent launch. Kokkos launches without it, so the edge of the graph is changed
  // before the next kernel uses it.
  static void launch_early(const Kokkos::Cuda &space)
  {
    if (kEarly) cuda::make_edge_programmatic(space.cuda_stream());
  }
  static KOKKOS_FORCEINLINE_FUNCTION void let_next_begin()
  {
    if constexpr (kEarly) KOKKOS_IF_ON_DEVICE((asm volatile("griddepcontrol.launch_dependents;");))
  }
  static KOKKOS_FORCEINLINE_FUNCTION void await_launched()
  {
    if constexpr (kEarly) KOKKOS_IF_ON_DEVICE((asm volatile("griddepcontrol.wait;" ::: "memory");))
  }
  // The backend's own stream waits for the legacy stream, and the legacy stream for it. If the user
  // works on another stream, the backend works on that one.
  static Kokkos::Cuda on(void *stream, const Kokkos::Cuda &own)
  {
    return stream ? Kokkos::Cuda(static_cast<cudaStream_t>(stream)) : own;
  }
  static int processors(const Kokkos::Cuda &space)
  {
    return space.cuda_device_prop().multiProcessorCount;
  }
  static int current_device()
  {
    int device = -1;
    return cudaGetDevice(&device) == cudaSuccess ? device : -1;
  }
};
#endif
#if defined(KOKKOS_ENABLE_HIP)
template <> struct SpaceTraits<Kokkos::HIP> : DeviceTraits<Kokkos::HIP> {
  static Kokkos::HIP on(void *stream, const Kokkos::HIP &own)
  {
    return stream ? Kokkos::HIP(static_cast<hipStream_t>(stream)) : own;
  }
  static int processors(const Kokkos::HIP &space)
  {
    return space.hip_device_prop().multiProcessorCount;
  }
  static int current_device()
  {
    int device = -1;
    return hipGetDevice(&device) == hipSuccess ? device : -1;
  }
};
#endif
#if defined(KOKKOS_ENABLE_SYCL)
template <> struct SpaceTraits<Kokkos::SYCL> : DeviceTraits<Kokkos::SYCL> {
  static Kokkos::SYCL on(void *stream, const Kokkos::SYCL &own)
  {
    return stream ? Kokkos::SYCL(*static_cast<sycl::queue *>(stream)) : own;
  }
};
#endif

// Arrays in the memory of an execution space, and copies between them and host memory on an
// instance of that space

template <class Space>
constexpr bool reaches_host = Kokkos::SpaceAccessibility<Space, Kokkos::HostSpace>::accessible;

// Fills an array by a kernel that holds a pointer, as all kernels of this backend do. In the first
// run on an H200 (Kokkos 4.7.00, CUDA 13), Kokkos' own kernel failed, which holds a View.
template <class Space, class T> void fill(const Space &space, T *data, std::size_t count, T value)
{
  Kokkos::parallel_for(
      "mcpi fill", Kokkos::RangePolicy<Space>(space, 0, count),
      KOKKOS_LAMBDA(const std::size_t k) { data[k] = value; });
}

template <class Space, class T> class Array {
public:
  using View = Kokkos::View<T *, typename Space::memory_space>;

  Array() = default;
  Array(const Space &space, const std::vector<T> &from) { upload(space, from); }

  // Drops the contents and allocates an array of zeros.
  void resize(const Space &space, std::size_t count)
  {
    view_ = View(); // The old array is freed first, to make room.
    view_ = View(Kokkos::view_alloc(space, "mcpi"), count);
  }
  void upload(const Space &space, const std::vector<T> &from)
  {
    resize(space, from.size());
    copy_in(space, from.data(), from.size());
  }
  void copy_in(const Space &space, const T *from, std::size_t count, std::size_t at = 0)
  {
    if (count == 0) return;
    Kokkos::deep_copy(space, Kokkos::subview(view_, std::pair(at, at + count)), host(from, count));
    space.fence("mcpi upload"); // The caller may now free the host's array.
  }
  void copy_out(const Space &space, T *to, std::size_t count, std::size_t at = 0) const
  {
    if (count == 0) return;
    Kokkos::deep_copy(space, host(to, count), Kokkos::subview(view_, std::pair(at, at + count)));
    space.fence("mcpi download");
  }
  void fill(const Space &space, T value) { kokkos::fill(space, view_.data(), size(), value); }

  T *data() const { return view_.data(); }
  std::size_t size() const { return view_.extent(0); }
  std::size_t bytes() const { return size() * sizeof(T); }

private:
  template <class U> static auto host(U *data, std::size_t count)
  {
    return Kokkos::View<U *, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(data,
                                                                                         count);
  }
  View view_;
};

} // namespace mcpi::kokkos
