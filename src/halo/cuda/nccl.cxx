#include "halo/cuda/nccl.h"

#include "petsc/compat.h"

#if !defined(MCPI_WITHOUT_NCCL) && __has_include(<nccl.h>)
#include <cuda_runtime.h>

#include "cuda/memory.h"
#include "halo/cuda/devices.h"
#include "halo/cuda/nccl_library.h"
#include "halo/cuda/pack.h"
#include "petsc/collective.h"

namespace mcpi {
namespace {

class NcclHalo final : public Halo {
public:
  NcclHalo(const ColorPlan &plan, HaloLists lists, const NcclLibrary &nccl)
      : nccl_(nccl), plan_rows_(static_cast<std::size_t>(plan.rows)), colors_(plan.colors),
        lists_(std::move(lists)), rows_(lists_.rows)
  {
  }
  NcclHalo(const NcclHalo &) = delete;
  NcclHalo &operator=(const NcclHalo &) = delete;
  ~NcclHalo() override
  {
    (void)cudaDeviceSynchronize();
    if (comm_) (void)nccl_.comm_destroy(comm_);
  }

  // Connects the ranks. Collective. *reason is empty, or says on all ranks why that failed.
  PetscErrorCode connect(MPI_Comm comm, std::string *reason);

  bool on_device() const override { return true; }
  void use_stream(void *stream, std::uint32_t) override
  {
    stream_ = static_cast<cudaStream_t>(stream);
  }

  int prepare(std::size_t entry_bytes) override
  {
    if (entry_bytes <= reserved_) {
      entry_ = entry_bytes;
      return 0;
    }
    // Zero until all ranks have the memory. If one rank had none, the others would wait in NCCL.
    reserved_ = 0;
    std::string problem;
    if (const PetscErrorCode error = RunAgreed(
            mpi_, [&] { packed_.resize(lists_.rows.size() * entry_bytes); }, &problem))
      return static_cast<int>(error);
    if (!problem.empty()) throw cuda::Error(problem);
    entry_ = reserved_ = entry_bytes;
    return 0;
  }
  int begin(int color, void *x) override
  {
    exchange(color, color + 1, x);
    return 0;
  }
  int end(int, void *) override { return 0; }
  int exchange_all(void *x) override
  {
    exchange(0, colors_, x);
    return 0;
  }

private:
  void exchange(int begin_color, int end_color, void *x)
  {
    const std::size_t first = lists_.rows_begin(begin_color),
                      count = lists_.rows_begin(end_color) - first;
    std::byte *ghosts = static_cast<std::byte *>(x) + plan_rows_ * entry_;
    cuda::pack_rows(x, entry_, rows_.data() + first, count, packed_.data() + first * entry_,
                    stream_);
    check(nccl_.group_start());
    for (int color = begin_color; color < end_color; ++color) {
      for (const HaloPart &part : lists_.sends_of(color))
        check(nccl_.send(packed_.data() + part.first * entry_, part.count * entry_, ncclInt8,
                         part.rank, comm_, stream_));
      for (const HaloPart &part : lists_.receives_of(color))
        check(nccl_.recv(ghosts + part.first * entry_, part.count * entry_, ncclInt8, part.rank,
                         comm_, stream_));
    }
    check(nccl_.group_end());
  }
  void check(ncclResult_t result) const
  {
    if (result != ncclSuccess && result != ncclInProgress)
      throw cuda::Error(std::string("NCCL: ") + nccl_.get_error_string(result));
  }

  const NcclLibrary &nccl_;
  const std::size_t plan_rows_;
  const int colors_;
  const HaloLists lists_;
  cuda::DeviceArray<Row> rows_; // lists_.rows on the device
  cuda::DeviceArray<std::byte> packed_;
  MPI_Comm mpi_ = MPI_COMM_NULL;
  // Bytes of a block row, and the largest such number for which packed_ has room
  std::size_t entry_ = 0, reserved_ = 0;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

PetscErrorCode NcclHalo::connect(MPI_Comm comm, std::string *reason)
{
  PetscMPIInt rank, size;
  ncclUniqueId id{};

  PetscFunctionBegin;
  mpi_ = comm;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  const auto name = [&] {
    if (rank == 0) check(nccl_.get_unique_id(&id));
  };
  PetscCall(RunAgreed(comm, name, reason));
  if (!reason->empty()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, comm));
  PetscCall(RunAgreed(
      comm, [&] { check(nccl_.comm_init_rank(&comm_, size, id, rank)); }, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode CreateNcclHalo(MPI_Comm comm, const ColorPlan &plan,
                              const std::vector<PetscSFNode> &remote, std::unique_ptr<Halo> *halo,
                              std::string *reason)
{
  const NcclLibrary *library = NcclLibrary::open(reason);
  PetscMPIInt missing = library == nullptr;
  std::vector<RankDevice> devices;
  HaloLists lists;
  std::unique_ptr<NcclHalo> nccl;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &missing, 1, MPI_INT, MPI_MAX, comm));
  if (missing) {
    if (reason->empty()) *reason = "another rank has no NCCL";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DevicesOfRanks(comm, &devices, reason));
  if (reason->empty() && any_shared(devices)) *reason = "ranks share a device";
  if (!reason->empty()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HaloListsCreate(comm, plan, remote, &lists));
  PetscCall(RunAgreed(
      comm, [&] { nccl = std::make_unique<NcclHalo>(plan, std::move(lists), *library); }, reason));
  if (reason->empty()) PetscCall(nccl->connect(comm, reason));
  if (reason->empty()) *halo = std::move(nccl);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi

#else

namespace mcpi {

PetscErrorCode CreateNcclHalo(MPI_Comm, const ColorPlan &, const std::vector<PetscSFNode> &,
                              std::unique_ptr<Halo> *, std::string *reason)
{
  PetscFunctionBegin;
  *reason = "this libpetscmcpi was built without NCCL";
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi

#endif
