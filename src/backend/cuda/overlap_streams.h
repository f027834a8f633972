// Two streams for the relaxations of an application: one for boundary rows with their exchanges,
// which go ahead, and one for interior rows beside them. Interior rows read no ghosts, so they wait
// for the boundary rows of the color before, but not for their exchange; boundary rows wait for the
// interior rows of the color before, and, in their own stream, for the exchange.
#pragma once

#include <utility>

#include "cuda/memory.h"

namespace mcpi::cuda {

class OverlapStreams {
public:
  explicit OverlapStreams(cudaStream_t main) : main_(main) {}

  cudaStream_t ahead() const { return ahead_; }

  // Boundary rows of a color wait for the interior rows before; interior rows for the boundary rows
  // before, not for those of their own color, which are launched first.
  void order(bool ahead)
  {
    Mark &other = ahead ? main_mark_ : older_;
    if (other.pending) MCPI_CUDA(cudaStreamWaitEvent(stream(ahead), other.event, 0));
    other.pending = false;
  }
  void mark(bool ahead)
  {
    if (ahead) std::swap(older_, newest_); // the newest, if waited for, covers the one before
    record(ahead ? newest_ : main_mark_, ahead);
  }
  void fork()
  {
    older_.pending = newest_.pending = false;
    record(main_mark_, false);
    order(true);
  }
  // The main stream waits for all that was launched ahead.
  void join()
  {
    record(older_, true);
    order(false);
  }

private:
  struct Mark {
    Event event;
    bool pending = false;
  };

  void record(Mark &mark, bool ahead)
  {
    MCPI_CUDA(cudaEventRecord(mark.event, stream(ahead)));
    mark.pending = true;
  }
  cudaStream_t stream(bool ahead) const { return ahead ? ahead_ : main_; }

  cudaStream_t main_;
  Stream ahead_{Stream::urgent};
  Mark main_mark_, older_, newest_;
};

} // namespace mcpi::cuda
