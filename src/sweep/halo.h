// The interface of a halo, which exchanges ghosts between ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace mcpi {

struct GhostPackets;

// Functions that return int return 0 or an error code of the library that does the exchange. x is
// Backend::vector().
class Halo {
public:
  virtual ~Halo() = default;
  // Sets the size of a block row of x, before an application. The call is collective if the size is
  // larger than before.
  virtual int prepare(std::size_t entry_bytes) = 0;
  // Begins and ends the exchange of one color: its boundary rows are sent, its ghosts received.
  virtual int begin(int color, void *x) = 0;
  virtual int end(int color, void *x) = 0;
  virtual int exchange_all(void *x) = 0; // all colors at once
  // Whether exchanges are launched to a stream, where they can be recorded. x is then in device
  // memory, and a run calls start() before and finish() after its exchanges. lost: a pattern of 32
  // bits that replaces values that have not arrived.
  virtual bool on_device() const { return false; }
  virtual void use_stream(void * /*stream*/, std::uint32_t /*lost*/) {}
  virtual int start() { return 0; }
  virtual int finish() { return 0; }
  // Marks the halo as unusable after an application has failed on this rank before its end. Other
  // ranks still wait in that application. So exchanges of later applications would not match
  // theirs.
  virtual void abandon() noexcept { abandoned_ = true; }
  void require_usable() const
  {
    if (abandoned_)
      throw std::runtime_error(
          "an application has failed on this rank: PCReset() on all ranks begins anew");
  }
  // For exchanges inside the relaxations, see Backend::use_packets(). null: this halo has none.
  virtual const GhostPackets *packets() const { return nullptr; }
  // Whether no rank exchanges anything
  virtual bool idle() const { return false; }

private:
  bool abandoned_ = false;
};

// Guards an application from its beginning to the end of its exchanges. If the guard is destroyed
// before end(), because of an error or an exception, it abandons the halo.
class ApplyGuard {
public:
  explicit ApplyGuard(Halo &halo) : halo_(halo) { halo.require_usable(); }
  ApplyGuard(const ApplyGuard &) = delete;
  ApplyGuard &operator=(const ApplyGuard &) = delete;
  ~ApplyGuard()
  {
    if (!ended_) halo_.abandon();
  }
  void end() { ended_ = true; }

private:
  Halo &halo_;
  bool ended_ = false;
};

// The halo for one rank, or for ranks without neighbors
class NoHalo final : public Halo {
public:
  int prepare(std::size_t) override { return 0; }
  int begin(int, void *) override { return 0; }
  int end(int, void *) override { return 0; }
  int exchange_all(void *) override { return 0; }
  void abandon() noexcept override {} // no other rank waits
  bool idle() const override { return true; }
};

} // namespace mcpi
