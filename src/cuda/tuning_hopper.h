// What was measured on Hopper GPUs (H100, H200). Another architecture gets a table of its own, with
// the same members, and Tuning at the end of this file names the one in use.
//
// Each row names the record on which it rests: a file of benchmarks/results, or a name in its file
// nvidia-h200-tuning.json. "Not recorded": chosen by measurements of which no record was kept.
#pragma once

#include <algorithm>
#include <cstddef>

#include "petscmcpitypes.h"

namespace mcpi::cuda {

// The launch of relaxations of small blocks
struct SmallTuning {
  int threads;    // of a thread block
  int per_thread; // slices that a thread takes at a time
  int boundary;   // the same for tiles of boundary rows
  int resident;   // thread blocks that a multiprocessor holds
};

// The launches of relax_ordered, and of relax_ordered_rows for parts of many rows
struct OrderedTuning {
  int threads;  // of a thread block of relax_ordered
  int resident; // of its thread blocks, those that a multiprocessor holds
  // The same of relax_ordered_rows, and slices that a thread takes
  int threads_many = 0, resident_many = 0, per_thread_many = 0;
  int many_rows = 0; // mean rows of a part from which it is used; 0: it is not
  // Mean rows of a color, and of a part of clusters, up to which one launch is faster than a launch
  // for each
  int largest_color, largest_cluster_part;
};

// The launch of relax_streamed
struct StreamTuning {
  int team;    // threads of a team
  int chunk;   // blocks of a stage
  int stages;  // stages of a row
  int segment; // blocks whose entries of x are gathered at a time
};

struct HopperTuning {
  // Relaxation of small blocks

  // A thread takes only one slice at a time if the slice has at least this many bytes
  // (ms_per_sweep).
  static constexpr int kWideSlice = 64;
  // Whether a thread sums a row, not one component of it: that takes fewer instructions. It does
  // not where too few loads would be in flight (ms_per_sweep), or where most threads would be idle
  // because a tile has few rows (wide_blocks_by_component).
  static constexpr bool sums_rows(bool fp32, bool rounded, int bytes, int bs)
  {
    return (rounded || !fp32 || bs <= 3) && (bytes < kWideSlice || bs <= 5);
  }
  // By the bytes of a slice: most bytes in flight without spilled registers (ms_per_sweep,
  // small_blocks_bs5, int4_gathers for bs 5; nvidia-h200-sweep-block-sizes.json for other sizes).
  // A multiprocessor that holds more thread blocks would leave a thread too few registers for a
  // slice and its products.
  static constexpr SmallTuning small(int bytes, int bs, bool by_row, bool integers)
  {
    const int few = bytes >= kWideSlice ? 1 : bytes > 32 ? 2 : 3;
    const int per_thread = by_row ? (bytes <= 16 ? (integers || bs < 5 ? 5 : 4) : few)
                                  : (bytes <= 12 ? 3 : std::min(few, 2));
    const int by_rows = bytes > 104 ? 6 : bytes > 32 ? std::min(15 - bs, 10) : bs > 5 ? 10 : 12;
    const int by_components = bytes > 104 ? 6 : bytes >= kWideSlice ? 10 : bytes > 32 ? 9 : 8;
    return {bytes >= kWideSlice || !by_row ? 128 : 96, per_thread,
            std::min(per_thread, 3), // exchange_inside_us_per_color
            by_row ? by_rows : by_components};
  }
  // Whether a kernel that never gets kept sums has the code for them. With it the compiler orders
  // other loads differently, and forward sweeps take 2% less time (docs/notes/gpu-schedules.md).
  static constexpr bool loads_kept_in_vain(bool half, bool rounded) { return half && !rounded; }
  static constexpr int kPartialsAtOnce = 4; // partial products loaded together: not recorded
  // A color is cut into at least this many tiles for each multiprocessor (tiles_19683_rows).
  static constexpr int kTilesEach = 3;
  // TileLimits::light_slice and light_color (light_colors, nvidia-h200-few-rows.json): a color with
  // several colors waiting behind it takes up to 60% longer; a color that loads too late takes 15%
  // longer.
  static constexpr std::size_t kLightSlice = 40, kLightColor = 20 << 10;
  static constexpr unsigned kRowsThreads = 128;  // rows without slices: application_int4_tet
  static constexpr unsigned kRoundThreads = 256; // the bfp16 copy of x: not recorded

  // Relaxation of several parts by one launch. Few rows: nvidia-h200-sweep-ordered.json. Many rows,
  // and the limits of rows: no record, see docs/notes/gpu-schedules.md.

  // Parts of few rows take as long as a row does. Parts of many rows take longer the more
  // instructions a row has. relax_ordered_rows has two thirds of them. Measured for block size 5.
  // For smaller blocks than 4, a tile of it has too few slices; for larger blocks, too few rows.
  static constexpr OrderedTuning ordered(int bytes, int bs, bool double_vectors, bool rounded)
  {
    const bool wide = bytes >= kWideSlice;
    OrderedTuning tuning{.threads = 128,
                         .resident = double_vectors ? 4
                                     : !wide        ? 10
                                     : bytes > 104  ? 6
                                                    : 8,
                         .largest_color = wide ? 16000 : 8192,
                         .largest_cluster_part = wide ? 65536 : 16384};
    if (double_vectors || bs < 4 || bs > 5 || (wide && !rounded)) return tuning;
    // By the bytes of a slice: as many as registers hold
    tuning.threads_many = wide || bytes <= 32 ? 128 : 96;
    tuning.per_thread_many = wide ? 1 : 2;
    tuning.resident_many = wide         ? 10
                           : bytes > 32 ? (rounded ? 11 : 10)
                           : rounded    ? 12
                           : bytes < 20 ? 10
                                        : 8;
    tuning.many_rows = wide ? 8000 : 10000;
    tuning.largest_cluster_part = 65536;
    if (wide) tuning.largest_color = 40000;
    return tuning;
  }
  // A launch of more parts does not begin before the one before it has ended.
  static constexpr std::size_t kMostEarlyParts = 64;
  // A tile waits for the row that is this many parts before it.
  static constexpr int kOrderedAhead = 4;
  static constexpr unsigned kOrderedSleep = 20; // ns between two looks at that row
  // A tile asks for the head of the tile that is this many tiles later. More than a device holds.
  static constexpr unsigned kOrderedHeads = 2048;

  // Relaxation of large blocks

  // By the bytes of a record, and vectors of numbers in a column: wide_stages, and
  // nvidia-h200-sweep-large-blocks.json, with 15 to 17 blocks a row.
  static constexpr StreamTuning stream(int record, int vectors, int bs)
  {
    return {record >= 1024 || vectors > 32 ? 128
            : vectors > 16                 ? 64
                                           : 32,
            record >= 1024  ? std::max(1, 8192 / record)
            : record >= 512 ? 6
                            : 12,
            (record >= 1024 && record < 8192) || record >= 16384 ? 3
            : record >= 512                                      ? 4
                                                                 : 2,
            bs <= 128   ? kMostSegment
            : bs <= 512 ? 4
                        : 1};
  }
  static constexpr int kMostStage = 32768, kMostSegment = 24; // not recorded
  // Threads of a multiprocessor: relax_streamed, relax_resident. 64 registers a thread suffice for
  // relax_resident, except for sums in double precision (not recorded).
  static constexpr int streamed_threads(bool double_vectors) { return double_vectors ? 512 : 768; }
  static constexpr int resident_threads(bool double_vectors) { return double_vectors ? 640 : 1024; }
  // A team of relax_resident: a warp if the warp has lanes for two columns and a row takes little
  // time (not recorded).
  static constexpr int resident_team(int lanes, int bs, int record)
  {
    return lanes <= 16 && bs <= 32 && record <= 1024 ? 32 : record <= 1600 ? 64 : 128;
  }
  static constexpr int resident_rows(int team, int record)
  {
    return team > 32 ? 1 : record > 256 ? 2 : 4;
  }
  // Loads of x that a thread of relax_resident has in flight (not recorded)
  static constexpr int resident_ahead(int width, int together)
  {
    return std::min(width == 4 ? 4 : 6, (20 + together - 1) / together);
  }
  // Two thread blocks with this many bytes of shared memory fit a multiprocessor.
  static constexpr int kMostResident = 113 * 1024;
  // Largest record for which relax_resident is used. Integers take more instructions, which two
  // thread blocks on a multiprocessor do not hide behind the copies (wide_stages).
  static constexpr int largest_record(bool integers) { return integers ? 2560 : 4096; }

  // The second-level cache (blocks_kept_in_the_second_level_cache,
  // right_hand_sides_that_pass_the_cache). Blocks may use this share of a half, less the vectors.
  static constexpr std::size_t kept_share(std::size_t half) { return half / 5 * 4; }

  // Set-up

  static constexpr int kSetupThreads = 128, kLargeSetupThreads = 256; // not recorded
  // Matrix rows that a thread block takes at a time: not more than threads, because a thread
  // prepares a row, and not more than shared memory holds.
  static constexpr int setup_rows(int bs) { return bs <= 6 ? kSetupThreads : kSetupThreads / 2; }
  // Thread blocks that a multiprocessor holds (setup, docs/notes/set-up.md). For bs 5 and four
  // thread blocks, registers would be spilled: fp32 8% slower, int8 and int4 2 to 5%.
  static constexpr int setup_blocks(int bs) { return bs < 5 ? 4 : bs == 5 ? 3 : 2; }
  static constexpr int kSetupNumbers = 1024; // numbers that give all threads work: not recorded
  static constexpr std::size_t kMostScratch = 512UL << 20U; // bytes: not recorded
  // Batches of values from host memory: large enough to amortize a launch, small enough to leave
  // memory to the matrix; threads that fill a buffer (baij_refresh)
  static constexpr std::size_t kBatchBytes = 32UL << 20U;
  static constexpr int kMaxCopiers = 12;
  static constexpr std::size_t kCopied = 4096; // numbers that such a thread copies: not recorded
  // Threads that expand blocks with missing entries, and that convert single numbers (not recorded)
  static constexpr int kExpandThreads = 128;
  static constexpr unsigned kNumbersThreads = 128;
  // The kernels of factorizations: threads, and ns between two looks at a row (not recorded)
  static constexpr unsigned kFactorThreads = 128, kFactorSleep = 20;

  // Copies of vectors (vectors, right_hand_sides_by_patches)

  static constexpr unsigned kVectorThreads = 256;
  static constexpr unsigned kComponentsEach = 4; // of a thread, whose loads are in flight together
  // Thread blocks of store_kernel on a multiprocessor. The kernel waits mostly for the second-level
  // cache.
  static constexpr unsigned kStoreBlocks = 8;
  static constexpr unsigned kGroupComponents = 1024; // of a gather group
  static constexpr unsigned kGroupUnit = 16;         // consecutive rows of a gather group

  // Exchanges and recorded runs (not recorded)

  static constexpr unsigned kPackThreads = 256, kPacketThreads = 128;
  // Polls between two looks at the clock. The number divides 2^32, so the count may overflow.
  static constexpr unsigned kPollsPerLook = 256;
  static constexpr std::size_t kRecordedRuns = 8; // most graphs that are kept

  // Inner products and sums of vectors, -pc_mcpi_gram_schmidt (docs/notes/application.md for the
  // whole; the numbers are not recorded)

  static constexpr unsigned kProductThreads = 256;
  static constexpr int kVectorsTogether = 8;        // of a launch: x is read once for them
  static constexpr std::size_t kVectorsCopied = 64; // whose sums are copied together
  static constexpr std::size_t kProductBlocks = 5;  // thread blocks of a multiprocessor
  static constexpr unsigned kProductNumbers = 4;    // of a thread, before another block is taken
  // Rounds of a loop over numbers whose loads are in flight together
  static constexpr int product_unroll(int vectors) { return vectors <= 2 ? 4 : 2; }

  // The product with the matrix, -pc_mcpi_block_product (docs/notes/application.md: block size 5,
  // two meshes)

  static constexpr unsigned kBlockProductThreads = 128;
  // Scalar rows of a block row that a team of threads multiplies at a time, at most: x is loaded
  // once for them (not recorded).
  static constexpr int kMostScalarRows = 8;
  static constexpr int kBlockRowsEach = 7; // block rows of a team, one after the other
  // Numbers of a scalar row that a thread loads at a time, by the scalar rows. More leave room for
  // fewer threads.
  static constexpr int block_product_ahead(int at_once)
  {
    return at_once <= 2 ? 6 : at_once <= 4 ? 4 : at_once <= 7 ? 3 : 2;
  }
  // Few rows are so many times as long as the mean, for which teams have threads (not recorded).
  static constexpr double kLongRow = 1.15;
};

using Tuning = HopperTuning;

} // namespace mcpi::cuda
