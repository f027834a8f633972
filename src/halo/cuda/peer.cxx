#include "halo/cuda/peer.h"

#include <algorithm>
#include <tuple>

#include "cuda/ghost_packets.h"
#include "cuda/memory.h"
#include "halo/cuda/devices.h"
#include "petsc/collective.h"
#include "petsc/compat.h"
#include "sweep/packet_steps.h"

namespace mcpi {
namespace {

// The memory of a neighbor while it is open in this process
class RemoteMemory {
public:
  explicit RemoteMemory(const cudaIpcMemHandle_t &handle)
  {
    MCPI_CUDA(cudaIpcOpenMemHandle(&data_, handle, cudaIpcMemLazyEnablePeerAccess));
  }
  RemoteMemory(const RemoteMemory &) = delete;
  RemoteMemory &operator=(const RemoteMemory &) = delete;
  ~RemoteMemory() { (void)cudaIpcCloseMemHandle(data_); }
  uint4 *data() const { return static_cast<uint4 *>(data_); }

private:
  void *data_ = nullptr;
};

// What a rank tells a neighbor about its memory. The memory holds one acknowledgement for each of
// the rank's neighbors, then the ghosts.
struct Address {
  cudaIpcMemHandle_t handle;
  int place;     // index of the acknowledgement that the receiver of this address writes
  int neighbors; // number of acknowledgements
};

class PeerHalo final : public Halo {
public:
  PeerHalo(const ColorPlan &plan, HaloLists lists, const PeerOptions &options, bool inside)
      : plan_rows_(plan.rows), ghosts_(plan.ghosts), ghost_begin_(plan.ghost_begin),
        lists_(std::move(lists)), steps_(plan.colors), patience_(options.patience), inside_(inside)
  {
    std::vector<cuda::SentRow> sent(lists_.rows.size());
    for (const HaloPart &part : lists_.sends)
      for (std::size_t k = part.first; k < part.first + part.count; ++k)
        sent[k] = {lists_.rows[k], lists_.ghosts[k], place_of(part.rank)};
    sent_.upload(sent);
    if (inside_) prepare_inside(plan, std::move(sent));
    base_.upload(std::vector<std::uint32_t>{0});
    pinned_.resize(sizeof(int));
    *lost() = 0;
  }
  PeerHalo(const PeerHalo &) = delete;
  PeerHalo &operator=(const PeerHalo &) = delete;
  ~PeerHalo() override
  {
    bool all_here = false;
    (void)cudaDeviceSynchronize();
    remote_.clear();
    (void)wait_for_all(&all_here); // a neighbor may still write to this rank's memory
    if (!all_here)
      (void)memory_.release(); // the memory and the communicator stay until the process ends
    else if (comm_ != MPI_COMM_NULL)
      (void)MPI_Comm_free(&comm_);
  }

  // Connects the ranks. Collective. *reason is empty, or says on all ranks why that failed.
  PetscErrorCode connect(MPI_Comm comm, std::string *reason)
  {
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_dup(comm, &comm_));
    PetscCall(open(1, reason));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  bool on_device() const override { return true; }
  const GhostPackets *packets() const override { return inside_ ? &inline_exchange_ : nullptr; }
  void use_stream(void *stream, std::uint32_t missing) override
  {
    stream_ = static_cast<cudaStream_t>(stream);
    missing_ = missing;
  }

  int prepare(std::size_t entry_bytes) override
  {
    numbers_ = static_cast<std::uint32_t>(entry_bytes / sizeof(std::uint32_t));
    const std::size_t packets = cuda::packets_of(numbers_);
    if (packets > packets_) {
      std::string problem;
      if (const PetscErrorCode error = open(packets, &problem)) return static_cast<int>(error);
      if (!problem.empty()) throw cuda::Error(problem);
    }
    check_neighbors();
    inline_exchange_.args = args(nullptr);
    return 0;
  }

  int start() override
  {
    steps_.start();
    return 0;
  }
  int begin(int color, void *x) override
  {
    const std::size_t first = lists_.rows_begin(color);
    send(x, first, lists_.rows_begin(color + 1) - first, steps_.of_color(color));
    return 0;
  }
  int end(int color, void *x) override
  {
    receive(x, ghost_begin_[static_cast<std::size_t>(color)],
            ghost_begin_[static_cast<std::size_t>(color) + 1]);
    return 0;
  }
  int exchange_all(void *x) override
  {
    send(x, 0, lists_.rows.size(), steps_.of_all());
    receive(x, 0, ghosts_);
    return 0;
  }
  int finish() override
  {
    cuda::finish_packets(args(nullptr), steps_.count(), stream_);
    return 0;
  }

private:
  // The index of a rank among the neighbors
  Row place_of(int rank) const
  {
    return static_cast<Row>(
        std::lower_bound(lists_.neighbors.begin(), lists_.neighbors.end(), rank) -
        lists_.neighbors.begin());
  }

  // Makes the lists of rows for exchanges inside relaxations.
  void prepare_inside(const ColorPlan &plan, std::vector<cuda::SentRow> sent)
  {
    std::vector<cuda::RowSending> sending;
    std::vector<std::size_t> begin;
    std::sort(sent.begin(), sent.end(), [](const cuda::SentRow &a, const cuda::SentRow &b) {
      return std::tie(a.row, a.mailbox) < std::tie(b.row, b.mailbox);
    });
    auto next = sent.begin();
    for (std::size_t color = 0; color < static_cast<std::size_t>(plan.colors); ++color) {
      begin.push_back(sending.size());
      for (Row row = plan.color_begin[color]; row < plan.boundary_end[color]; ++row) {
        while (next != sent.end() && next->row < row) ++next;
        const auto first = next;
        while (next != sent.end() && next->row == row) ++next;
        const auto end = static_cast<std::uint32_t>(next - sent.begin());
        if (first == next)
          sending.push_back({0, -1, end, end});
        else
          sending.push_back({first->ghost, first->mailbox,
                             static_cast<std::uint32_t>(first - sent.begin()) + 1, end});
      }
    }
    by_row_.upload(sent);
    sending_.upload(sending);
    inline_exchange_.sent = by_row_.data();
    inline_exchange_.count = sent.size();
    for (const std::size_t one : begin) inline_exchange_.sending.push_back(sending_.data() + one);
  }

  // See PacketArgs::lost. Kernels write it.
  volatile int *lost() { return reinterpret_cast<int *>(pinned_.data()); }

  cuda::PacketArgs args(void *x)
  {
    constexpr double kNanoseconds = 1e9;
    const int neighbors = static_cast<int>(lists_.neighbors.size());
    return {mailboxes_.data(),
            neighbors,
            memory_->data(),
            memory_->data() + neighbors,
            base_.data(),
            static_cast<std::uint32_t *>(x),
            numbers_,
            static_cast<std::uint32_t>(plan_rows_),
            static_cast<unsigned long long>(patience_ * kNanoseconds),
            lost(),
            missing_};
  }
  void send(void *x, std::size_t first, std::size_t count, const PacketStep &step)
  {
    cuda::send_packets(args(x), sent_.data() + first, count, step, stream_);
  }
  void receive(void *x, Row begin, Row end)
  {
    cuda::receive_packets(args(x), static_cast<std::size_t>(begin), static_cast<std::size_t>(end),
                          steps_.count(), stream_);
  }

  // Throws if kernels of earlier applications have found that a neighbor failed.
  void check_neighbors()
  {
    require_usable();
    if (*lost() == cuda::kOvertaken)
      throw cuda::Error("another rank has given up an application, after -pc_mcpi_halo_timeout "
                        "seconds or an error: PCReset() begins anew");
    if (*lost() != 0)
      throw cuda::Error("rank " +
                        std::to_string(lists_.neighbors[static_cast<std::size_t>(*lost() - 1)]) +
                        " or another neighbor has not sent its ghost values within "
                        "-pc_mcpi_halo_timeout seconds");
  }

  // Allocates memory for ghosts with this number of packets each, and opens it on the neighbors.
  // Collective. *reason is empty, or says on all ranks why that failed.
  PetscErrorCode open(std::size_t packets, std::string *reason)
  {
    const std::size_t neighbors = lists_.neighbors.size();
    std::vector<Address> mine(neighbors), theirs(neighbors);

    PetscFunctionBegin;
    packets_ = 0; // until all ranks have done all steps
    // After all ranks have closed their neighbors' memory, none writes to it any more.
    const auto close = [&] {
      check_neighbors();
      MCPI_CUDA(cudaDeviceSynchronize());
      remote_.clear();
    };
    PetscCall(RunAgreed(comm_, close, reason));
    if (!reason->empty()) PetscFunctionReturn(PETSC_SUCCESS);
    const auto renew = [&] {
      cudaIpcMemHandle_t handle{};
      memory_->resize(
          std::max<std::size_t>(neighbors + static_cast<std::size_t>(ghosts_) * packets, 1));
      MCPI_CUDA(cudaMemset(memory_->data(), 0, memory_->bytes()));
      base_.upload(std::vector<std::uint32_t>{0});
      MCPI_CUDA(cudaDeviceSynchronize());
      MCPI_CUDA(cudaIpcGetMemHandle(&handle, memory_->data()));
      for (std::size_t k = 0; k < neighbors; ++k)
        mine[k] = {handle, static_cast<int>(k), static_cast<int>(neighbors)};
    };
    PetscCall(RunAgreed(comm_, renew, reason));
    if (!reason->empty()) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(swap_addresses(mine, &theirs));
    const auto connect_all = [&] {
      std::vector<cuda::Mailbox> mailboxes;
      for (const Address &address : theirs) {
        remote_.push_back(std::make_unique<RemoteMemory>(address.handle));
        uint4 *data = remote_.back()->data();
        mailboxes.push_back({data + address.place, data + address.neighbors});
      }
      mailboxes_.upload(mailboxes);
    };
    PetscCall(RunAgreed(comm_, connect_all, reason));
    if (reason->empty()) packets_ = packets;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode swap_addresses(const std::vector<Address> &mine, std::vector<Address> *theirs)
  {
    std::vector<MPI_Request> requests;

    PetscFunctionBegin;
    requests.reserve(2 * mine.size());
    for (std::size_t k = 0; k < mine.size(); ++k) {
      requests.emplace_back();
      PetscCallMPI(MPI_Irecv(&(*theirs)[k], sizeof(Address), MPI_BYTE, lists_.neighbors[k], 0,
                             comm_, &requests.back()));
      requests.emplace_back();
      PetscCallMPI(MPI_Isend(&mine[k], sizeof(Address), MPI_BYTE, lists_.neighbors[k], 0, comm_,
                             &requests.back()));
    }
    PetscCallMPI(
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  // Waits until all ranks call it, but not longer than patience_, because a rank may have failed.
  PetscErrorCode wait_for_all(bool *all_here)
  {
    MPI_Request request = MPI_REQUEST_NULL;
    PetscMPIInt done = comm_ == MPI_COMM_NULL;

    PetscFunctionBegin;
    if (!done) PetscCallMPI(MPI_Ibarrier(comm_, &request));
    for (const double begin = MPI_Wtime(); !done && MPI_Wtime() - begin < patience_;)
      PetscCallMPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    *all_here = done;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  const Row plan_rows_, ghosts_;
  const std::vector<Row> ghost_begin_;
  const HaloLists lists_;
  PacketSteps steps_;
  const double patience_;
  std::uint32_t numbers_ = 0;
  std::size_t packets_ = 0; // packets of a ghost for which memory_ has room
  MPI_Comm comm_ = MPI_COMM_NULL;
  cudaStream_t stream_ = nullptr;
  std::uint32_t missing_ = ~0U;
  cuda::PinnedBytes pinned_;
  const bool inside_; // exchanges inside relaxations are possible
  GhostPackets inline_exchange_;
  cuda::DeviceArray<cuda::SentRow> sent_, by_row_;
  cuda::DeviceArray<cuda::RowSending> sending_;
  cuda::DeviceArray<std::uint32_t> base_;
  // The acknowledgements of the neighbors, then the packets of the ghosts
  std::unique_ptr<cuda::DeviceArray<uint4>> memory_ = std::make_unique<cuda::DeviceArray<uint4>>();
  std::vector<std::unique_ptr<RemoteMemory>> remote_;
  cuda::DeviceArray<cuda::Mailbox> mailboxes_;
};

// Finds out why this halo cannot be used. *reason is empty if all ranks can use it. *shared tells
// whether ranks share a device.
PetscErrorCode find_obstacle(MPI_Comm comm, const HaloLists &lists, bool shared_devices,
                             bool *shared, std::string *reason)
{
  constexpr int kWholeWords = 9; // least compute capability that can store 16 bytes at once
  std::vector<RankDevice> devices;
  MPI_Comm node;
  PetscMPIInt size, node_size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  PetscCallMPI(MPI_Comm_size(node, &node_size));
  PetscCallMPI(MPI_Comm_free(&node));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(DevicesOfRanks(comm, &devices, reason));
  if (!reason->empty()) PetscFunctionReturn(PETSC_SUCCESS);
  enum Obstacle { none, unreachable, old, nodes };
  int obstacle = none;
  const auto look = [&] {
    const std::vector<RankDevice> visible = VisibleDevices();
    for (const int rank : lists.neighbors)
      if (!reaches(visible, devices[static_cast<std::size_t>(rank)])) obstacle = unreachable;
  };
  PetscCall(RunAgreed(comm, look, reason));
  if (!reason->empty()) PetscFunctionReturn(PETSC_SUCCESS);
  for (const RankDevice &device : devices)
    if (device.capability < kWholeWords) obstacle = old;
  if (node_size < size) obstacle = nodes;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &obstacle, 1, MPI_INT, MPI_MAX, comm));
  const char *const texts[] = {"",
                               "some rank does not see a neighbor's device, or that has no memory "
                               "access with native atomics",
                               "some device is older than compute capability 9.0",
                               "the ranks are on several nodes"};
  *reason = texts[obstacle];
  // On a shared device, waiting tiles of one rank could keep out the tiles of another rank.
  *shared = any_shared(devices);
  if (reason->empty() && !shared_devices && *shared) *reason = "ranks share a device";
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

PetscErrorCode CreatePeerHalo(MPI_Comm comm, const ColorPlan &plan,
                              const std::vector<PetscSFNode> &remote, const PeerOptions &options,
                              std::unique_ptr<Halo> *halo, std::string *reason)
{
  HaloLists lists;
  std::unique_ptr<PeerHalo> peer;
  bool shared = false;

  PetscFunctionBegin;
  PetscCall(HaloListsCreate(comm, plan, remote, &lists));
  PetscCall(find_obstacle(comm, lists, options.shared_devices, &shared, reason));
  if (!reason->empty()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RunAgreed(
      comm,
      [&] {
        peer = std::make_unique<PeerHalo>(plan, std::move(lists), options,
                                          options.symmetric && !shared);
      },
      reason));
  if (reason->empty()) PetscCall(peer->connect(comm, reason));
  if (reason->empty()) *halo = std::move(peer);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
