// The limit up to which one rank colors a graph, as tests change it
#pragma once

#include <utility>

#include "setup/coloring_type.h"

namespace mcpi::test {

// Sets the limit for the life of the object. With 0 all ranks color small graphs together.
class MostOfOneRank {
public:
  explicit MostOfOneRank(PetscInt64 most) : before_(std::exchange(coloring::most_of_one_rank, most))
  {
  }
  MostOfOneRank(const MostOfOneRank &) = delete;
  MostOfOneRank &operator=(const MostOfOneRank &) = delete;
  ~MostOfOneRank() { coloring::most_of_one_rank = before_; }

private:
  PetscInt64 before_;
};

} // namespace mcpi::test
