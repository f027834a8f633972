// Owners of CUDA resources: memory, streams, events and graphs. Errors are exceptions. src/pc and
// src/petsc turn them into PETSc errors.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"

namespace mcpi::cuda {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check(cudaError_t error, const char *what)
{
  if (error == cudaSuccess) return;
  (void)cudaGetLastError(); // clear the error, so that other code does not see it
  const std::string text = std::string("CUDA: ") + what + ": " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation)
    throw OutOfMemory(
        text + ". Use a smaller -pc_mcpi_offdiag_precision, more GPUs, or -pc_mcpi_backend host");
  if (error == cudaErrorNoKernelImageForDevice)
    throw Error(text + ". Build petsc-mcpi with -DCMAKE_CUDA_ARCHITECTURES for this GPU, 90 or "
                       "newer, or use -pc_mcpi_backend host");
  throw Error(text);
}
#define MCPI_CUDA(call) ::mcpi::cuda::check(call, #call)

// An attribute of the device in use
inline int device_attribute(cudaDeviceAttr attribute)
{
  int device = 0, value = 0;
  MCPI_CUDA(cudaGetDevice(&device));
  MCPI_CUDA(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

// Bytes of dynamic shared memory that a thread block of this kernel may have on the device in use
inline int most_shared(const void *function)
{
  cudaFuncAttributes now{};
  MCPI_CUDA(cudaFuncGetAttributes(&now, function));
  return device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) -
         static_cast<int>(now.sharedSizeBytes);
}

// Lets a kernel use this many bytes of dynamic shared memory. The limit belongs to the function,
// which several backends may use. So the limit is never lowered.
inline void allow_shared(const void *function, int bytes)
{
  cudaFuncAttributes now{};
  MCPI_CUDA(cudaFuncGetAttributes(&now, function));
  if (now.maxDynamicSharedSizeBytes < bytes)
    MCPI_CUDA(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

template <class T> class DeviceArray {
public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) { resize(size); }
  explicit DeviceArray(const std::vector<T> &from) { upload(from); }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;
  ~DeviceArray() { (void)cudaFree(data_); }

  // Makes room for at least size elements. The array never shrinks. If it grows, its contents are
  // lost.
  void resize(std::size_t size)
  {
    if (size <= size_) return;
    MCPI_CUDA(cudaFree(std::exchange(data_, nullptr)));
    size_ = 0;
    MCPI_CUDA(cudaMalloc(reinterpret_cast<void **>(&data_), size * sizeof(T)));
    size_ = size;
  }
  void upload(const T *from, std::size_t size)
  {
    resize(size);
    if (size == 0) return;
    MCPI_CUDA(cudaMemcpy(data_, from, size * sizeof(T), cudaMemcpyHostToDevice));
    // The copy may return before it is complete, and other streams do not wait for it.
    MCPI_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
  }
  void upload(const std::vector<T> &from) { upload(from.data(), from.size()); }
  T *data() { return data_; }
  const T *data() const { return data_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

// Page-locked host memory. It grows as DeviceArray does.
class PinnedBytes {
public:
  PinnedBytes() = default;
  PinnedBytes(const PinnedBytes &) = delete;
  PinnedBytes &operator=(const PinnedBytes &) = delete;
  ~PinnedBytes() { (void)cudaFreeHost(data_); }

  void resize(std::size_t size)
  {
    if (size <= size_) return;
    MCPI_CUDA(cudaFreeHost(std::exchange(data_, nullptr)));
    size_ = 0;
    MCPI_CUDA(cudaMallocHost(&data_, size));
    size_ = size;
  }
  std::byte *data() { return static_cast<std::byte *>(data_); }

private:
  void *data_ = nullptr;
  std::size_t size_ = 0;
};

class Stream {
public:
  enum Priority { normal, urgent };

  explicit Stream(Priority priority = normal)
  {
    int least = 0, greatest = 0;
    MCPI_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    MCPI_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                           priority == urgent ? greatest : least));
  }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

private:
  cudaStream_t stream_ = nullptr;
};

class Event {
public:
  Event() { MCPI_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  Event(Event &&other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event &operator=(Event &&other) noexcept
  {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event()
  {
    if (event_) (void)cudaEventDestroy(event_);
  }
  operator cudaEvent_t() const { return event_; }

private:
  cudaEvent_t event_ = nullptr;
};

class Graph {
public:
  Graph() = default;
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;
  ~Graph()
  {
    if (graph_) (void)cudaGraphDestroy(graph_);
  }
  cudaGraph_t *out() { return &graph_; }
  operator cudaGraph_t() const { return graph_; }

private:
  cudaGraph_t graph_ = nullptr;
};

class GraphExec {
public:
  GraphExec() = default;
  GraphExec(GraphExec &&other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  GraphExec &operator=(GraphExec &&other) noexcept
  {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~GraphExec()
  {
    if (graph_) (void)cudaGraphExecDestroy(graph_);
  }
  void instantiate(cudaGraph_t graph) { MCPI_CUDA(cudaGraphInstantiate(&graph_, graph, 0)); }
  operator cudaGraphExec_t() const { return graph_; }

private:
  cudaGraphExec_t graph_ = nullptr;
};

} // namespace mcpi::cuda
