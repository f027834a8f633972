// Numbering of the exchanges of one application. The numbers are the epochs of ghost packets
// (cuda/ghost_packets.h), counted from the end of the application before. They are the same on all
// ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace mcpi {

struct PacketStep {
  std::uint32_t step; // number of the exchange, from 1
  std::uint32_t used; // the exchange that used the same packets last; 0: none in this application
};

class PacketSteps {
public:
  explicit PacketSteps(int colors) : used_(static_cast<std::size_t>(colors)) {}

  void start()
  {
    count_ = 0;
    std::fill(used_.begin(), used_.end(), 0U);
  }
  PacketStep of_color(int color)
  {
    const std::uint32_t used = std::exchange(used_[static_cast<std::size_t>(color)], ++count_);
    return {count_, used};
  }
  PacketStep of_all()
  {
    const std::uint32_t used = count_;
    std::fill(used_.begin(), used_.end(), ++count_);
    return {count_, used};
  }
  std::uint32_t count() const { return count_; }

private:
  std::vector<std::uint32_t> used_; // by color: the last exchange of its packets
  std::uint32_t count_ = 0;
};

} // namespace mcpi
