// Applications whose launches are kept as graphs.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <list>

#include "backend/backend.h"
#include "backend/cuda/memory.h"

namespace mcpi::cuda {

class RecordedRuns {
public:
  explicit RecordedRuns(cudaStream_t stream) : stream_(stream) {}

  void clear() { runs_.clear(); }

  // See Backend::replay().
  int run(const RunKey &key, const std::function<int()> &record)
  {
    const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const Run &one) { return one.key == key; });
    if (found == runs_.end()) {
      GraphExec graph = capture(record);
      if (!graph) return record(); // and try to record it again the next time
      if (runs_.size() == kMost) runs_.pop_back();
      runs_.push_front({key, std::move(graph)});
    } else {
      runs_.splice(runs_.begin(), runs_, found);
    }
    MCPI_CUDA(cudaGraphLaunch(runs_.front().graph, stream_));
    return 0;
  }

private:
  struct Run {
    RunKey    key;
    GraphExec graph;
  };
  static constexpr std::size_t kMost = 8;

  // Nothing where somebody else has ended the capture: a cudaDeviceSynchronize() in any thread does, whatever the mode. The relaxed one lets what
  // our launches bring about, such as loading their kernels, do what it needs.
  GraphExec capture(const std::function<int()> &record)
  {
    std::exception_ptr      problem;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    Graph                   graph;
    GraphExec               result;
    MCPI_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    try {
      if (record() != 0) throw Error("an exchange inside a captured application");
      MCPI_CUDA(cudaStreamIsCapturing(stream_, &status));
    } catch (...) {
      problem = std::current_exception();
      (void)cudaStreamIsCapturing(stream_, &status);
    }
    const cudaError_t ended = cudaStreamEndCapture(stream_, graph.out());
    if (status == cudaStreamCaptureStatusInvalidated || ended == cudaErrorStreamCaptureInvalidated) {
      (void)cudaGetLastError();
      return result;
    }
    if (problem) std::rethrow_exception(problem);
    check(ended, "cudaStreamEndCapture");
    result.instantiate(graph);
    return result;
  }

  cudaStream_t   stream_;
  std::list<Run> runs_; // the latest first
};

} // namespace mcpi::cuda
