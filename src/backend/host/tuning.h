// What was measured for the host backend, in one table. Each row names the record on which it
// rests: a file of benchmarks/results, or a page of docs/notes. "Not recorded": no record was kept.
#pragma once

#include <cstddef>

#include "core/plan.h"

namespace mcpi {

struct HostTuning {
  // Prefetches of small blocks

  // Bytes by which blocks are prefetched. The hardware's prefetches stop at the end of each page.
  // 6,144 to 12,288 were alike (docs/notes/host.md, "Rows one after the other").
  static constexpr std::size_t kPrefetchAhead = 9216;
  // Bytes of x up to which x is not prefetched: caches bring it sooner than prefetches gain. How
  // many blocks ahead it is prefetched above (docs/notes/host.md; amd-epyc-host-large.json, of
  // commit e63a502, had 6 MB and five rows).
  static constexpr std::size_t kNearBytes = std::size_t(4) << 20;
  static constexpr Offset kBlocksAhead = 80;

  // Relaxation part by part

  // Numbers of a vector in a tile. A tile's sums fit the first-level cache, beside the blocks that
  // pass through it (not recorded).
  static constexpr int kTileValues = 2048;

  // Sums in registers (not recorded)

  // Independent sums of a row, which hide the latency of multiply-add: blocks of which a vector
  // holds whole columns, blocks of which a column takes several vectors, and blocks above
  // kMaxFlatBlock. By the vectors of a block, or of a strip of its rows.
  static constexpr int spread_chains(int vectors) { return vectors >= 4 ? 1 : vectors > 1 ? 2 : 4; }
  static constexpr int kBroadcastChains = 2;
  static constexpr int column_chains(int vectors) { return vectors == 1 ? 4 : 2; }
  static constexpr int kMaxStrip = 4; // vectors in a strip of rows of a block above kMaxFlatBlock
  // Right-hand sides at a time, with 16 registers and with the 32 of AVX-512
  static constexpr int kTogether = 2, kTogetherAVX3 = 4;

  // Other products (not recorded)

  static constexpr int kMaxOwnBlock = 64; // larger blocks are multiplied by BLAS
  // Blocks that are decoded for BLAS: rows of a tile, and numbers in a tile, which stays in the
  // first-level cache
  static constexpr int kDecodedRows = 256, kDecodedTile = 4096;
  // Blocks of one number: numbers that are decoded at a time, and rows whose sums stay in the
  // first-level cache
  static constexpr Offset kDecodedNumbers = 512;
  static constexpr Row kScalarRows = 64;

  // Set-up (not recorded)

  static constexpr int kMaxTiledBlock = 64; // larger blocks are premultiplied by BLAS
  // Blocks of many species have few entries. From this block size on they are looked for. They are
  // multiplied one by one if at most one in so many is not zero: about as fast as BLAS.
  static constexpr int kEntriesFrom = 33, kEntriesShare = 8;
  static constexpr std::size_t kNibblesTogether = 64; // numbers whose nibbles are packed at a time
};

} // namespace mcpi
