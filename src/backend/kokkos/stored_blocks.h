// The blocks of a matrix as an execution space stores them: values in, records out, products.
// Backends sweep with them. They need no backend.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>

#include "backend/kokkos/values_in_place.h"
#include "core/scale_updater.h"

namespace mcpi::kokkos {

template <class Space> class StoredBlocks {
public:
  using Blocks = Operator<Space>;

  StoredBlocks(const Space &space, const ColorPlan &plan, const NumericConfig &config,
               bool double_vectors)
      : plan_(plan), config_(config), double_vectors_(double_vectors),
        square_(static_cast<std::size_t>(plan.bs) * plan.bs),
        forward_(space, plan, config.storage, double_vectors), row_of_(space, plan.row_of),
        updater_(config, plan.bs)
  {
    diagonal_.resize(space, static_cast<std::size_t>(plan.rows) * square_);
    scales_.resize(space, 2 * static_cast<std::size_t>(plan.bs));
    maxima_.resize(space, square_ + kRangeNumbers);
    bad_.resize(space, 1);
  }

  // See StoredMatrix::refresh(). Diagonal blocks are inverted. Off-diagonal blocks are multiplied,
  // scaled, rounded, and stored where the sweeps read them.
  int refresh(const Space &space, BlockRows &source, const MaxReduce &reduce, NumericStatus &status)
  {
    return updater_.refresh(
        [&](ScaleUpdater::Pass kind) {
          convert(space, source, kind == ScaleUpdater::Pass::store, status);
        },
        reduce, status);
  }

  // Copies the records (core/codec.h) of these stored blocks to host memory. Blocks are numbered
  // from the lower to the upper triangle.
  void pack_records(const Space &space, const std::vector<Offset> &stored, std::byte *records)
  {
    if (stored.empty()) return;
    Array<Space, Offset> list(space, stored);
    Array<Space, std::byte> packed;
    packed.resize(space, stored.size() * forward_.shape().record);
    CopyArgs args = copy_args();
    args.to = record_memory(packed.data());
    args.stored = list.data();
    args.size = stored.size();
    forward_.kernel_table().copy(space, args);
    packed.copy_out(space, records, packed.size());
  }

  // Stores the transposed blocks in the order of the transposed plan. received: the records of
  // other ranks' blocks.
  void build_transposed(const Space &space, const ColorPlan &plan, const std::byte *received)
  {
    if (!transposed_) { // Either all members are made, or none if memory runs out.
      auto transposed =
          std::make_unique<Blocks>(space, plan, forward_.shape().storage, double_vectors_);
      Array<Space, std::byte> room;
      std::vector<Offset> sources(plan.lower.source);
      sources.insert(sources.end(), plan.upper.source.begin(), plan.upper.source.end());
      Offset most = plan_.blocks();
      for (const Offset source : sources) most = std::max(most, source + 1);
      Array<Space, Offset> places(space, sources);
      room.resize(space, static_cast<std::size_t>(most - plan_.blocks()) * forward_.shape().record);
      transposed_ = std::move(transposed);
      sources_ = std::move(places);
      received_ = std::move(room);
    }
    received_.copy_in(space, received, received_.size());
    CopyArgs args = copy_args();
    args.received = record_memory(received_.data());
    args.to = transposed_->memory();
    args.to_slots = transposed_->slots();
    args.stored = sources_.data();
    args.size = sources_.size();
    args.transposed = true;
    forward_.kernel_table().copy(space, args);
    space.fence("mcpi transpose");
  }

  // Takes over the blocks of the same plan, as they are stored for vectors of another precision.
  void take(const Space &space, StoredBlocks &from)
  {
    updater_.take(from.updater_);
    inverse_range_ = from.inverse_range_;
    scales_ = std::move(from.scales_);
    diagonal_ = std::move(from.diagonal_);
    std::vector<Offset> stored(static_cast<std::size_t>(plan_.blocks()));
    std::iota(stored.begin(), stored.end(), Offset{0});
    const Array<Space, Offset> list(space, stored);
    CopyArgs args = from.copy_args();
    args.to = forward_.memory();
    args.to_slots = forward_.slots();
    args.stored = list.data();
    args.size = stored.size();
    forward_.kernel_table().copy(space, args);
    space.fence("mcpi vectors");
  }

  // Launches y = B x, where B holds the off-diagonal blocks as they are stored. Vectors are in the
  // memory of the space, in plan order and vector precision; x has ghosts after the rows.
  void multiply(const Space &space, const void *x, void *y)
  {
    const std::size_t size = static_cast<std::size_t>(plan_.rows) *
                             static_cast<std::size_t>(plan_.bs) *
                             (double_vectors_ ? sizeof(double) : sizeof(float));
    if (zeros_.size() < size) zeros_.resize(space, size);
    const RelaxTerms terms = product_terms(x, y, zeros_.data());
    const std::vector<Row> parts = part_begins(plan_);
    for (std::size_t part = 0; part + 1 < parts.size(); ++part)
      forward_.relax(space, terms, parts[part], parts[part + 1]);
  }

  const Blocks &forward() const { return forward_; }
  const Blocks *transposed() const { return transposed_.get(); }
  const Scales &scales() const { return updater_.scales(); }
  const InverseRange &inverse_range() const { return inverse_range_; }
  const double *diagonal() const { return diagonal_.data(); } // inverse diagonal blocks
  const double *left() const { return scales_.data(); }       // scales of rows and of columns
  const double *right() const { return scales_.data() + plan_.bs; }
  bool prescaled() const { return config_.form == PC_MCPI_FORM_PRESCALED; }
  const Row *row_of() const { return row_of_.data(); } // matrix row of a plan row
  std::size_t bytes() const
  {
    return forward_.bytes() + (transposed_ ? transposed_->bytes() : 0) + row_of_.bytes() +
           empty_.bytes() + diagonal_.bytes() + scales_.bytes() + maxima_.bytes() +
           values_.bytes() + in_place_.bytes() + sources_.bytes() + received_.bytes() +
           zeros_.bytes();
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
    forward_.set(args);
    args.row_of = row_of_.data();
    if (source.empty()) {
      const std::size_t unknowns = static_cast<std::size_t>(plan_.rows) * plan_.bs;
      if (empty_.size() < unknowns) empty_.resize(space, unknowns);
      empty_.copy_in(space, source.empty(), unknowns);
      args.empty = empty_.data();
    }
    args.diagonal = diagonal_.data();
    args.left = left();
    args.right = right();
    args.maxima = maxima_.data();
    args.bad = bad_.data();
    args.prescaled = config_.form == PC_MCPI_FORM_PRESCALED;
    args.store = store;
    const ValueArrays arrays = source.arrays();
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
      invert_diagonals<Space>(space, team_size<Space>(kSetupTeam), args);
      forward_.kernel_table().convert(space, args);
      begin = end;
    }
    unsigned long long bad = kNoBadRow;
    std::vector<unsigned long long> maxima(square_ + kRangeNumbers);
    bad_.copy_out(space, &bad, 1);
    maxima_.copy_out(space, maxima.data(), maxima.size());
    status.set(bad);
    inverse_range_ = {std::bit_cast<double>(maxima[square_]),
                      std::bit_cast<double>(maxima[square_ + 1]),
                      std::bit_cast<double>(maxima[square_ + 2])};
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
  BlockMemory record_memory(std::byte *data) const
  {
    return {make_shape(LayoutKind::records, config_.storage, plan_.bs), data};
  }
  CopyArgs copy_args() const
  {
    CopyArgs args{};
    args.from = forward_.memory();
    args.slots = forward_.slots();
    args.count = plan_.blocks();
    return args;
  }

  const ColorPlan &plan_;
  const NumericConfig config_;
  const bool double_vectors_;
  const std::size_t square_; // numbers of a block
  Blocks forward_;
  Array<Space, Row> row_of_;

  // the numeric set-up
  ScaleUpdater updater_;
  InverseRange inverse_range_;
  std::vector<double> host_;
  Array<Space, std::uint8_t> empty_;
  Array<Space, double> diagonal_, scales_, values_;
  Array<Space, unsigned long long> maxima_, bad_;
  ValuesInPlace<Space> in_place_;

  // the transposed operator
  std::unique_ptr<Blocks> transposed_;
  Array<Space, Offset> sources_; // for each block of the transposed operator, the block it takes
  Array<Space, std::byte> received_, zeros_; // records of other ranks; rhs of products
};

} // namespace mcpi::kokkos
