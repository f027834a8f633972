// Tests the work that a set-up distributes to threads.
#include "core/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "setup/matrix_identity.h"

namespace mcpi::test {
namespace {

TEST(Threads, do_every_part_once)
{
  for (const int threads : {0, 1, 3, 50})
    for (const std::size_t parts : {0U, 1U, 2U, 1000U}) {
      std::vector<int> done(parts, 0);
      share_among_threads(parts, threads, [&](std::size_t part) { ++done[part]; });
      EXPECT_EQ(done, std::vector<int>(parts, 1)) << threads << " threads";
    }
}

TEST(Threads, of_a_team_work_on_one_task_after_the_other)
{
  Team team(3);
  EXPECT_EQ(team.threads(), 3);
  std::vector<int> done(100, 0);
  for (const std::size_t parts : {1U, 100U, 0U, 2U, 7U})
    for (int repeat = 0; repeat < 50; ++repeat)
      team.share(parts, [&](std::size_t part) { ++done[part]; });
  EXPECT_EQ(std::count(done.begin(), done.end(), 50), 93);
  EXPECT_EQ(done[0], 200);
  EXPECT_EQ(done[1], 150);
}

TEST(Threads, hand_on_an_exception_when_all_parts_have_ended)
{
  for (const int threads : {1, 4}) {
    Team team(threads);
    std::atomic<int> done = 0;
    const auto fail = [&](std::size_t part) {
      if (part == 9) throw std::length_error("part 9");
      ++done;
    };
    EXPECT_THROW(team.share(10, fail), std::length_error) << threads;
    EXPECT_EQ(done, 9) << threads;
    team.share(5, fail);
    EXPECT_EQ(done, 14) << threads;
  }
}

TEST(Threads, take_ranges_that_cover_all)
{
  for (const int threads : {1, 3})
    for (const int count : {0, 1, 5000, 100000}) {
      std::vector<char> done(static_cast<std::size_t>(count), 0);
      share_range(count, threads, [&](int begin, int end) {
        for (int k = begin; k < end; ++k) ++done[static_cast<std::size_t>(k)];
      });
      EXPECT_EQ(std::count(done.begin(), done.end(), 1), count) << threads << " threads";
    }
}

// There are more columns than one thread takes. A matrix that was filled again in other places may
// differ in few columns, wherever they are.
TEST(Threads, hashes_tell_columns_apart_wherever_they_differ)
{
  constexpr std::size_t kMillion = 1UL << 20U;
  std::vector<PetscInt> columns(3 * kMillion + 5);
  for (std::size_t k = 0; k < columns.size(); ++k) columns[k] = static_cast<PetscInt>(k / 7);
  constexpr int kThreads = 4;
  const std::uint64_t hash = HashOfIndices(columns.data(), columns.size(), 1, kThreads);
  EXPECT_EQ(HashOfIndices(columns.data(), columns.size(), 1, kThreads), hash);
  EXPECT_EQ(HashOfIndices(columns.data(), columns.size(), 1, 1), hash);
  EXPECT_NE(HashOfIndices(columns.data(), columns.size(), 2, kThreads), hash);
  EXPECT_NE(HashOfIndices(columns.data(), columns.size() - 1, 1, kThreads), hash);
  for (const std::size_t at : {std::size_t{0}, kMillion - 1, kMillion, 2 * kMillion + 17,
                               columns.size() - 6, columns.size() - 1}) {
    ++columns[at];
    EXPECT_NE(HashOfIndices(columns.data(), columns.size(), 1, kThreads), hash) << at;
    --columns[at];
  }
  std::swap_ranges(columns.begin(), columns.begin() + kMillion, columns.begin() + kMillion);
  EXPECT_NE(HashOfIndices(columns.data(), columns.size(), 1, kThreads), hash)
      << "parts change places";
}

} // namespace
} // namespace mcpi::test
