// A backend that does nothing, for tests of what is asked of a backend
#pragma once

#include "sweep/backend.h"

namespace mcpi::test {

class IdleBackend : public Backend {
public:
  int refresh(BlockRows &, const MaxReduce &, NumericStatus &) override { return 0; }
  void pack_records(const std::vector<Offset> &, std::byte *) override {}
  void build_transposed(const ColorPlan &, const std::byte *) override {}
  std::unique_ptr<Backend> with_vectors(bool, bool, bool) override { return nullptr; }
  void reserve(int) override {}
  void load_rhs(const ApplyArgs &, const ConstColumns &) override {}
  void load_guess(const ApplyArgs &, const ConstColumns &) override {}
  void relax(const ApplyArgs &, const RelaxStep &) override {}
  void store(const ApplyArgs &, const MutableColumns &) override {}
  void *vector() override { return nullptr; }
  RowBytes row_bytes(const ApplyArgs &) const override { return {1, 0}; }
  void transfer(const ApplyArgs &, Row, Row, Transfer, bool) override {}
  OperatorInfo info() const override { return {0, 0, {1.0, 1.0}, &scales_}; }

private:
  Scales scales_;
};

} // namespace mcpi::test
