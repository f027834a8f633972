// The arguments of the relaxation kernels, and how every relaxation turns a row's sums into the new
// x.
#pragma once

#include <cstddef>

#include "backend/device/relax_terms.h"
#include "backend/kokkos/numbers.h"

namespace mcpi::kokkos {

// The arguments of every relaxation kernel. Vectors are in plan order: component i of a row and
// right-hand side r is entry (row*nrhs + r)*bs + i. A kernel reads its blocks, read, rhs, kept and
// diagonal; it writes x and kept. Kernel arguments must stay below 512 bytes, because larger ones
// make Kokkos' launches wait for each other on CUDA.
struct RelaxArgs {
  void *x;          // rows, then ghosts
  const void *read; // what products read: x or its rounded copy
  const void *rhs;
  void *kept;             // sums over one triangle, kept for the next pass
  const double *diagonal; // inverse diagonal blocks, column-major, in plan order
  const std::byte *blocks;
  const SellTile *sell_tiles;  // sell: all tiles
  const SellRow *sell_rows;    // sell: all plan rows
  const device::Tile *tiles;   // slices: all tiles
  const device::RowEnds *ends; // slices: all plan rows
  const Offset *ptr[2]; // records: blocks before a row, in the lower and in the upper triangle
  const Row *col[2];    // records: column index of each block
  Offset lowers;        // number of blocks of the lower triangle
  Scalar alpha = 1.0, omega = 1.0;
  Shape shape;
  Row begin, end;                      // records: the plan rows to relax
  std::uint32_t first_tile, last_tile; // sell, slices: the tiles to relax
  int nrhs;
  bool long_rows; // slices: some row has more slices than a team takes at a time
  unsigned flags; // RelaxFlag
};
static_assert(sizeof(RelaxArgs) < 400);

// Launches the relaxation of the tiles of args, or, with records, of the rows.
template <class Space> using RelaxFn = void (*)(const Space &, const RelaxArgs &);

template <class Space, PCMCPIPrecision storage, class T, int bs>
void relax_sell(const Space &space, const RelaxArgs &args);
template <class Space, PCMCPIPrecision storage, class T, int bs>
void relax_slices(const Space &space, const RelaxArgs &args);
template <class Space, class Style, PCMCPIPrecision storage, class T>
void relax_records(const Space &space, const RelaxArgs &args);

// Loads and stores of n neighboring numbers in an array of such runs. A device moves as many at
// once as their alignment allows.
template <class T, int n> struct RunOf {
  static constexpr std::size_t bytes = n * sizeof(T);
  static constexpr int wide = bytes % 16 == 0 ? 16 / sizeof(T) : bytes % 8 == 0 ? 8 / sizeof(T) : 1;
  struct alignas(wide * sizeof(T)) Piece {
    T v[wide];
  };
};
template <class T, int n> KOKKOS_FORCEINLINE_FUNCTION void load_run(const T *from, T (&to)[n])
{
  using Run = RunOf<T, n>;
  MCPI_UNROLL
  for (int q = 0; q < n / Run::wide; ++q) {
    const typename Run::Piece piece = reinterpret_cast<const typename Run::Piece *>(from)[q];
    MCPI_UNROLL
    for (int k = 0; k < Run::wide; ++k) to[q * Run::wide + k] = piece.v[k];
  }
}
template <class T, int n> KOKKOS_FORCEINLINE_FUNCTION void store_run(const T (&from)[n], T *to)
{
  using Run = RunOf<T, n>;
  MCPI_UNROLL
  for (int q = 0; q < n / Run::wide; ++q) {
    typename Run::Piece piece;
    MCPI_UNROLL
    for (int k = 0; k < Run::wide; ++k) piece.v[k] = from[q * Run::wide + k];
    reinterpret_cast<typename Run::Piece *>(to)[q] = piece;
  }
}

// Sums of one component of a row over the two triangles
template <class T> struct TriangleSums {
  T lower = 0, upper = 0;
};

// Returns a component of the row's residual, and keeps a sum or zero as args.flags say. at: the
// component's place in the vectors.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T residual(const RelaxArgs &args, T rhs, TriangleSums<T> sums,
                                       std::size_t at)
{
  const bool lower_near = args.flags & kLowerIsNear;
  const T near_sum = lower_near ? sums.lower : sums.upper,
          far_sum = lower_near ? sums.upper : sums.lower;
  T *kept = static_cast<T *>(args.kept);
  T sum = near_sum + far_sum;
  if (args.flags & kUseKept) sum += kept[at];
  if (args.flags & kKeepSum) kept[at] = near_sum;
  if (args.flags & kKeepZero) kept[at] = T(0);
  return rhs - args.alpha.as<T>() * sum;
}

// Returns component i of a row's inverse diagonal block, or of its transpose, times v.
template <class V>
KOKKOS_FORCEINLINE_FUNCTION double apply_diagonal(const double *diagonal, Row row, int bs, int i,
                                                  bool transposed, const V &v)
{
  const double *block = diagonal +
                        static_cast<std::size_t>(row) * static_cast<std::size_t>(bs * bs) +
                        (transposed ? i * bs : i);
  const int step = transposed ? 1 : bs;
  double sum = 0.0;
  for (int j = 0; j < bs; ++j) sum += block[j * step] * static_cast<double>(v[j]);
  return sum;
}

// Returns the new x: the update damped by omega. *x is the old one.
template <class T> KOKKOS_FORCEINLINE_FUNCTION T damped(const RelaxArgs &args, T update, const T *x)
{
  const T omega = args.omega.as<T>();
  if (omega == T(1)) return update;
  return args.flags & kFromZero ? omega * update : (T(1) - omega) * *x + omega * update;
}
// Updates one component of x, at its place in the vectors.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void relax_component(const RelaxArgs &args, T update, std::size_t at)
{
  T *x = static_cast<T *>(args.x) + at;
  *x = damped(args, update, x);
}
// The same for n neighboring components.
template <class T, int n>
KOKKOS_FORCEINLINE_FUNCTION void relax_components(const RelaxArgs &args, T (&update)[n],
                                                  std::size_t at)
{
  T *x = static_cast<T *>(args.x) + at;
  MCPI_UNROLL
  for (int c = 0; c < n; ++c) update[c] = damped(args, update[c], x + c);
  store_run(update, x);
}

} // namespace mcpi::kokkos
