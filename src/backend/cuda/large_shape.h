// How teams of threads take the rows of large blocks. Host and device code share these definitions.
// A column of a block is split among `lanes` threads with `vector` numbers each, and a team
// multiplies `slots` columns at a time.
#pragma once

#include "backend/device/shapes.h"

namespace mcpi::cuda {
using namespace device;

// Numbers that a thread loads at a time from shared memory. They divide a column evenly.
constexpr int large_vector(PCMCPIPrecision storage, int bs)
{
  const int ld = leading_dimension(storage, bs);
  int vector = value_bits(storage) == 64 ? 2 : value_bits(storage) == 4 ? 8 : 4;
  while (ld % vector != 0) vector /= 2;
  return vector;
}
constexpr int column_bytes(PCMCPIPrecision storage, int bs)
{
  return leading_dimension(storage, bs) * value_bits(storage) / 8;
}

// The launch of relax_streamed: how a row passes through stages in shared memory.
struct StreamShape {
  int bs = 0, ld = 0;       // block size; numbers in a column as stored
  int lanes = 1, slots = 1; // threads for a column; columns at a time
  // Passes over the row: more than one if a column has more vectors than the team has threads
  int parts = 1;
  int team = 32, rows = 1;        // threads of a team; rows of a thread block
  int chunk = 1;                  // blocks in a stage, if a block is not larger than a stage
  int slices = 1, width = 1;      // otherwise: stages for a block; columns in a stage
  int stages = 1;                 // stages of a row in shared memory
  int segment = 1;                // blocks whose entries of x are gathered at a time
  std::uint32_t inverse = 0;      // above 2^32 / bs: a multiplication with it divides by bs
  int record = 0, column = 0;     // bytes of a block; bytes of a column
  int stage_bytes = 0, bytes = 0; // bytes of shared memory for a stage; for a row
  // Bytes from the start of a row's shared memory: entries of x, partial sums, sums and residuals,
  // heads, barriers
  int x_at = 0, partial_at = 0, sums_at = 0, heads_at = 0, barriers_at = 0;

  constexpr int threads() const { return team * rows; }
};

// number: bytes of a number of the vectors
constexpr StreamShape stream_shape(PCMCPIPrecision storage, int bs, int number)
{
  constexpr int kMostStage = 32768, kSegment = 24;
  StreamShape s;
  s.bs = bs;
  s.ld = leading_dimension(storage, bs);
  s.record = record_pieces(storage, bs) * kPiece;
  s.column = column_bytes(storage, bs);
  // The values from here to `stages` were measured on an H200 with 15 to 17 blocks a row.
  const int vectors = s.ld / large_vector(storage, bs);
  s.team = s.record >= 1024 || vectors > 32 ? 128 : vectors > 16 ? 64 : 32;
  s.rows = s.team == 32 ? 2 : 1;
  s.chunk = s.record >= 1024 ? std::max(1, 8192 / s.record) : s.record >= 512 ? 6 : 12;
  s.stages = (s.record >= 1024 && s.record < 8192) || s.record >= 16384 ? 3
             : s.record >= 512                                          ? 4
                                                                        : 2;
  while (kSegment % s.chunk != 0) --s.chunk;

  s.lanes = std::min(vectors, s.team);
  s.parts = (vectors + s.lanes - 1) / s.lanes;
  s.slots = s.team / s.lanes;
  s.width = (bs + (s.record - 1) / kMostStage) / ((s.record - 1) / kMostStage + 1);
  s.slices = (bs + s.width - 1) / s.width;
  s.segment = bs <= 128 ? kSegment : bs <= 512 ? 4 : 1;
  s.inverse = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / static_cast<unsigned>(bs) + 1);
  s.stage_bytes =
      s.slices == 1 ? s.chunk * s.record : round_up(s.width * s.column, kPiece) + kPiece;
  s.x_at = s.stages * s.stage_bytes;
  s.partial_at = s.x_at + round_up(s.segment * bs * number, kPiece);
  s.sums_at = s.partial_at + round_up(s.team * large_vector(storage, bs) * number, kPiece);
  s.heads_at = s.sums_at + round_up(3 * bs * number, kPiece);
  s.barriers_at = s.heads_at + s.segment * 8;
  s.bytes = round_up(s.barriers_at + s.stages * 8, kPiece);
  return s;
}

// The launch of relax_resident: a thread block takes `rows` rows, whose blocks lie one after the
// other in shared memory.
struct ResidentShape {
  int team = 0, rows = 1; // threads of a team; rows of a thread block
  int record = 0, entries = 0,
      // bytes of shared memory: of a block, of its entries of x, and of all else that a row needs
      fixed = 0;

  // Bytes of shared memory before a row's fixed part, and in all, for so many blocks in a thread
  // block
  constexpr int fixed_at(int blocks) const
  {
    return blocks * record + round_up(blocks * entries, kPiece);
  }
  constexpr int bytes(int blocks) const { return fixed_at(blocks) + rows * fixed; }
};

// Two thread blocks with this many bytes of shared memory fit a multiprocessor of an H100 or H200.
constexpr int kMostResident = 113 * 1024;
// Largest record for which relax_resident is used. The limit is lower for integers: they take more
// instructions, which two thread blocks on a multiprocessor do not hide behind the copies.
constexpr int largest_record(PCMCPIPrecision storage)
{
  return has_exponent(storage) ? 2560 : 4096;
}

} // namespace mcpi::cuda
