// The blocks of a matrix as an execution space stores them: values in, records out, products.
// Backends sweep with them. They need no backend.
#pragma once

#include <algorithm>
#include <memory>

#include "backend/kokkos/numeric_setup.h"

namespace mcpi::kokkos {

template <class Space, class Style> class StoredBlocks {
public:
  using Blocks = Operator<Space, Style>;

  StoredBlocks(const Space &space, const ColorPlan &plan, const NumericConfig &config,
               bool double_vectors)
      : plan_(plan), double_vectors_(double_vectors),
        forward_(space, plan, config.storage, double_vectors), row_of_(space, plan.row_of),
        setup_(space, config, forward_, plan, row_of_.data())
  {
  }

  // See StoredMatrix::refresh().
  int refresh(const Space &space, BlockRows &source, const MaxReduce &reduce, NumericStatus &status)
  {
    return setup_.refresh(space, source, reduce, status);
  }

  // Copies the records (core/codec.h) of these stored blocks to host memory. Blocks are numbered
  // from the lower to the upper triangle.
  void pack_records(const Space &space, const std::vector<Offset> &stored, std::byte *records)
  {
    if (stored.empty()) return;
    Array<Space, Offset> list(space, stored);
    Array<Space, std::byte> packed;
    packed.resize(space, stored.size() * forward_.shape().record);
    RecordsArgs args = records_args();
    args.to = forward_.shape();
    args.to.kind = LayoutKind::records;
    args.stored = list.data();
    args.size = stored.size();
    args.records = packed.data();
    forward_.kernel_table().read_records(space, args);
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
    RecordsArgs args = records_args();
    args.to = transposed_->shape();
    args.stored = sources_.data();
    args.size = sources_.size();
    args.received = received_.data();
    args.records = transposed_->blocks();
    args.to_slots = transposed_->slots();
    forward_.kernel_table().write_transposed(space, args);
    space.fence("mcpi transpose");
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
  const NumericSetup<Space, Style> &setup() const { return setup_; }
  const Row *row_of() const { return row_of_.data(); } // matrix row of a plan row
  std::size_t bytes() const
  {
    return forward_.bytes() + (transposed_ ? transposed_->bytes() : 0) + setup_.bytes() +
           sources_.bytes() + received_.bytes() + row_of_.bytes() + zeros_.bytes();
  }

private:
  RecordsArgs records_args() const
  {
    RecordsArgs args{};
    args.from = forward_.shape();
    args.blocks = forward_.blocks();
    args.slots = forward_.slots();
    args.count = plan_.blocks();
    return args;
  }

  const ColorPlan &plan_;
  const bool double_vectors_;
  Blocks forward_;
  Array<Space, Row> row_of_;
  NumericSetup<Space, Style> setup_;
  std::unique_ptr<Blocks> transposed_;
  Array<Space, Offset> sources_; // for each block of the transposed operator, the block it takes
  Array<Space, std::byte> received_, zeros_; // records of other ranks; rhs of products
};

} // namespace mcpi::kokkos
