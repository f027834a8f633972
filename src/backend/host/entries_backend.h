// The backend for blocks with few entries, on CPUs. It works on the entries of the matrix, in
// double precision, and keeps sparse factors of the diagonal blocks instead of their inverses.
#pragma once

#include <memory>

#include "sweep/backend.h"

namespace mcpi {

std::unique_ptr<Backend> make_entries_backend(const ColorPlan &plan);

} // namespace mcpi
