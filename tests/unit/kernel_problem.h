// Problems and instruction sets for tests of CPU kernels
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/host/simd_targets.h"
#include "hwy/highway.h"

#include "core/codec.h"
#include "core/kernels.h"

namespace mcpi::test {

inline constexpr PCMCPIPrecision kAll[] = {PC_MCPI_PRECISION_FP64, PC_MCPI_PRECISION_FP32,
                                           PC_MCPI_PRECISION_FP16, PC_MCPI_PRECISION_INT8,
                                           PC_MCPI_PRECISION_INT4};
inline constexpr int kSizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                                 14, 15, 16, 17, 31, 32, 33, 63, 64, 65, 66, 100};
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

// Memory for exactly n values and the padding that kernels may read. All bits are set, which is NaN
// in every floating-point format. The address sanitizer reports accesses beyond the memory.
template <typename T> class Padded {
public:
  explicit Padded(std::size_t n, std::size_t shift = 0)
      : size_(n), shift_(shift), bytes_(new std::byte[(n + shift) * sizeof(T) + kReadPadding])
  {
    std::memset(bytes_.get(), 0xff, (n + shift) * sizeof(T) + kReadPadding);
  }
  T *data() { return reinterpret_cast<T *>(bytes_.get()) + shift_; }
  const T *data() const { return reinterpret_cast<const T *>(bytes_.get()) + shift_; }
  T &operator[](std::size_t i) { return data()[i]; }
  const T &operator[](std::size_t i) const { return data()[i]; }
  std::size_t size() const { return size_; }

private:
  std::size_t size_, shift_;
  std::unique_ptr<std::byte[]> bytes_;
};

// Two triangles whose rows have different numbers of blocks. Some rows are empty.
struct Problem {
  PCMCPIPrecision storage;
  int bs;
  Row rows, columns;
  std::vector<Offset> ptr[2];
  std::vector<Row> col[2];
  std::vector<std::byte> records[2];

  Problem(PCMCPIPrecision precision, int size, Row row_count)
      : storage(precision), bs(size), rows(row_count), columns(row_count + 2)
  {
    std::mt19937 generator(static_cast<unsigned>(bs) * 8 + storage);
    std::vector<double> block(static_cast<std::size_t>(bs) * bs);
    std::vector<std::byte> record(record_bytes(storage, bs));
    for (int t = 0; t < 2; ++t) {
      ptr[t].push_back(0);
      for (Row row = 0; row < rows; ++row) {
        const bool empty = row == (t == 0 ? 0 : rows - 1) || row == 2;
        for (unsigned k = empty ? 0 : 1 + generator() % 6; k > 0; --k) {
          for (double &v : block) v = static_cast<double>(generator() % 2001) / 1000 - 1;
          col[t].push_back(static_cast<Row>(generator() % columns));
          EXPECT_TRUE(encode_block(storage, bs, block.data(), record.data()));
          records[t].insert(records[t].end(), record.begin(), record.end());
        }
        ptr[t].push_back(static_cast<Offset>(col[t].size()));
      }
    }
  }
};

template <typename T> Padded<T> make_x(const Problem &problem, int nrhs, std::size_t shift)
{
  Padded<T> x(static_cast<std::size_t>(problem.columns) * nrhs * problem.bs, shift);
  for (Row col = 0; col < problem.columns; ++col)
    for (int r = 0; r < nrhs; ++r) {
      // The r-th right-hand side is the same for every nrhs.
      std::minstd_rand generator(static_cast<unsigned>(col) * 16 + r + 1);
      for (int j = 0; j < problem.bs; ++j)
        x[(static_cast<std::size_t>(col) * nrhs + r) * problem.bs + j] =
            static_cast<T>(generator() % 2001) / 1000 - 1;
    }
  return x;
}

template <typename T> bool same_bits(const std::vector<T> &a, const std::vector<T> &b)
{
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

inline bool exists(PCMCPIPrecision storage, bool x_is_double)
{
  return x_is_double || storage != PC_MCPI_PRECISION_FP64;
}

// Every compiled instruction set that this machine has, and the plain fallback
class EveryTarget : public testing::TestWithParam<std::int64_t> {
protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

private:
  static void choose(std::int64_t targets)
  {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

inline std::vector<std::int64_t> targets()
{
  std::vector<std::int64_t> list;
  for (std::int64_t left = HWY_TARGETS & hwy::SupportedTargets(); left != 0; left &= left - 1)
    list.push_back(left & -left);
  return list;
}

} // namespace mcpi::test
