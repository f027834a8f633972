// The backend that defines what the others compute: plain loops in double precision.
#pragma once

#include <memory>

#include "sweep/backend.h"

namespace mcpi {

std::unique_ptr<Backend> make_reference_backend(const ColorPlan &plan, const BackendConfig &config);
// Replaces the records of a reference backend by those of another backend; see
// StoredMatrix::adopt_records().
void adopt_records(Backend &reference, const std::byte *records);

} // namespace mcpi
