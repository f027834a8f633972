// What differs between execution spaces. Code that only one kind of device understands is in this
// file and nowhere else.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <functional>

#include "backend/kokkos/layout.h"
#include "sweep/backend.h"
#if defined(KOKKOS_ENABLE_CUDA)
#include "cuda/recorded_runs.h"
#endif

// Put before loops whose indices must be constants, so that arrays of a device's thread stay in
// registers. A host's arrays are in memory anyway.
#if defined(__CUDACC__) || defined(__clang__)
#define MCPI_UNROLL _Pragma("unroll")
#else
#define MCPI_UNROLL
#endif

namespace mcpi::kokkos {

struct alignas(16) Words4 {
  std::uint32_t v[4];
};
struct alignas(8) Words2 {
  std::uint32_t v[2];
};

// How relaxation with slices is launched. A team has `threads` threads, each thread takes `each`
// slices, and a processor of the device holds `resident` teams at once. On a host, a team is one
// thread, which takes all slices of a team.
struct SliceLaunch {
  int threads, each, resident;
  // A thread sums all components of a row. This takes fewer instructions, and is done where it
  // leaves enough loads in flight.
  bool by_row;

  constexpr int capacity() const { return threads * each; }
};
// The launch by storage precision, vector precision and block size. Measured on an H200. Kernels of
// the CUDA backend keep as many bytes in flight, but need fewer registers.
constexpr SliceLaunch slice_launch(PCMCPIPrecision storage, bool double_vectors, int bs)
{
  const int bytes = device::slice_shape(storage, bs).bytes;
  const bool by_row = !double_vectors && (storage != PC_MCPI_PRECISION_FP32 || bs <= 3);
  const int few = bytes > 60 ? 1 : bytes > 32 ? 2 : 3;
  const int each = by_row ? (bytes <= 16 ? 4 : few) : bytes <= 12 ? 3 : bytes > 72 ? 1 : 2;
  const int row = bytes > 104 ? 6 : bytes > 60 ? 14 - bs : bytes > 32 ? 15 - bs : bs > 5 ? 10 : 12;
  const int resident = double_vectors ? 1
                       : by_row       ? row
                       : bytes > 104  ? 6
                       : bytes > 72   ? 9
                       : bytes > 60   ? 6
                       : bytes > 32   ? 9
                                      : 8;
  return {bytes > 60 || !by_row ? 128 : 96, each, resident, by_row};
}

// CPUs: SIMD over the rows of a tile for small blocks, and over components of a row for larger
// blocks.
template <class T> constexpr int kLanes = static_cast<int>(64 / sizeof(T));
struct CpuStyle {
  static constexpr LayoutKind small = LayoutKind::sell;
  // threads for a row of large blocks; components that each of them sums at a time
  static constexpr int large_team = 1, large_run = 16;
  static constexpr int setup_team = 1;
};
// Devices: a thread for each slice, whose pieces lie side by side for neighboring threads. Host
// spaces can use this style, too. It is slow there, but tests all of it.
struct DeviceStyle {
  static constexpr LayoutKind small = LayoutKind::slices;
  static constexpr int large_team = 128, large_run = 1;
  static constexpr int setup_team = 32;
};

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
  using Style = CpuStyle;
  using Runs = DirectRuns;
  static constexpr bool teams = false; // whether teams have more than one thread
  static constexpr bool cuda_memory = false;

  static Space instance() { return Space(); }
  // an instance on the user's stream, if the space has streams
  static Space on(void *, const Space &own) { return own; }
  static int processors(const Space &) { return 1; } // multiprocessors or compute units
  static int current_device() { return -1; }
  template <class Word> static KOKKOS_INLINE_FUNCTION Word load_once(const Word *from)
  {
    return *from;
  }
};

// What devices have in common.
template <class Space> struct DeviceTraits : InOrder {
  using Style = DeviceStyle;
  using Runs = DirectRuns;
  static constexpr bool teams = true;
  static constexpr bool cuda_memory = false;

  static Space instance() { return Kokkos::Experimental::partition_space(Space(), 1)[0]; }
  static int processors(const Space &space)
  {
    return space.concurrency() / 1024 > 0 ? space.concurrency() / 1024 : 1;
  }
  static int current_device() { return -1; } // -1: Kokkos chooses a device
  template <class Word> static KOKKOS_INLINE_FUNCTION Word load_once(const Word *from)
  {
    return *from;
  }
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
  // Loads of blocks, which are read once. They do not allocate lines in the first-level cache, so
  // they do not evict x.
  static KOKKOS_INLINE_FUNCTION Words4 load_once(const Words4 *from)
  {
    Words4 w;
    KOKKOS_IF_ON_DEVICE((asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(w.v[0]), "=r"(w.v[1]), "=r"(w.v[2]), "=r"(w.v[3])
                             : "l"(from));))
    KOKKOS_IF_ON_HOST((w = *from;))
    return w;
  }
  static KOKKOS_INLINE_FUNCTION Words2 load_once(const Words2 *from)
  {
    Words2 w;
    KOKKOS_IF_ON_DEVICE((asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                             : "=r"(w.v[0]), "=r"(w.v[1])
                             : "l"(from));))
    KOKKOS_IF_ON_HOST((w = *from;))
    return w;
  }
  static KOKKOS_INLINE_FUNCTION std::uint32_t load_once(const std::uint32_t *from)
  {
    std::uint32_t w;
    KOKKOS_IF_ON_DEVICE((asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(w) : "l"(from));))
    KOKKOS_IF_ON_HOST((w = *from;))
    return w;
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

} // namespace mcpi::kokkos
