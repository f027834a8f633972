// How teams of threads take the rows of large blocks, for host and device code. A column of a block
// goes to `lanes` threads, each with `vector` numbers of it, and `slots` columns are multiplied at
// a time.
#pragma once

#include "backend/device/shapes.h"

namespace mcpi::cuda {
using namespace device;

// Numbers that a thread takes at a time from shared memory: they divide a column.
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

// For relax_streamed: how a row passes through stages in shared memory
struct StreamShape {
  int bs = 0, ld = 0; // numbers in a column as stored
  int lanes = 1, slots = 1;
  // passes over the row: more than one if a column has more vectors than the team threads
  int parts = 1;
  int team = 32, rows = 1;   // threads for a row; rows of a thread block
  int chunk = 1;             // blocks in a stage, or
  int slices = 1, width = 1; // stages for a block, and its columns in one
  int stages = 1;
  int segment = 1;                // blocks whose entries of x are gathered at a time
  std::uint32_t inverse = 0;      // to divide by bs: above 2^32 / bs
  int record = 0, column = 0;     // bytes
  int stage_bytes = 0, bytes = 0; // of shared memory: a stage, a row
  int x_at = 0, partial_at = 0, sums_at = 0, heads_at = 0, barriers_at = 0;

  constexpr int threads() const { return team * rows; }
};

// number: bytes of one in the vectors
constexpr StreamShape stream_shape(PCMCPIPrecision storage, int bs, int number)
{
  constexpr int kMostStage = 32768, kSegment = 24;
  StreamShape s;
  s.bs = bs;
  s.ld = leading_dimension(storage, bs);
  s.record = record_pieces(storage, bs) * kPiece;
  s.column = column_bytes(storage, bs);
  // Measured on an H200 with 15 to 17 blocks a row
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

// For relax_resident: how a thread block takes some rows at a time, packed
struct ResidentShape {
  int team = 0, rows = 1;
  int record = 0, entries = 0,
      fixed = 0; // bytes of shared memory: of a block, of its part of x, and of a row besides

  constexpr int fixed_at(int blocks) const
  {
    return blocks * record + round_up(blocks * entries, kPiece);
  }
  constexpr int bytes(int blocks) const { return fixed_at(blocks) + rows * fixed; }
};

// Two thread blocks of this many bytes of shared memory fit a multiprocessor of an H100 or H200.
constexpr int kMostResident = 113 * 1024;
// For relax_resident. Integers take more instructions: with two thread blocks a multiprocessor
// these are not hidden behind the copies.
constexpr int largest_record(PCMCPIPrecision storage)
{
  return has_exponent(storage) ? 2560 : 4096;
}

} // namespace mcpi::cuda
