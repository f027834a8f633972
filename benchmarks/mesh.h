// The vertex graph of a tetrahedral mesh: Kuhn's subdivision of an n x n x n grid, 14 neighbors inside, and random block matrices on it.
#pragma once

#include <petscmat.h>

#include <array>
#include <cstdint>

namespace bench {

constexpr std::array<std::array<int, 3>, 7> kEdges = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}}};

// Calls visit(neighbor) for each neighbor of vertex v, ascending.
template <class Visit> void for_neighbors(PetscInt n, PetscInt v, const Visit &visit)
{
  const PetscInt x = v % n, y = v / n % n, z = v / (n * n);
  const auto     step = [&](int sign, int e) {
    const PetscInt X = x + sign * kEdges[e][0], Y = y + sign * kEdges[e][1], Z = z + sign * kEdges[e][2];
    if (X >= 0 && Y >= 0 && Z >= 0 && X < n && Y < n && Z < n) visit((Z * n + Y) * n + X);
  };
  constexpr std::array<int, 7> kAscending = {0, 1, 3, 2, 5, 4, 6}; // by the offset (z*n + y)*n + x
  for (int k = 6; k >= 0; --k) step(-1, kAscending[k]);
  for (int k = 0; k < 7; ++k) step(1, kAscending[k]);
}

// In [-1, 1], the same on any partition
inline double noise(std::uint64_t key)
{
  key += 0x9e3779b97f4a7c15ULL;
  key = (key ^ (key >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  key = (key ^ (key >> 27U)) * 0x94d049bb133111ebULL;
  key ^= key >> 31U;
  return static_cast<double>(key >> 11U) / 4503599627370496.0 - 1.0;
}

// Random BAIJ matrix with full diagonally dominant diagonal blocks. Collective.
PetscErrorCode CreateMatrix(MPI_Comm comm, PetscInt n, PetscInt bs, Mat *mat);
// Its graph as a point matrix of type (mpi)aij, for colorings. Collective.
PetscErrorCode CreateGraph(MPI_Comm comm, PetscInt n, Mat *mat);

} // namespace bench
