// Numeric set-up by kernels of the execution space. It turns the values of the matrix into inverse
// diagonal blocks and stored off-diagonal blocks.
#pragma once

#include <bit>
#include <limits>

#include "backend/kokkos/operator.h"
#include "core/scale_updater.h"

namespace mcpi::kokkos {

// A team takes a plan row and writes its blocks, column-major, in the order that SetupArgs
// describes.
template <class Space, int threads> struct CopyBlocks {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;

  // See PieceStructure. to: a block's place among the blocks of its plan row.
  struct Piece {
    const double *values;
    const Offset *ptr, *entry_ptr;
    const Row *to;
    const std::uint32_t *slot;
  };

  SetupArgs args;
  ValueLayout layout;
  bool partial; // whether the source has scalar rows whose blocks are not all full
  Piece piece[2];
  double *values; // output

  KOKKOS_FUNCTION void operator()(const Member &team) const
  {
    const Row row = args.begin + team.league_rank();
    const std::size_t square = args.square();
    double *out = values + static_cast<std::size_t>(args.blocks_before(row)) * square;
    if (partial) {
      const auto count =
          static_cast<std::size_t>(args.blocks_before(row + 1) - args.blocks_before(row)) * square;
      for (auto n = static_cast<std::size_t>(team.team_rank()); n < count; n += threads)
        out[n] = 0.0;
      team.team_barrier();
    }
    for (const Piece &from : piece)
      if (from.ptr) {
        if (partial)
          scatter_entries(team, from, args.row_of[row], out);
        else
          copy_blocks(team, from, args.row_of[row], out);
      }
  }

private:
  // Copies the entries of scalar rows to blocks, which are zero before.
  KOKKOS_FORCEINLINE_FUNCTION void scatter_entries(const Member &team, const Piece &from, Row row,
                                                   double *out) const
  {
    const Offset bs = args.shape.bs;
    const auto square = static_cast<std::uint32_t>(args.square());
    for (Offset k = from.entry_ptr[row * bs] + team.team_rank(); k < from.entry_ptr[(row + 1) * bs];
         k += threads) {
      const std::uint32_t slot = from.slot[k];
      out[static_cast<std::size_t>(from.to[from.ptr[row] + slot / square]) * square +
          slot % square] = from.values[k];
    }
  }
  // Copies full blocks, stored by blocks or by scalar rows.
  KOKKOS_FORCEINLINE_FUNCTION void copy_blocks(const Member &team, const Piece &from, Row row,
                                               double *out) const
  {
    const Offset bs = args.shape.bs, square = bs * bs, count = from.ptr[row + 1] - from.ptr[row];
    const Row *to = from.to + from.ptr[row];
    for (Offset n = team.team_rank(); n < count * square; n += threads) {
      const bool by_rows = layout == ValueLayout::scalar_rows;
      const Offset block = by_rows ? n / bs % count : n / square;
      const Offset inside = by_rows ? n % bs * bs + n / (bs * count) : n % square;
      out[to[block] * square + inside] = from.values[from.ptr[row] * square + n];
    }
  }
};

template <class Space, class Style> class ValuesInPlace {
public:
  // Computes where the blocks of the matrix go, unless that is known.
  void prepare(const Space &space, BlockRows &source, const ColorPlan &plan)
  {
    if (layout_ == source.arrays().layout) return;
    layout_ = ValueLayout::none; // until all arrays have been made
    PieceStructure piece[2];
    for (int p = 0; p < 2; ++p) piece[p] = source.structure(p);
    std::vector<Row> to[2];
    for (int p = 0; p < 2; ++p)
      to[p].resize(piece[p].ptr.empty() ? 0 : static_cast<std::size_t>(piece[p].ptr.back()));
    for (Row row = 0; row < plan.rows; ++row) {
      const auto at = static_cast<std::size_t>(plan.row_of[row]);
      const Offset in_first = piece[0].ptr[at + 1] - piece[0].ptr[at] - 1;
      Row number = 0;
      to[0][static_cast<std::size_t>(piece[0].ptr[at] + piece[0].diagonal[at])] = number++;
      for (const Triangle *triangle : {&plan.lower, &plan.upper})
        for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k) {
          const Offset of_row = triangle->source[k];
          if (of_row < in_first)
            to[0][static_cast<std::size_t>(piece[0].ptr[at] + of_row +
                                           (of_row >= piece[0].diagonal[at] ? 1 : 0))] = number++;
          else
            to[1][static_cast<std::size_t>(piece[1].ptr[at] + of_row - in_first)] = number++;
        }
    }
    partial_ = false;
    for (int p = 0; p < 2; ++p) {
      ptr_[p].upload(space, piece[p].ptr);
      entry_ptr_[p].upload(space, piece[p].entry_ptr);
      to_[p].upload(space, to[p]);
      slot_[p].upload(space, piece[p].slot);
      partial_ = partial_ || !piece[p].entry_ptr.empty();
    }
    layout_ = source.arrays().layout;
  }

  // Copies the values of the plan rows [args.begin, args.end).
  void copy(const Space &space, const ValueArrays &arrays, const SetupArgs &args,
            double *values) const
  {
    using Kernel = CopyBlocks<Space, team_size<Space>(Style::setup_team)>;
    Kernel kernel{args, layout_, partial_, {}, values};
    for (int p = 0; p < 2; ++p)
      if (ptr_[p].size() > 0)
        kernel.piece[p] = {arrays.piece[p], ptr_[p].data(), entry_ptr_[p].data(), to_[p].data(),
                           slot_[p].data()};
    Kokkos::parallel_for(
        "mcpi copy blocks",
        typename Kernel::Policy(space, args.end - args.begin, team_size<Space>(Style::setup_team)),
        kernel);
  }

  std::size_t bytes() const
  {
    std::size_t sum = 0;
    for (int p = 0; p < 2; ++p)
      sum += ptr_[p].bytes() + entry_ptr_[p].bytes() + to_[p].bytes() + slot_[p].bytes();
    return sum;
  }

private:
  ValueLayout layout_ = ValueLayout::none;
  bool partial_ = false;
  Array<Space, Offset> ptr_[2], entry_ptr_[2];
  Array<Space, Row> to_[2];
  Array<Space, std::uint32_t> slot_[2];
};

template <class Space, class Style> class NumericSetup {
public:
  NumericSetup(const Space &space, const NumericConfig &config, Operator<Space, Style> &target,
               const ColorPlan &plan, const Row *row_of)
      : config_(config), target_(target), plan_(plan), row_of_(row_of),
        square_(static_cast<std::size_t>(plan.bs) * plan.bs), updater_(config, plan.bs)
  {
    diagonal_.resize(space, static_cast<std::size_t>(plan.rows) * square_);
    scales_.resize(space, 2 * static_cast<std::size_t>(plan.bs));
    maxima_.resize(space, square_ + 2);
    bad_.resize(space, 1);
  }

  // Collective, because of reduce. See StoredMatrix::refresh().
  int refresh(const Space &space, BlockRows &source, const MaxReduce &reduce, NumericStatus &status)
  {
    return updater_.refresh(
        [&](ScaleUpdater::Pass kind) {
          convert(space, source, kind == ScaleUpdater::Pass::store, status);
        },
        reduce, status);
  }

  const Scales &scales() const { return updater_.scales(); }
  const InverseRange &inverse_range() const { return inverse_range_; }
  const double *diagonal() const { return diagonal_.data(); }
  const double *left() const { return scales_.data(); }
  const double *right() const { return scales_.data() + plan_.bs; }
  std::size_t bytes() const
  {
    return diagonal_.bytes() + scales_.bytes() + maxima_.bytes() + values_.bytes() +
           replaced_.bytes() + in_place_.bytes();
  }

private:
  // Blocks of the plan rows before a row, diagonal blocks included
  Offset blocks_before(Row row) const { return row + plan_.lower.ptr[row] + plan_.upper.ptr[row]; }

  void convert(const Space &space, BlockRows &source, bool store, NumericStatus &status)
  {
    scales_.copy_in(space, scales().left.data(), scales().left.size());
    scales_.copy_in(space, scales().right.data(), scales().right.size(), scales().left.size());
    maxima_.fill(space, 0);
    bad_.fill(space, kNoBadRow);
    SetupArgs args{};
    target_.set(args);
    args.row_of = row_of_;
    args.diagonal = diagonal_.data();
    args.left = left();
    args.right = right();
    args.maxima = maxima_.data();
    args.bad = bad_.data();
    args.prescaled = config_.form == PC_MCPI_FORM_PRESCALED;
    args.store = store;
    const ValueArrays arrays = source.arrays();
    if (arrays.device && arrays.diagonal) {
      const auto count = static_cast<std::size_t>(plan_.rows) * square_;
      if (replaced_.size() < count) replaced_.resize(space, count);
      replaced_.copy_in(space, arrays.diagonal, count);
      args.replaced = replaced_.data();
    }
    if (arrays.device) {
      in_place_.prepare(space, source, plan_);
      Kokkos::fence("mcpi values made"); // The matrix may have been assembled on any stream.
    }
    for (Row begin = 0; begin < plan_.rows;) {
      Row end = begin + 1;
      while (end < plan_.rows && numbers(begin, end + 1) * sizeof(double) <= kMostValues) ++end;
      args.begin = begin;
      args.end = end;
      args.first = blocks_before(begin);
      args.values = arrays.device ? copy(space, arrays, args) : read(space, source, begin, end);
      invert_diagonals<Space>(space, team_size<Space>(Style::setup_team), args);
      target_.kernel_table().convert(space, args);
      begin = end;
    }
    unsigned long long bad = kNoBadRow;
    std::vector<unsigned long long> maxima(square_ + 2);
    bad_.copy_out(space, &bad, 1);
    maxima_.copy_out(space, maxima.data(), maxima.size());
    status.set(bad);
    inverse_range_ = {std::bit_cast<double>(maxima[square_]),
                      std::bit_cast<double>(maxima[square_ + 1])};
    maxima.resize(square_);
    std::transform(maxima.begin(), maxima.end(), updater_.maxima().begin(),
                   [](unsigned long long bits) { return std::bit_cast<double>(bits); });
  }

  std::size_t numbers(Row begin, Row end) const
  {
    return static_cast<std::size_t>(blocks_before(end) - blocks_before(begin)) * square_;
  }

  // Copies the values of the plan rows [args.begin, args.end) to values_, from the memory of the
  // execution space.
  const double *copy(const Space &space, const ValueArrays &arrays, const SetupArgs &args)
  {
    const std::size_t count = numbers(args.begin, args.end);
    if (values_.size() < count) {
      space.fence("mcpi values"); // The previous values have been read.
      values_.resize(space, count);
    }
    in_place_.copy(space, arrays, args, values_.data());
    return values_.data();
  }
  // Reads the values of plan rows from host memory, row by row. Returns them where the execution
  // space can read them.
  const double *read(const Space &space, BlockRows &source, Row begin, Row end)
  {
    const std::size_t count = numbers(begin, end);
    space.fence("mcpi values"); // The previous values have been read.
    if (host_.size() < count) host_.resize(count);
    double *out = host_.data();
    for (Row row = begin; row < end; ++row) {
      const double *diagonal = nullptr;
      const double *const *offdiag = nullptr;
      source.row(plan_.row_of[row], diagonal, offdiag);
      out = std::copy_n(diagonal, square_, out);
      for (const Triangle *triangle : {&plan_.lower, &plan_.upper})
        for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k)
          out = std::copy_n(offdiag[triangle->source[k]], square_, out);
    }
    if constexpr (reaches_host<Space>) return host_.data();
    if (values_.size() < count) values_.resize(space, count);
    values_.copy_in(space, host_.data(), count);
    return values_.data();
  }

  const NumericConfig config_;
  Operator<Space, Style> &target_;
  const ColorPlan &plan_;
  const Row *row_of_;
  const std::size_t square_;
  ScaleUpdater updater_;
  InverseRange inverse_range_;
  std::vector<double> host_;
  Array<Space, double> diagonal_, scales_, values_, replaced_;
  Array<Space, unsigned long long> maxima_, bad_;
  ValuesInPlace<Space, Style> in_place_;
};

} // namespace mcpi::kokkos
