// The interface of an exchange of blocks between ranks, which a factorization needs.
#pragma once

#include <cstddef>

namespace mcpi {

// Functions return 0 or an error code of the library that does the exchange.
class BlockExchange {
public:
  virtual ~BlockExchange() = default;
  virtual int prepare(std::size_t block_bytes) = 0;
  // Begins the exchange of one color: GhostRows::sent in their order, and the blocks of the color's
  // ghosts. Both arrays are in use until end().
  virtual int begin(int color, const void *sent, void *received) = 0;
  virtual int end() = 0;
};

} // namespace mcpi
