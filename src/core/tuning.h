// What was measured for set-ups, and for what backends share, in one table. Each row names the
// record on which it rests: a file of benchmarks/results, or a page of docs/notes. "Not recorded":
// no record was kept. Backends have tables of their own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mcpi {

struct CommonTuning {
  // Threads of a set-up (not recorded)

  // Rows that take longer than to start or wake a thread: each thread gets at least so many. The
  // same for the rows of a round that looks for a color fewer, and for tiles whose cache lines are
  // counted, which must repay their own array of lines.
  static constexpr std::size_t kLeastRows = 4096, kLeastUncolored = 256, kLeastTiles = 1024;
  // The hash of a pattern, which every set-up of BAIJ computes: indices of a part, which one core
  // hashes in about a millisecond; threads, more of which are not faster; independent hashes
  static constexpr std::size_t kHashedPart = std::size_t{1} << 20U;
  static constexpr int kHashThreads = 8;
  static constexpr std::size_t kHashLanes = 8;

  // Set-up

  // Rows by which loops over rows that lie far apart ask the caches ahead: for the neighbors of a
  // row, and for the place of its neighbors (amd-epyc-setup-parts.json for the loops, not recorded
  // for the numbers)
  static constexpr std::size_t kNeighborsAhead = 8, kRowsAhead = 16;
  // From this block size on diagonal blocks are inverted by LAPACK. For smaller blocks its calls
  // cost more than they save (not recorded).
  static constexpr int kLapackFrom = 33;
  // From this block size on, and below this share of numbers that are not zero, users are told of
  // blocks of few entries. Sweeps on a CPU work on the entries if there are also fewer than one for
  // so many unknowns over the block size. A first set-up with a solution and one with new values
  // then take less time than with whole blocks (amd-epyc-entries.json).
  static constexpr int kManyUnknowns = 33;
  static constexpr double kFewEntries = 0.25, kUnknownsOfEntries = 400.0;
  // The time of a symmetric sweep over entries beside that of a product with the matrix, on an AMD
  // EPYC (not recorded)
  static constexpr double kEntriesSlower = 6.0;
  // From this block size on, beside vectors in single precision, blocks of 8 bits are not slower on
  // a CPU than blocks of 32 (docs/notes/choice.md)
  static constexpr int kFewBitsFrom = 4;
  // Blocks of a row up to which one is found by reading all, faster than by bisection (not
  // recorded)
  static constexpr std::size_t kFewBlocks = 32;
  // If an earlier row has so many times the blocks of a row, those of the row are sought in it,
  // instead of the other way round (docs/notes/incomplete-lu.md, not recorded).
  static constexpr int kManyTimes = 16;

  // Order of rows

  // What auto counts to choose an order: rows of a tile, of which one brings to the caches what
  // others read; rows whose entries of x lie in one or two cache lines (not recorded)
  static constexpr std::int32_t kTileRows = 32, kLineRows = 4;
  // Rows of clusters stay in the order of the matrix unless their neighbors are so many times as
  // far from each other as in reverse Cuthill-McKee order (not recorded).
  static constexpr double kMuchFarther = 2.0;
  // On a CPU, rows with equally many blocks are brought together inside windows of so many rows
  // (docs/notes/set-up.md, not recorded).
  static constexpr std::int32_t kWindow = 256;

  // Chunks on a CPU: numbers of x from which they help, numbers of x in a chunk, and rows of a
  // color in a chunk (docs/notes/host.md, amd-epyc-host-chunks.json)
  static constexpr std::int64_t kChunksFrom = std::int64_t{1} << 21, kChunkNumbers = 1 << 12,
                                kChunkRowsOfColor = 16;

  // Colors of a wave: a color of fewer rows is hardly worth its launch on a device, and bounds of
  // their number (docs/notes/waves.md).
  static constexpr std::int64_t kRowsOfWaveColor = 1 << 15, kFewestWaveColors = 16,
                                kMostWaveColors = 32;

  // Least rows of a level, in the mean, for which levels are worth their steps on a CPU (not
  // recorded)
  static constexpr std::int64_t kRowsOfLevel = 2;

  // Clusters

  // Most rows of a cluster, by default. On a CPU large clusters take fewer iterations
  // (amd-epyc-flow-schedules.json, one rank). On a device the wing's linear systems take the least
  // time with 2 to 4 rows, thin layers with 6 to 8 (nvidia-h200-flow-clusters.json).
  static constexpr std::int32_t kClusterRowsOnCpu = 512, kClusterRowsOnDevice = 4;
  // Most rows of the clusters whose stages a CPU takes together: where rows are relaxed one after
  // the other, and elsewhere (docs/notes/host.md, "Rows one after the other")
  static constexpr std::int32_t kRowsInSequence = 512, kRowsTogether = 8192;
  // One row of so many is enough to find the sizes of the components (not recorded).
  static constexpr std::int32_t kSampledRow = 8;

  // Sweeps of an application, by the bytes that an iteration moves (docs/notes/choice.md)

  // How many times as long as the rest of an iteration an application takes: under methods for
  // symmetric matrices, whose iterations fall with the root of the sweeps, and under others, on a
  // device and on a CPU (amd-epyc-choice-search.json). The most sweeps
  static constexpr double kSymmetricShare = 1.0, kApplicationShare = 2.5, kShareOnCpu = 3.5;
  static constexpr std::int32_t kMostSweeps = 24;
  // Applications after which new values are worth another trial, of about two applications
  static constexpr std::int32_t kApplicationsOfTrial = 50;
  // Vectors that a method with short recurrences reads and writes in an iteration
  static constexpr double kVectorsOfRecurrence = 10.0;
  // A sweep on one core, for each row, unknown, block and number; with vectors in double precision
  // so many times as much
  static constexpr double kRowBytes = 100.0, kUnknownBytes = 50.0, kBlockBytes = 5.0,
                          kNumberBytes = 3.5, kDoubleSlower = 1.3;
  // What a device moves in the time of one step of a pass, and while an iteration waits for the
  // host
  static constexpr double kBytesOfStep = 4e6, kBytesOfIteration = 4e8;

  // -pc_mcpi_tune (not recorded)

  // Solutions end at this relative residual, after so many iterations, and after so many times the
  // shortest solution. All take so many times as long as the first.
  static constexpr double kTuneTolerance = 1e-3, kTuneTimes = 3.0, kTuneBudget = 30.0;
  static constexpr std::int32_t kTuneIterations = 500, kTuneMostSweeps = 32;
  // The search for a number of sweeps ends where the rate is less than so many times the one
  // before.
  static constexpr double kTuneWorse = 0.97;

  // Applications

  // Columns of a dense matrix that are relaxed together. The vectors of more columns would not stay
  // in the caches beside the blocks (not recorded).
  static constexpr int kMostColumns = 8;
  // The length of a recorded run, where several parts are relaxed in one step: stages of a cluster,
  // a typical number, since ranks with other numbers must agree; steps that count; most relaxations
  // of a run, times SweepConfig::max_relaxations (not recorded)
  static constexpr int kStagesOfCluster = 16, kFewSteps = 32, kMostTimes = 16;
};

} // namespace mcpi
