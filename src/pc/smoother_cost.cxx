// This file implements what -ksp_view says of memory and of bytes that sweeps move.
#include "pc/smoother.h"

#include "core/memory.h"
#include "core/sparse_factors.h"

namespace mcpi {

double Smoother::host_bytes() const
{
  const auto of_triangle = [](const Triangle &t) { return bytes_of(t.ptr, t.col, t.source); };
  const auto of_plan = [&](const ColorPlan &p) {
    return bytes_of(p.color_begin, p.boundary_end, p.ghost_begin, p.stage_begin, p.chunk_begin,
                    p.row_of) +
           of_triangle(p.lower) + of_triangle(p.upper);
  };
  const auto of_ghost_rows = [](const GhostRows &g, const HaloLists &p) {
    return bytes_of(g.ptr, g.col, g.place, g.order, g.sent, g.sent_begin) +
           bytes_of(p.sends, p.receives, p.send_begin, p.receive_begin);
  };
  const double symbolic = of_plan(built_.plan) + bytes_of(built_.ghost_owner, built_.ghost_place) +
                          of_ghost_rows(ghost_rows_.rows, ghost_rows_.parts) +
                          bytes_of(graph_.ptr, graph_.col, graph_.ghosts, graph_.ghost_of_column,
                                   graph_.in_ptr, graph_.in_col, graph_.in_slot) +
                          bytes_of(coloring_.color, coloring_.ghost_color, coloring_.cluster) +
                          static_cast<double>(graph_.rows) * sizeof(ISColoringValue);
  const double transposed =
      of_plan(transposed_) + bytes_of(outgoing_, sent_, received_, empty_.flags);
  return symbolic + transposed + (method_ ? method_->host_bytes() : 0.0) +
         (on_device()
              ? 0.0
              : static_cast<double>(backend_->info().memory_bytes) + residual_.memory_bytes());
}

double Smoother::device_bytes() const
{
  if (!on_device()) return 0.0;
  return static_cast<double>(backend_->info().memory_bytes) + residual_.memory_bytes() +
         (method_ ? method_->device_bytes() : 0.0);
}

double Smoother::sweep_bytes(const Settings &settings, PetscInt its) const
{
  const ApplyArgs apply{false, 1, settings.omega};
  const MulticolorSweep sweep(plan(), *backend_, *halo_, sweep_config(settings));
  const double passes =
      static_cast<double>(its) * (settings.sweep == PC_MCPI_SWEEP_SYMMETRIC ? 2 : 1);
  const double number = double_vectors() ? sizeof(double) : sizeof(float);
  const double entry = number * plan().bs * apply.nrhs;
  // Each block: its record and its column are read. Each row, in each pass: two row pointers, the
  // right-hand side and x are read, and x is written. If there is a rounded copy of x, the copy is
  // read and written as well, and x itself is read only if omega is not 1.
  const double gathered = static_cast<double>(backend_->row_bytes(apply).gathered);
  const double vectors =
      gathered > 0.0 ? (settings.omega == 1.0 ? 2.0 : 3.0) * entry + 2.0 * gathered : 3.0 * entry;
  const OperatorInfo info = backend_->info();
  constexpr double kEntry = sizeof(double) + sizeof(SparseEntries::Place);
  const bool entries = info.block_entries > 0.0;
  const double block =
      entries ? info.block_entries * kEntry : static_cast<double>(info.record_bytes);
  double bytes = static_cast<double>(sweep.blocks_read(apply, static_cast<int>(its), true)) *
                     (block + sizeof(Row)) +
                 passes * plan().rows * (vectors + 2.0 * sizeof(Offset));
  if (entries)
    bytes += passes * plan().rows * info.factor_entries * kEntry;
  else if (made_for_.form == PC_MCPI_FORM_FACTORED)
    bytes += passes * plan().rows * static_cast<double>(plan().bs) * plan().bs * sizeof(double);
  return bytes;
}

} // namespace mcpi
