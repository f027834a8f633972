#include "halo/sf.h"

#include <numeric>

#include "petsc/compat.h"

namespace mcpi {
namespace {

class SFHalo final : public Halo {
public:
  SFHalo(PetscInt rows, PetscLogEvent event) : rows_(rows), event_(event) {}
  SFHalo(const SFHalo &) = delete;
  SFHalo &operator=(const SFHalo &) = delete;

  ~SFHalo() override
  {
    for (PetscSF &sf : sf_) (void)PetscSFDestroy(&sf);
    if (unit_ != MPI_DATATYPE_NULL) (void)MPI_Type_free(&unit_);
  }

  // The PetscSF of a color is a part of that for all colors. PETSc makes it from messages between
  // neighbors. A PetscSF made from its graph would take reductions for every color.
  PetscErrorCode setup(MPI_Comm comm, const std::vector<PetscInt> &begin,
                       const std::vector<PetscSFNode> &remote)
  {
    PetscSF all;

    PetscFunctionBegin;
    PetscCall(PetscSFCreate(comm, &all));
    sf_.push_back(all);
    PetscCall(PetscSFSetFromOptions(all));
    PetscCall(PetscSFSetGraph(all, rows_, static_cast<PetscInt>(remote.size()), nullptr,
                              PETSC_COPY_VALUES, const_cast<PetscSFNode *>(remote.data()),
                              PETSC_COPY_VALUES));
    PetscCall(PetscSFSetUp(all));
    for (std::size_t c = 0; c + 1 < begin.size(); ++c) {
      std::vector<PetscInt> rows(static_cast<std::size_t>(begin[c + 1] - begin[c]));
      std::iota(rows.begin(), rows.end(), begin[c]);
      PetscSF sf;
      PetscCall(
          PetscSFCreateEmbeddedRootSF(all, static_cast<PetscInt>(rows.size()), rows.data(), &sf));
      sf_.insert(sf_.end() - 1, sf);
      PetscCall(PetscSFSetUp(sf));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  int prepare(std::size_t entry_bytes) override
  {
    PetscFunctionBegin;
    if (entry_bytes != entry_bytes_) {
      if (unit_ != MPI_DATATYPE_NULL) PetscCallMPI(MPI_Type_free(&unit_));
      PetscCallMPI(
          MPI_Type_contiguous(static_cast<int>(entry_bytes / sizeof(float)), MPI_FLOAT, &unit_));
      PetscCallMPI(MPI_Type_commit(&unit_));
      entry_bytes_ = entry_bytes;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  int begin(int color, void *x) override
  {
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(event_, sf_[color], 0, 0, 0));
    PetscCall(PetscSFBcastBegin(sf_[color], unit_, x, ghosts(x), MPI_REPLACE));
    PetscCall(PetscLogEventEnd(event_, sf_[color], 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  int end(int color, void *x) override
  {
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(event_, sf_[color], 0, 0, 0));
    PetscCall(PetscSFBcastEnd(sf_[color], unit_, x, ghosts(x), MPI_REPLACE));
    PetscCall(PetscLogEventEnd(event_, sf_[color], 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  int exchange_all(void *x) override
  {
    const int all = static_cast<int>(sf_.size()) - 1;

    PetscFunctionBegin;
    PetscCall(static_cast<PetscErrorCode>(begin(all, x)));
    PetscCall(static_cast<PetscErrorCode>(end(all, x)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  void *ghosts(void *x) const
  {
    return static_cast<std::byte *>(x) + static_cast<std::size_t>(rows_) * entry_bytes_;
  }

  const PetscInt rows_;
  PetscLogEvent event_;
  std::vector<PetscSF> sf_;               // one for each color, then one for all colors
  MPI_Datatype unit_ = MPI_DATATYPE_NULL; // one block row
  std::size_t entry_bytes_ = 0;
};

} // namespace

PetscErrorCode CreateSFHalo(MPI_Comm comm, const std::vector<PetscInt> &begin,
                            const std::vector<PetscSFNode> &remote, PetscLogEvent event,
                            std::unique_ptr<Halo> *halo)
{
  auto sf = std::make_unique<SFHalo>(begin.back(), event);

  PetscFunctionBegin;
  PetscCall(sf->setup(comm, begin, remote));
  *halo = std::move(sf);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
