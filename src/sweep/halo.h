// Exchange of ghost values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace mcpi {

struct GhostPackets;

// Functions return 0 or an error code of the library that did the exchange. x is Backend::vector().
class Halo {
public:
  virtual ~Halo() = default;
  // Size of one block row of x, before an application. Collective where it grows.
  virtual int prepare(std::size_t entry_bytes) = 0;
  virtual int begin(int color, void *x) = 0; // rows of this color that others need
  virtual int end(int color, void *x) = 0;
  virtual int exchange_all(void *x) = 0; // every color at once
  // x is device memory, and exchanges are launched to a stream, where they can be recorded, from
  // start() to finish() for an application (lost: what stands for 32 bits that have not come).
  virtual bool on_device() const { return false; }
  virtual void use_stream(void * /*stream*/, std::uint32_t /*lost*/) {}
  virtual int start() { return 0; }
  virtual int finish() { return 0; }
  // An application has failed in the middle, on this rank: other ranks wait in it, so that later
  // ones would be out of step with them.
  virtual void abandon() noexcept { abandoned_ = true; }
  void require_usable() const
  {
    if (abandoned_)
      throw std::runtime_error(
          "an application has failed on this rank: PCReset() on all ranks begins anew");
  }
  // For exchanges inside the relaxations, see Backend::use_packets(); null: not with this exchange
  virtual const GhostPackets *packets() const { return nullptr; }
  // Nothing is exchanged, on any rank
  virtual bool idle() const { return false; }

private:
  bool abandoned_ = false;
};

// An application between its beginning and the end of its exchanges; whatever leaves earlier, an
// error or an exception, abandons it.
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

// One rank, or no neighbors anywhere
class NoHalo final : public Halo {
public:
  int prepare(std::size_t) override { return 0; }
  int begin(int, void *) override { return 0; }
  int end(int, void *) override { return 0; }
  int exchange_all(void *) override { return 0; }
  void abandon() noexcept override {} // nobody waits
  bool idle() const override { return true; }
};

} // namespace mcpi
