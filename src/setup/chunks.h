// Chunks of rows for a CPU. A pass that goes from chunk to chunk, through all colors of each, finds
// what it reads of x in the caches.
#pragma once

#include "setup/coloring.h"

namespace mcpi {

// A forward pass takes chunk after chunk, and in each chunk color after color. A backward pass goes
// in the opposite order. Either relaxes a row after its neighbors of earlier colors and before
// those of later colors, as a pass from color to color does.
struct Chunks {
  int count = 1;
  // Chunk 0 holds the boundary rows, and the rows that have to be relaxed before them. Chunks
  // [1, near_begin) are not coupled with chunk 0, and may be relaxed at the same time.
  int near_begin = 1;
  std::vector<int> of_row; // by local row
};

// The number of block rows of a chunk for a rank with so many rows. 0: without chunks, because all
// of x stays in the caches
Row decided_chunk_rows(const BlockGraph &graph, int colors);

// Not collective. order: all rows, in their order. A chunk takes about `least` rows that follow
// each other in the order. Some of them wait for a later chunk. The rows of a cluster are in one
// chunk.
Chunks make_chunks(const BlockGraph &graph, const Coloring &coloring,
                   const std::vector<char> &boundary, const std::vector<Row> &order, Row least);

} // namespace mcpi
