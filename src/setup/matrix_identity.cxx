#include "setup/matrix_identity.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/hash.h"
#include "core/threads.h"
#include "core/tuning.h"
#include "petsc/compat.h"

namespace mcpi {
namespace {

// Every numeric set-up of BAIJ computes this hash, so it should be as fast as memory. It therefore
// keeps several independent hashes, and takes 64-bit words: two indices a word if PetscInt has 32
// bits, else one.
std::uint64_t hash_of_part(const PetscInt *values, std::size_t count)
{
  std::uint64_t hash = 0;
  constexpr std::size_t kLanes = CommonTuning::kHashLanes,
                        kIndices = sizeof(std::uint64_t) / sizeof(PetscInt),
                        kStep = kLanes * kIndices;
  std::array<std::uint64_t, kLanes> lanes, words;
  for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = lane;
  std::size_t k = 0;
  for (; k + kStep <= count; k += kStep) {
    std::memcpy(words.data(), values + k, sizeof(words));
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = stirred(lanes[lane], words[lane]);
  }
  for (; k < count; ++k) hash = stirred(hash, static_cast<std::uint64_t>(values[k]));
  for (const std::uint64_t lane : lanes) hash = stirred(hash, lane);
  return hash;
}

PetscErrorCode marks_of(Mat mat, MatrixIdentity::Marks *marks)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)mat, &marks->id));
  PetscCall(MatGetNonzeroState(mat, &marks->nonzero_state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode add_columns(Mat portion, int threads, std::uint64_t *hash)
{
  RowStructure structure;

  PetscFunctionBegin;
  PetscCall(structure.open(portion, true));
  const auto rows = static_cast<std::size_t>(structure.rows);
  if (rows > 0) {
    *hash = HashOfIndices(structure.i, rows + 1, *hash, threads);
    *hash = HashOfIndices(structure.j, static_cast<std::size_t>(structure.i[rows]), *hash, threads);
  }
  PetscCall(structure.close());
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

std::uint64_t HashOfIndices(const PetscInt *values, std::size_t count, std::uint64_t hash,
                            int threads)
{
  constexpr std::size_t kPart = CommonTuning::kHashedPart;
  std::vector<std::uint64_t> hashes((count + kPart - 1) / kPart);
  share_among_threads(hashes.size(), std::min(threads, CommonTuning::kHashThreads),
                      [&](std::size_t part) {
                        const std::size_t begin = part * kPart;
                        hashes[part] = hash_of_part(values + begin, std::min(kPart, count - begin));
                      });
  for (const std::uint64_t part : hashes) hash = stirred(hash, part);
  return stirred(hash, count);
}

PetscErrorCode MatrixIdentityGet(Mat mat, const MatrixPortions &portions, int threads,
                                 MatrixIdentity *identity)
{
  MatType type;
  MatInfo info;
  PetscBool bound;

  PetscFunctionBegin;
  *identity = MatrixIdentity();
  PetscCall(PetscObjectGetId((PetscObject)mat, &identity->id));
  PetscCall(MatGetLocalSize(mat, &identity->local_rows, &identity->local_columns));
  PetscCall(MatGetType(mat, &type));
  PetscCall(MatBoundToCPU(mat, &bound));
  identity->type = std::string(type) + (bound ? " on the host" : "");
  identity->bs = portions.bs;
  identity->nonzeros = 0;
  for (Mat portion : {portions.diag, portions.offdiag})
    if (portion) {
      PetscCall(MatGetInfo(portion, MAT_LOCAL, &info));
      identity->nonzeros += info.nz_used;
      if (portions.blocked)
        PetscCall(add_columns(portion, threads, &identity->columns));
      else if (info.nz_used > 0) // An empty portion gets a new state at every MatShift().
        PetscCall(
            marks_of(portion, portion == portions.diag ? &identity->diag : &identity->offdiag));
    }
  if (portions.blocked && portions.offdiag) {
    PetscInt columns;
    PetscCall(MatGetLocalSize(portions.offdiag, nullptr, &columns));
    identity->columns =
        HashOfIndices(portions.garray, static_cast<std::size_t>(columns / portions.bs),
                      identity->columns, threads);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
