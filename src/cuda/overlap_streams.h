// Two streams for an application whose exchanges overlap with relaxations. One stream (ahead) takes
// boundary rows and their exchanges, the main stream takes interior rows. Interior rows read no
// ghosts. They wait for the boundary rows of the previous color, but not for the exchange of these
// rows. Boundary rows wait for the interior rows of the previous color, and, because they share a
// stream with it, for the exchange.
#pragma once

#include <utility>

#include "cuda/memory.h"

namespace mcpi::cuda {

class OverlapStreams {
public:
  // main: the stream of the backend
  explicit OverlapStreams(cudaStream_t main) : main_(main) {}

  cudaStream_t ahead() const { return ahead_; }

  // Makes the next launch to one stream wait for the other stream. Boundary rows wait for the
  // previous interior rows. Interior rows wait for the boundary rows of the previous color, but not
  // for those of their own color, which are launched before them.
  void order(bool ahead)
  {
    Mark &other = ahead ? main_mark_ : older_;
    if (other.pending) MCPI_CUDA(cudaStreamWaitEvent(stream(ahead), other.event, 0));
    other.pending = false;
  }
  // Marks what was just launched to one stream, so that order() can wait for it.
  void mark(bool ahead)
  {
    if (ahead) std::swap(older_, newest_); // a wait for the newest mark covers the older one, too
    record(ahead ? newest_ : main_mark_, ahead);
  }
  // At the start of an application: the stream ahead waits for the main stream.
  void fork()
  {
    older_.pending = newest_.pending = false;
    record(main_mark_, false);
    order(true);
  }
  // Makes the main stream wait for all that was launched to the stream ahead.
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
  Mark main_mark_, older_, newest_; // older_, newest_: marks of the stream ahead
};

} // namespace mcpi::cuda
