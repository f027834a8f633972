// Recorded runs: their launches are kept as CUDA graphs and replayed.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <list>

#include "cuda/memory.h"
#include "cuda/tuning_hopper.h"
#include "sweep/backend.h"

namespace mcpi::cuda {

// Lets the next launch on a stream that is being recorded start before the kernel before it has
// ended. The next kernel must wait for it itself. The call has an effect only if the next launch
// depends on exactly one kernel. It serves kernels that other libraries launch without the
// attribute for programmatic dependent launch. Before CUDA 13 it does nothing.
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
  // on_recorded does what record does, but launches to the stream `recorded`. The graph is recorded
  // there and launched on `stream`.
  int run(cudaStream_t stream, const RunKey &key, const std::function<int()> &record,
          cudaStream_t recorded, const std::function<int()> &on_recorded)
  {
    const auto found =
        std::find_if(runs_.begin(), runs_.end(), [&](const Run &one) { return one.key == key; });
    if (found == runs_.end()) {
      GraphExec graph = capture(recorded, on_recorded);
      if (!graph) return record(); // the next call tries again to make a graph
      if (runs_.size() == Tuning::kRecordedRuns) runs_.pop_back();
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

  // Records a run as a graph. The result is empty if other code has ended the capture. A
  // cudaDeviceSynchronize() in any thread does that in every capture mode. The mode is relaxed,
  // because our launches may cause other calls, such as those that load kernels.
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

  std::list<Run> runs_; // the most recently used first
};

} // namespace mcpi::cuda
