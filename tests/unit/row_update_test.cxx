// Products that update x (RowUpdate), compared with sums of the plain kernels and the formula
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "backend/host/host_backend.h"
#include "core/kernels.h"
#include "kernel_problem.h"

using namespace mcpi;
using namespace mcpi::test;

namespace {

// A problem whose records can be read past their end, as kernels do
Problem make_problem(PCMCPIPrecision storage, int bs, Row rows)
{
  Problem problem(storage, bs, rows);
  for (auto &records : problem.records) records.resize(records.size() + kReadPadding);
  return problem;
}

struct Case {
  int count; // triangles
  RowUpdate update;
};

#ifdef MCPI_SANITIZED // Sanitizers are slow: some of the cases for each storage and block size
constexpr std::size_t kSparser = 7;
#else
constexpr std::size_t kSparser = 1;
#endif

std::vector<Case> cases_for(PCMCPIPrecision storage, int bs)
{
  std::vector<Case> cases;
  std::size_t turn = static_cast<std::size_t>(storage) + static_cast<std::size_t>(bs);
  for (const int count : {0, 1, 2})
    for (const bool add_kept : {false, true})
      for (const Keep keep : {Keep::no, Keep::sum, Keep::zero})
        for (const double omega : {1.0, 0.75})
          for (const bool from_zero : {false, true}) {
            if (add_kept && count == 2 && keep == Keep::sum) continue;
            if (turn++ % kSparser != 0) continue;
            Case one{count, {}};
            one.update.alpha = 0.5;
            one.update.omega = omega;
            one.update.from_zero = from_zero;
            one.update.add_kept = add_kept;
            one.update.keep = keep;
            cases.push_back(one);
          }
  return cases;
}

// The vectors of an update. Those that it must not read are NaN.
template <typename T> struct Vectors {
  Padded<T> rhs, x, kept;

  Vectors(const Problem &problem, int nrhs, const RowUpdate &update)
      : rhs(size(problem, nrhs)), x(rhs.size()), kept(rhs.size())
  {
    std::size_t i = 0;
    for (Row row = 0; row < problem.rows; ++row)
      for (int r = 0; r < nrhs; ++r)
        for (int c = 0; c < problem.bs; ++c, ++i) {
          const int at = row * problem.bs + r + c; // the same for every nrhs
          rhs[i] = static_cast<T>(0.25 * (at % 7) - 1);
          if (!update.from_zero) x[i] = static_cast<T>(0.5 * (at % 5) - 1);
          if (update.add_kept) kept[i] = static_cast<T>(0.125 * (at % 9) - 0.5);
        }
  }
  static std::size_t size(const Problem &problem, int nrhs)
  {
    return static_cast<std::size_t>(problem.rows) * nrhs * problem.bs;
  }
  RowUpdate with(RowUpdate update)
  {
    update.rhs = rhs.data();
    update.x = x.data();
    update.kept = kept.data();
    return update;
  }
};

// Whether products of these blocks exist and update x
template <typename T> bool updates(PCMCPIPrecision storage, int bs)
{
  return simd_kernels().product(storage, sizeof(T) == sizeof(double), bs).updates;
}

template <typename T>
ProductArgs make_args(const Problem &problem, int nrhs, int first, int count, const Padded<T> &x)
{
  ProductArgs args;
  for (int t = first; t < first + count; ++t)
    args.triangles[args.count++] = {problem.ptr[t].data(), problem.col[t].data(),
                                    problem.records[t].data(),
                                    static_cast<Offset>(problem.col[t].size())};
  args.bs = problem.bs;
  args.nrhs = nrhs;
  args.x = x.data();
  return args;
}

// Sums of all rows over `count` triangles by the plain kernels
template <typename T>
std::vector<T> plain_sums(const Problem &problem, int nrhs, int first, int count,
                          const Padded<T> &x)
{
  std::vector<T> sums(static_cast<std::size_t>(problem.rows) * nrhs * problem.bs);
  ProductArgs args = make_args(problem, nrhs, first, count, x);
  args.end = problem.rows;
  args.sums = sums.data();
  plain_kernels().product(problem.storage, sizeof(T) == sizeof(double), problem.bs)(args);
  return sums;
}

template <typename T> bool unchanged(const T &number, const T &before)
{
  return std::memcmp(&number, &before, sizeof(T)) == 0;
}

// Updates rows [begin, end), and expects the formula there and no change elsewhere.
template <typename T>
void expect_formula(const Problem &problem, const Padded<T> &x, int nrhs, const Case &chosen,
                    Row begin, Row end)
{
  const auto near = plain_sums(problem, nrhs, 0, std::min(chosen.count, 1), x),
             far = plain_sums(problem, nrhs, 1, std::max(chosen.count - 1, 0), x);
  const std::size_t entry = static_cast<std::size_t>(nrhs) * problem.bs, n = near.size();
  const Vectors<T> before(problem, nrhs, chosen.update);
  Vectors<T> after(problem, nrhs, chosen.update);
  const RowUpdate update = after.with(chosen.update);
  ProductArgs args = make_args(problem, nrhs, 0, chosen.count, x);
  args.begin = begin;
  args.end = end;
  args.far = true;
  args.descending = nrhs == 2;
  args.update = &update;
  simd_kernels().product(problem.storage, sizeof(T) == sizeof(double), problem.bs)(args);

  const double tolerance = 40.0 * problem.bs * std::numeric_limits<T>::epsilon();
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_TRUE(unchanged(after.rhs[i], before.rhs[i])) << i;
    if (i < begin * entry || i >= end * entry) {
      ASSERT_TRUE(unchanged(after.x[i], before.x[i])) << i;
      ASSERT_TRUE(unchanged(after.kept[i], before.kept[i])) << i;
      continue;
    }
    const double sum = double(near[i]) + far[i] + (update.add_kept ? double(before.kept[i]) : 0.0),
                 old = update.from_zero || update.omega == 1.0 ? 0.0 : double(before.x[i]);
    ASSERT_NEAR(after.x[i],
                update.omega * (before.rhs[i] - update.alpha * sum) + (1 - update.omega) * old,
                tolerance)
        << i;
    if (update.keep == Keep::no)
      ASSERT_TRUE(unchanged(after.kept[i], before.kept[i])) << i;
    else
      ASSERT_NEAR(after.kept[i], update.keep == Keep::sum ? double(near[i]) : 0.0, tolerance) << i;
  }
}

template <typename T> void updates_follow_the_formula()
{
  for (const auto storage : kAll)
    for (const int bs : kSizes) {
      if (!updates<T>(storage, bs)) continue;
      const Problem problem = make_problem(storage, bs, 9);
      for (const int nrhs : {1, 2, 5}) {
        const Padded<T> x = make_x<T>(problem, nrhs, 0);
        for (const Case &chosen : cases_for(storage, bs))
          for (const auto &[begin, end] : {std::pair<Row, Row>{0, 9}, {2, 5}, {8, 9}, {4, 4}}) {
            SCOPED_TRACE(testing::Message()
                         << "storage " << storage << " bs " << bs << " nrhs " << nrhs << " count "
                         << chosen.count << " keep " << static_cast<int>(chosen.update.keep)
                         << " rows " << begin << " to " << end);
            expect_formula(problem, x, nrhs, chosen, begin, end);
          }
      }
    }
}

// x and kept after updates of all rows
template <typename T> struct Updated {
  std::vector<T> x, kept;
};
struct Calls {
  Row at_once; // rows of a call
  bool far = false, descending = false;
};
template <typename T>
Updated<T> update_all(const Problem &problem, const Padded<T> &x, int nrhs, const Case &chosen,
                      Calls calls)
{
  Vectors<T> vectors(problem, nrhs, chosen.update);
  const RowUpdate update = vectors.with(chosen.update);
  ProductArgs args = make_args(problem, nrhs, 0, chosen.count, x);
  args.far = calls.far;
  args.descending = calls.descending;
  args.update = &update;
  for (args.begin = 0; args.begin < problem.rows; args.begin = args.end) {
    args.end = std::min(args.begin + calls.at_once, problem.rows);
    simd_kernels().product(problem.storage, sizeof(T) == sizeof(double), problem.bs)(args);
  }
  const std::size_t n = vectors.x.size();
  return {{vectors.x.data(), vectors.x.data() + n}, {vectors.kept.data(), vectors.kept.data() + n}};
}

// The first right-hand side of all rows
template <typename T> std::vector<T> first_of(const std::vector<T> &all, int nrhs, int bs)
{
  std::vector<T> first;
  for (auto row = all.begin(); row != all.end(); row += std::ptrdiff_t{nrhs} * bs)
    first.insert(first.end(), row, row + bs);
  return first;
}

// x for each number of right-hand sides
template <typename T>
std::map<int, Padded<T>> make_all_x(const Problem &problem, std::initializer_list<int> numbers)
{
  std::map<int, Padded<T>> x;
  for (const int nrhs : numbers) x.emplace(nrhs, make_x<T>(problem, nrhs, 0));
  return x;
}

template <typename T> void updates_have_the_same_bits_everywhere()
{
  for (const auto storage : kAll)
    for (const int bs : kSizes) {
      if (!updates<T>(storage, bs)) continue;
      const Problem problem = make_problem(storage, bs, 60); // so many blocks that x is prefetched
      const std::map<int, Padded<T>> x = make_all_x<T>(problem, {1, 2, 3, 5});
      for (const Case &chosen : cases_for(storage, bs)) {
        SCOPED_TRACE(testing::Message()
                     << "storage " << storage << " bs " << bs << " count " << chosen.count);
        for (const bool descending : {false, true}) {
          const Updated<T> whole = update_all(problem, x.at(1), 1, chosen, {60, false, descending});
          for (const Calls calls : {Calls{1, false, descending}, Calls{7, true, descending},
                                    Calls{60, true, descending}}) {
            const Updated<T> parts = update_all(problem, x.at(1), 1, chosen, calls);
            ASSERT_TRUE(same_bits(parts.x, whole.x));
            ASSERT_TRUE(same_bits(parts.kept, whole.kept));
          }
          for (const int nrhs : {2, 3, 5}) {
            const Updated<T> many =
                update_all(problem, x.at(nrhs), nrhs, chosen, {20, true, descending});
            ASSERT_TRUE(same_bits(first_of(many.x, nrhs, bs), whole.x)) << nrhs;
            ASSERT_TRUE(same_bits(first_of(many.kept, nrhs, bs), whole.kept)) << nrhs;
          }
        }
      }
    }
}

// x after updates of all rows in sequence, where products read the x that is updated
template <typename T>
std::vector<T> update_in_place(const Problem &problem, const Padded<T> &guess, int nrhs,
                               const Case &chosen, Calls calls)
{
  Padded<T> x(guess.size());
  std::copy_n(guess.data(), guess.size(), x.data());
  Vectors<T> vectors(problem, nrhs, chosen.update);
  RowUpdate update = vectors.with(chosen.update);
  update.x = x.data();
  ProductArgs args = make_args(problem, nrhs, 0, chosen.count, x);
  args.far = calls.far;
  args.descending = calls.descending;
  args.update = &update;
  for (Row done = 0; done < problem.rows; done += calls.at_once) {
    const Row rows = std::min(calls.at_once, problem.rows - done);
    args.begin = calls.descending ? problem.rows - done - rows : done;
    args.end = args.begin + rows;
    simd_kernels().product(problem.storage, sizeof(T) == sizeof(double), problem.bs)(args);
  }
  return {x.data(), x.data() + x.size()};
}

template <typename T> void rows_read_what_earlier_rows_have_stored()
{
  for (const auto storage : kAll)
    for (const int bs : kSizes) {
      if (!updates<T>(storage, bs)) continue;
      const Problem problem = make_problem(storage, bs, 60);
      for (const int nrhs : {1, 3}) {
        const Padded<T> x = make_x<T>(problem, nrhs, 0);
        for (const Case &chosen : cases_for(storage, bs)) {
          if (chosen.count == 0) continue;
          SCOPED_TRACE(testing::Message() << "storage " << storage << " bs " << bs << " count "
                                          << chosen.count << " nrhs " << nrhs);
          std::vector<T> up, down;
          for (const bool descending : {false, true}) {
            std::vector<T> &whole = descending ? down : up;
            whole = update_in_place(problem, x, nrhs, chosen, {60, false, descending});
            for (const Row rows : {1, 7})
              ASSERT_TRUE(same_bits(
                  update_in_place(problem, x, nrhs, chosen, {rows, true, descending}), whole));
          }
          ASSERT_FALSE(same_bits(up, down));
        }
      }
    }
}

class RowUpdates : public EveryTarget {};

INSTANTIATE_TEST_SUITE_P(Kernels, RowUpdates, testing::ValuesIn(targets()), [](const auto &target) {
  return std::string(hwy::TargetName(target.param));
});

} // namespace

TEST_P(RowUpdates, in_single_precision_follow_the_formula_and_leave_other_rows_alone)
{
  updates_follow_the_formula<float>();
}

TEST_P(RowUpdates, in_double_precision_follow_the_formula_and_leave_other_rows_alone)
{
  updates_follow_the_formula<double>();
}

TEST_P(RowUpdates, depend_on_the_row_alone)
{
  updates_have_the_same_bits_everywhere<float>();
  updates_have_the_same_bits_everywhere<double>();
}

// A sweep reads and writes one vector. Here rows read columns that are not updated.
TEST_P(RowUpdates, may_write_the_vector_that_products_read)
{
  if (!updates<float>(PC_MCPI_PRECISION_FP32, 5)) return; // the plain fallback
  Problem problem = make_problem(PC_MCPI_PRECISION_FP32, 5, 9);
  for (auto &columns : problem.col)
    for (std::size_t k = 0; k < columns.size(); ++k) columns[k] = k % 2 ? 0 : 10;
  const Padded<float> old = make_x<float>(problem, 1, 0);
  Padded<float> apart = make_x<float>(problem, 1, 0), together = make_x<float>(problem, 1, 0);
  const Vectors<float> vectors(problem, 1, {});
  RowUpdate update;
  update.rhs = vectors.rhs.data();
  update.alpha = 0.5;
  update.omega = 0.75;
  for (Padded<float> *x : {&apart, &together}) {
    ProductArgs args = make_args(problem, 1, 0, 2, x == &apart ? old : *x);
    args.begin = 1;
    args.end = 9;
    update.x = x->data();
    args.update = &update;
    simd_kernels().product(problem.storage, false, 5)(args);
  }
  for (std::size_t i = 0; i < apart.size(); ++i) ASSERT_EQ(apart[i], together[i]) << i;
}

TEST_P(RowUpdates, are_offered_for_small_blocks_only)
{
  for (const auto storage : kAll) {
    EXPECT_FALSE(updates<double>(storage, 1));
    EXPECT_FALSE(updates<double>(storage, 9));
    for (const int bs : kSizes) EXPECT_FALSE(plain_kernels().product(storage, true, bs).updates);
  }
}

TEST_P(RowUpdates, read_what_the_rows_before_them_have_stored)
{
  rows_read_what_earlier_rows_have_stored<float>();
  rows_read_what_earlier_rows_have_stored<double>();
}
