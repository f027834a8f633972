// What a backend offers besides Backend if exchanges can run on its device, without the host.
#pragma once

#include <cstdint>

#include "sweep/backend.h"

namespace mcpi {

struct GhostPackets;

// The epochs that a relaxation with an exchange inside reads and sends. Epochs are counted from the
// last epoch of the application before.
struct GhostEpochs {
  int color = 0;
  unsigned sends = 0;            // epoch of the rows that are sent; 0: no row is sent
  unsigned lower = 0, upper = 0; // epochs of the ghosts that products of a triangle read
  unsigned turn = 0;             // epoch of the ghosts [turn_begin, turn_end) instead
  Row turn_begin = 0, turn_end = 0;
};

class DeviceExchange {
public:
  virtual ~DeviceExchange() = default;

  // Tells the backend whether exchanges will be launched to a stream, and discards recorded runs.
  // If they will, the result is the stream for them, and Backend::vector() is then in device
  // memory.
  virtual void *launch_exchanges(bool launched) = 0;
  // A pattern of 32 bits for missing parts of Backend::vector(). Results that use it are not
  // finite.
  virtual std::uint32_t not_a_number() const = 0;
  // Called before the first and after the last exchange of a run
  virtual void start_exchanges() = 0;
  virtual void finish_exchanges() = 0;

  // Exchanges inside the relaxation of a color. Boundary rows come first. A relaxation waits for a
  // ghost of some epoch (sweep/epochs.h) where it reads the ghost. It sends a row as soon as it has
  // computed the row.
  //
  // use_packets() sets the memory to send to, or null for no such exchanges. It returns whether
  // this rank can do them.
  virtual bool use_packets(const GhostPackets *packets) = 0;
  virtual bool exchanges_inside(const ApplyArgs &apply) const = 0;
  // Begins a run. A guess is sent unless the run starts from zero.
  virtual void start_inside(const ApplyArgs &apply, bool from_zero) = 0;
  virtual void relax_inside(const ApplyArgs &apply, const RelaxStep &step,
                            const GhostEpochs &epochs) = 0;
  // Ends a run, which has used this number of epochs.
  virtual void finish_inside(const ApplyArgs &apply, unsigned epochs) = 0;
};

} // namespace mcpi
