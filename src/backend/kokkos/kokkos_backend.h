// The Kokkos backend: sweeps of one rank in one of Kokkos' execution spaces.
#pragma once

#include "backend/kokkos/numeric_setup.h"
#include "backend/kokkos/vectors.h"

namespace mcpi::kokkos {

// Space: the execution space. Style: how it lays out blocks (CpuStyle or DeviceStyle). T: a number
// of the vectors in a sweep.
template <class Space, class Style, class T> class KokkosBackend final : public Backend {
public:
  KokkosBackend(const ColorPlan &plan, const BackendConfig &config)
      : plan_(plan), config_(config), bs_(static_cast<std::size_t>(plan.bs)),
        own_(Traits::instance()), space_(own_), forward_(space_, plan, config),
        row_of_(uploaded(plan.row_of)), setup_(space_, config, forward_, plan, row_of_.data())
  {
    reserve(1);
  }
  KokkosBackend(const KokkosBackend &) = delete;
  KokkosBackend &operator=(const KokkosBackend &) = delete;
  ~KokkosBackend() override { space_.fence("mcpi end"); }

  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status) override
  {
    const double alpha = setup_.scales().alpha;
    const int error = setup_.refresh(space_, source, reduce, status);
    if (setup_.scales().alpha != alpha)
      runs_.clear(); // Recorded kernels hold alpha. Everything else is where it was.
    return error;
  }

  void pack_records(const std::vector<Offset> &stored, std::byte *records) override
  {
    if (stored.empty()) return;
    Array<Space, Offset> list;
    Array<Space, std::byte> packed;
    list.upload(space_, stored);
    packed.resize(space_, stored.size() * forward_.shape().record);
    RecordsArgs args = records_args();
    args.to = forward_.shape();
    args.to.kind = LayoutKind::records;
    args.stored = list.data();
    args.size = stored.size();
    args.records = packed.data();
    forward_.kernel_table().read_records(space_, args);
    packed.copy_out(space_, records, packed.size());
  }

  void build_transposed(const ColorPlan &plan, const std::byte *received) override
  {
    if (!transposed_) { // Either all members are made, or none if memory runs out.
      auto transposed = std::make_unique<Operator<Space, Style>>(space_, plan, config_);
      Array<Space, Offset> places;
      Array<Space, std::byte> room;
      std::vector<Offset> sources(plan.lower.source);
      sources.insert(sources.end(), plan.upper.source.begin(), plan.upper.source.end());
      Offset most = plan_.blocks();
      for (const Offset source : sources) most = std::max(most, source + 1);
      places.upload(space_, sources);
      room.resize(space_,
                  static_cast<std::size_t>(most - plan_.blocks()) * forward_.shape().record);
      runs_.clear();
      transposed_ = std::move(transposed);
      sources_ = std::move(places);
      received_ = std::move(room);
    }
    received_.copy_in(space_, received, received_.size());
    RecordsArgs args = records_args();
    args.to = transposed_->shape();
    args.stored = sources_.data();
    args.size = sources_.size();
    args.received = received_.data();
    args.records = transposed_->blocks();
    args.to_slots = transposed_->slots();
    forward_.kernel_table().write_transposed(space_, args);
    space_.fence("mcpi transpose");
  }

  void reserve(int nrhs) override
  {
    if (nrhs <= room_) return;
    const std::size_t entry = bs_ * static_cast<std::size_t>(nrhs), local = entry * rows(),
                      all = local + entry * static_cast<std::size_t>(plan_.ghosts);
    room_ = 0; // until all arrays have been allocated
    runs_.clear();
    space_.fence("mcpi room");
    x_.resize(space_, all);
    rhs_.resize(space_, local);
    kept_.resize(space_, local);
    if (config_.bfp16_gather) gathered_.resize(space_, all);
    if constexpr (!reaches_host<Space>)
      mirror_ = Mirror(Kokkos::view_alloc(Kokkos::WithoutInitializing, "mcpi mirror"), all);
    room_ = nrhs;
  }

  void load_rhs(const ApplyArgs &apply, const ConstColumns &b) override
  {
    reserve(apply.nrhs);
    follow(apply);
    VectorArgs args = vector_args(apply, b.ld);
    if (prescaled() && !apply.transposed)
      args.diagonal = setup_.diagonal();
    else
      args.scale = apply.transposed ? setup_.right() : setup_.left();
    load_vector(space_, args, reached(apply, b, args.ld), rhs_.data());
  }

  void load_guess(const ApplyArgs &apply, const ConstColumns &x) override
  {
    VectorArgs args = vector_args(apply, x.ld);
    args.scale = setup_.right();
    args.divide = true;
    load_vector(space_, args, reached(apply, x, args.ld), x_.data());
    round(apply, 0, plan_.rows);
  }

  void relax(const ApplyArgs &apply, const RelaxStep &step) override
  {
    RelaxArgs args{};
    args.x = x_.data();
    args.read = config_.bfp16_gather ? gathered_.data() : x_.data();
    args.rhs = rhs_.data();
    args.kept = kept_.data();
    args.diagonal = setup_.diagonal();
    args.alpha = setup_.scales().alpha;
    args.omega = apply.omega;
    args.nrhs = apply.nrhs;
    args.flags = relax_flags(apply, step, prescaled());
    (apply.transposed ? *transposed_ : forward_).relax(space_, args, step.begin, step.end);
    round(apply, step.begin, step.end);
  }

  void store(const ApplyArgs &apply, const MutableColumns &x) override
  {
    VectorArgs args = vector_args(apply, x.ld);
    args.factor = 1.0 / apply.scale;
    if (prescaled() && apply.transposed) {
      args.diagonal = setup_.diagonal();
      args.transposed = true;
    } else {
      args.scale = apply.transposed ? setup_.left() : setup_.right();
    }
    if (reaches_host<Space> || x.device) {
      store_vector(space_, args, x_.data(), x.data);
      if (!x.device) space_.fence("mcpi store");
      return;
    }
    const std::size_t local = rows() * bs_;
    make_staging(local * static_cast<std::size_t>(apply.nrhs));
    args.ld = static_cast<long long>(local);
    store_vector(space_, args, x_.data(), staging_.data());
    for (int r = 0; r < apply.nrhs; ++r)
      staging_.copy_out(space_, x.data + r * x.ld, local, static_cast<std::size_t>(r) * local);
  }

  int replay(const RunKey &key, const std::function<int()> &record) override
  {
    return runs_.run(space_, key, record);
  }

  void *vector() override { return reaches_host<Space> ? x_.data() : mirror_.data(); }
  RowBytes row_bytes(const ApplyArgs &apply) const override
  {
    const std::size_t entry = sizeof(T) * bs_ * static_cast<std::size_t>(apply.nrhs);
    return {entry, config_.bfp16_gather ? entry : 0};
  }

  void transfer(const ApplyArgs &apply, Row begin, Row end, Transfer kind, bool) override
  {
    switch (kind) {
    case Transfer::publish:
      publish(apply, begin, end);
      return;
    case Transfer::accept:
      accept(apply, begin, end);
      break;
    case Transfer::zero:
      zero(apply, begin, end);
      break;
    }
    round(apply, begin, end);
  }

  OperatorInfo info() const override
  {
    return {forward_.shape().record, bytes(), setup_.inverse_range(), &setup_.scales()};
  }

private:
  void publish(const ApplyArgs &apply, Row begin, Row end)
  {
    if constexpr (!reaches_host<Space>)
      if (begin < end)
        Kokkos::deep_copy(space_, mirror_part(apply, begin, end), x_part(apply, begin, end));
    space_.fence("mcpi publish");
  }
  void accept(const ApplyArgs &apply, Row begin, Row end)
  {
    if constexpr (!reaches_host<Space>)
      if (begin < end)
        Kokkos::deep_copy(space_, x_part(apply, begin, end), mirror_part(apply, begin, end));
  }
  void zero(const ApplyArgs &apply, Row begin, Row end)
  {
    const std::size_t entry = bs_ * static_cast<std::size_t>(apply.nrhs);
    if (begin < end)
      fill(space_, x_.data() + static_cast<std::size_t>(begin) * entry,
           static_cast<std::size_t>(end - begin) * entry, T(0));
  }

  std::size_t bytes() const
  {
    return forward_.bytes() + (transposed_ ? transposed_->bytes() : 0) + setup_.bytes() +
           sources_.bytes() + received_.bytes() + x_.bytes() + rhs_.bytes() + kept_.bytes() +
           gathered_.bytes() + row_of_.bytes() + staging_.bytes();
  }

  using Traits = SpaceTraits<Space>;
  using Mirror = Kokkos::View<T *, Kokkos::SharedHostPinnedSpace>;
  using Part =
      Kokkos::View<T *, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  bool prescaled() const { return config_.numeric.form == PC_MCPI_FORM_PRESCALED; }
  std::size_t rows() const { return static_cast<std::size_t>(plan_.rows); }
  Part part(T *data, std::size_t count) const { return Part(data, count); }
  Part x_part(const ApplyArgs &apply, Row begin, Row end) const
  {
    const std::size_t entry = bs_ * static_cast<std::size_t>(apply.nrhs);
    return part(x_.data() + static_cast<std::size_t>(begin) * entry,
                static_cast<std::size_t>(end - begin) * entry);
  }
  auto mirror_part(const ApplyArgs &apply, Row begin, Row end) const
  {
    const std::size_t entry = bs_ * static_cast<std::size_t>(apply.nrhs);
    return Kokkos::subview(mirror_, std::pair(static_cast<std::size_t>(begin) * entry,
                                              static_cast<std::size_t>(end) * entry));
  }

  template <class Number> Array<Space, Number> uploaded(const std::vector<Number> &from) const
  {
    Array<Space, Number> array;
    array.upload(space_, from);
    return array;
  }

  // Works on the user's stream from now on, if the execution space has streams.
  void follow(const ApplyArgs &apply)
  {
    if (apply.stream == stream_) return;
    space_.fence("mcpi other stream");
    space_ = Traits::on(apply.stream, own_);
    stream_ = apply.stream;
  }

  VectorArgs vector_args(const ApplyArgs &apply, std::ptrdiff_t ld) const
  {
    VectorArgs args{};
    args.row_of = row_of_.data();
    args.rows = plan_.rows;
    args.bs = plan_.bs;
    args.nrhs = apply.nrhs;
    args.ld = ld;
    args.factor = apply.scale;
    return args;
  }

  void make_staging(std::size_t count)
  {
    if (staging_.size() < count) staging_.resize(space_, count);
  }

  // Returns the columns where the execution space can read them, and sets ld if they had to be
  // copied.
  const double *reached(const ApplyArgs &apply, const ConstColumns &columns, long long &ld)
  {
    if (reaches_host<Space> || columns.device) return columns.data;
    const std::size_t local = rows() * bs_;
    make_staging(local * static_cast<std::size_t>(apply.nrhs));
    for (int r = 0; r < apply.nrhs; ++r)
      staging_.copy_in(space_, columns.data + r * columns.ld, local,
                       static_cast<std::size_t>(r) * local);
    ld = static_cast<long long>(local);
    return staging_.data();
  }

  // Writes the rounded copy of the plan columns [begin, end) of x, if products read it.
  void round(const ApplyArgs &apply, Row begin, Row end)
  {
    if (!config_.bfp16_gather || begin >= end) return;
    const auto nrhs = static_cast<std::size_t>(apply.nrhs);
    round_vector(space_, x_.data(), static_cast<std::size_t>(begin) * nrhs,
                 static_cast<std::size_t>(end) * nrhs, plan_.bs, gathered_.data());
  }

  RecordsArgs records_args() const
  {
    RecordsArgs args{};
    args.from = forward_.shape();
    args.blocks = forward_.blocks();
    args.slots = forward_.slots();
    args.count = plan_.blocks();
    return args;
  }

  const ColorPlan &plan_;
  const BackendConfig config_;
  const std::size_t bs_;
  const Space own_;
  Space space_;            // own_, or an instance on the user's stream
  void *stream_ = nullptr; // the user's stream
  Operator<Space, Style> forward_;
  std::unique_ptr<Operator<Space, Style>> transposed_;
  Array<Space, Row> row_of_;
  NumericSetup<Space, Style> setup_;
  // x_ and its rounded copy gathered_ have ghosts behind the rows.
  Array<Space, T> x_, rhs_, kept_, gathered_;
  Array<Space, double> staging_; // columns of host arrays
  Mirror mirror_;                // x_ in host memory, for exchanges by the host
  Array<Space, Offset>
      sources_; // for each block of the transposed operator, the block that it takes
  Array<Space, std::byte> received_; // records received from other ranks
  typename Traits::Runs runs_;
  int room_ = 0; // right-hand sides for which arrays have room
};

template <class Space, class Style>
std::unique_ptr<Backend> make_backend(const ColorPlan &plan, const BackendConfig &config)
{
  if (config.double_vectors)
    return std::make_unique<KokkosBackend<Space, Style, double>>(plan, config);
  return std::make_unique<KokkosBackend<Space, Style, float>>(plan, config);
}

} // namespace mcpi::kokkos
