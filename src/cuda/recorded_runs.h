// Applications whose launches are kept as graphs.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <list>

#include "cuda/memory.h"
#include "sweep/backend.h"

namespace mcpi::cuda {

// What a stream that is recorded launches next may begin before the kernel before it has ended, if
// there is just that: it waits by itself. For kernels that somebody else launches, without the
// attribute that says so. Before CUDA 13: does nothing.
inline void make_edge_programmatic(cudaStream_t stream)
{
#if CUDART_VERSION >= 13000
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t *nodes = nullptr;
  const cudaGraphEdgeData *edges = nullptr;
  std::size_t count = 0;
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  MCPI_CUDA(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, &edges, &count));
  if (status != cudaStreamCaptureStatusActive || count != 1) return;
  cudaGraphNode_t node = nodes[0];
  MCPI_CUDA(cudaGraphNodeGetType(node, &type));
  if (type != cudaGraphNodeTypeKernel) return;
  cudaGraphEdgeData edge{};
  edge.from_port = cudaGraphKernelNodePortProgrammatic;
  edge.type = cudaGraphDependencyTypeProgrammatic;
  MCPI_CUDA(cudaStreamUpdateCaptureDependencies(stream, &node, &edge, 1,
                                                cudaStreamSetCaptureDependencies));
#else
  (void)stream;
#endif
}

class RecordedRuns {
public:
  void clear() { runs_.clear(); }

  // See Backend::replay().
  int run(cudaStream_t stream, const RunKey &key, const std::function<int()> &record)
  {
    return run(stream, key, record, stream, record);
  }
  // on_recorded: record, but with launches to the stream `recorded`
  int run(cudaStream_t stream, const RunKey &key, const std::function<int()> &record,
          cudaStream_t recorded, const std::function<int()> &on_recorded)
  {
    const auto found =
        std::find_if(runs_.begin(), runs_.end(), [&](const Run &one) { return one.key == key; });
    if (found == runs_.end()) {
      GraphExec graph = capture(recorded, on_recorded);
      if (!graph) return record(); // and try to record it again the next time
      if (runs_.size() == kMax) runs_.pop_back();
      runs_.push_front({key, std::move(graph)});
    } else {
      runs_.splice(runs_.begin(), runs_, found);
    }
    MCPI_CUDA(cudaGraphLaunch(runs_.front().graph, stream));
    return 0;
  }

private:
  struct Run {
    RunKey key;
    GraphExec graph;
  };
  static constexpr std::size_t kMax = 8;

  // Nothing where somebody else has ended the capture: a cudaDeviceSynchronize() in any thread
  // does, whatever the mode. The relaxed one lets what our launches bring about, such as loading
  // their kernels, do what it needs.
  static GraphExec capture(cudaStream_t stream, const std::function<int()> &record)
  {
    std::exception_ptr problem;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    Graph graph;
    GraphExec result;
    MCPI_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    try {
      if (record() != 0) throw Error("an exchange inside a captured application");
      MCPI_CUDA(cudaStreamIsCapturing(stream, &status));
    } catch (...) {
      problem = std::current_exception();
      (void)cudaStreamIsCapturing(stream, &status);
    }
    const cudaError_t ended = cudaStreamEndCapture(stream, graph.out());
    if (status == cudaStreamCaptureStatusInvalidated ||
        ended == cudaErrorStreamCaptureInvalidated) {
      (void)cudaGetLastError();
      return result;
    }
    if (problem) std::rethrow_exception(problem);
    check(ended, "cudaStreamEndCapture");
    result.instantiate(graph);
    return result;
  }

  std::list<Run> runs_; // the latest first
};

} // namespace mcpi::cuda
