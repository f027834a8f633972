// The Kokkos backend: sweeps of one rank in one of Kokkos' execution spaces.
#pragma once

#include "backend/device/backend_terms.h"
#include "backend/kokkos/stored_blocks.h"
#include "core/gather.h"

namespace mcpi::kokkos {

// Copies between a user's arrays and the vectors of a sweep

// Calls visit(k) for each row and right-hand side: k = row*nrhs + r.
template <class Space, class Visit>
void for_entries(const Space &space, const char *name, const VectorTerms &args, const Visit &visit)
{
  Kokkos::parallel_for(name,
                       Kokkos::RangePolicy<Space>(space, 0,
                                                  static_cast<std::size_t>(args.rows) *
                                                      static_cast<std::size_t>(args.nrhs)),
                       visit);
}

// Component i of a row's inverse diagonal block times v, whose components are v(0), v(1), ...
template <class V> MCPI_HD double product(const VectorTerms &args, Row row, int i, const V &v)
{
  return diagonal_product<0, false>(args.diagonal, static_cast<std::size_t>(row), args.bs, i,
                                    args.transposed, v);
}

template <class Space, class T>
void load_vector(const Space &space, const VectorTerms &args, const double *array, T *vector)
{
  for_entries(
      space, "mcpi load", args, KOKKOS_LAMBDA(const std::size_t k) {
        const auto nrhs = static_cast<std::size_t>(args.nrhs),
                   bs = static_cast<std::size_t>(args.bs);
        const Row row = static_cast<Row>(k / nrhs);
        const double *in = array + static_cast<long long>(k % nrhs) * args.ld +
                           static_cast<long long>(args.row_of[row]) * args.bs;
        T *out = vector + k * bs;
        for (int i = 0; i < args.bs; ++i)
          out[i] = static_cast<T>(
              args.factor * (args.diagonal ? product(args, row, i, [&](int j) { return in[j]; })
                                           : scaled(args, i, in[i])));
      });
}

template <class Space, class T>
void store_vector(const Space &space, const VectorTerms &args, const T *vector, double *array)
{
  for_entries(
      space, "mcpi store", args, KOKKOS_LAMBDA(const std::size_t k) {
        const auto nrhs = static_cast<std::size_t>(args.nrhs),
                   bs = static_cast<std::size_t>(args.bs);
        const Row row = static_cast<Row>(k / nrhs);
        const T *in = vector + k * bs;
        double *out = array + static_cast<long long>(k % nrhs) * args.ld +
                      static_cast<long long>(args.row_of[row]) * args.bs;
        const auto unscaled = [&](int j) { return args.factor * static_cast<double>(in[j]); };
        for (int i = 0; i < args.bs; ++i)
          out[i] = args.diagonal ? product(args, row, i, unscaled) : scaled(args, i, unscaled(i));
      });
}

// Writes the rounded copy of x as core/gather.h defines it.
template <class Space, class T>
void round_vector(const Space &space, const T *x, std::size_t begin, std::size_t end, int bs,
                  T *gathered)
{
  Kokkos::parallel_for(
      "mcpi round", Kokkos::RangePolicy<Space>(space, begin, end),
      KOKKOS_LAMBDA(const std::size_t entry) {
        const std::size_t first = entry * static_cast<std::size_t>(bs);
        round_gathered(bs, x + first, gathered + first);
      });
}

// Space: the execution space. T: a number of the vectors in a sweep.
template <class Space, class T> class KokkosBackend final : public Backend {
public:
  KokkosBackend(const ColorPlan &plan, const BackendConfig &config)
      : plan_(plan), config_(config), bs_(static_cast<std::size_t>(plan.bs)),
        own_(Traits::instance()), space_(own_),
        blocks_(space_, plan, config.numeric, config.double_vectors)
  {
    reserve(1);
  }
  KokkosBackend(const KokkosBackend &) = delete;
  KokkosBackend &operator=(const KokkosBackend &) = delete;
  ~KokkosBackend() override { space_.fence("mcpi end"); }

  int refresh(BlockRows &source, const MaxReduce &reduce, NumericStatus &status) override
  {
    const double alpha = blocks_.scales().alpha;
    const int error = blocks_.refresh(space_, source, reduce, status);
    if (blocks_.scales().alpha != alpha)
      runs_.clear(); // Recorded kernels hold alpha. Everything else is where it was.
    return error;
  }
  void pack_records(const std::vector<Offset> &stored, std::byte *records) override
  {
    blocks_.pack_records(space_, stored, records);
  }
  void build_transposed(const ColorPlan &plan, const std::byte *received) override
  {
    if (!blocks_.transposed()) runs_.clear();
    blocks_.build_transposed(space_, plan, received);
  }

  // Blocks do not depend on the precision of vectors, only their places do.
  std::unique_ptr<Backend> with_vectors(bool double_vectors, bool bfp16_gather, bool) override
  {
    BackendConfig config = config_;
    config.double_vectors = double_vectors;
    config.bfp16_gather = bfp16_gather;
    space_.fence("mcpi vectors");
    const auto take = [&](auto made) -> std::unique_ptr<Backend> {
      made->take(blocks_);
      return made;
    };
    if (double_vectors) return take(std::make_unique<KokkosBackend<Space, double>>(plan_, config));
    return take(std::make_unique<KokkosBackend<Space, float>>(plan_, config));
  }
  void take(StoredBlocks<Space> &blocks) { blocks_.take(space_, blocks); }

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
    VectorTerms args = vector_terms(plan_, blocks_.row_of(), apply, b.ld);
    set_rhs(args, apply, scales());
    load_vector(space_, args, reached(apply, b, args.ld), rhs_.data());
  }

  void load_guess(const ApplyArgs &apply, const ConstColumns &x) override
  {
    VectorTerms args = vector_terms(plan_, blocks_.row_of(), apply, x.ld);
    set_guess(args, apply, scales());
    load_vector(space_, args, reached(apply, x, args.ld), x_.data());
    round(apply, 0, plan_.rows);
  }

  void relax(const ApplyArgs &apply, const RelaxStep &step) override
  {
    RelaxTerms terms;
    terms.x = x_.data();
    terms.read = config_.bfp16_gather ? gathered_.data() : x_.data();
    terms.rhs = rhs_.data();
    terms.kept = kept_.data();
    terms.diagonal = blocks_.diagonal();
    terms.alpha = blocks_.scales().alpha;
    terms.omega = apply.omega;
    terms.nrhs = apply.nrhs;
    terms.flags = relax_flags(apply, step, blocks_.prescaled());
    (apply.transposed ? *blocks_.transposed() : blocks_.forward())
        .relax(space_, terms, step.begin, step.end);
    round(apply, step.begin, step.end);
  }

  void store(const ApplyArgs &apply, const MutableColumns &x) override
  {
    VectorTerms args = vector_terms(plan_, blocks_.row_of(), apply, x.ld);
    set_solution(args, apply, scales());
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
    return {blocks_.forward().shape().record, bytes(), blocks_.inverse_range(), &blocks_.scales()};
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
    return blocks_.bytes() + x_.bytes() + rhs_.bytes() + kept_.bytes() + gathered_.bytes() +
           staging_.bytes();
  }

  using Traits = SpaceTraits<Space>;
  using Mirror = Kokkos::View<T *, Kokkos::SharedHostPinnedSpace>;
  using Part =
      Kokkos::View<T *, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  VectorScales scales() const
  {
    return {blocks_.diagonal(), blocks_.left(), blocks_.right(), blocks_.prescaled()};
  }
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

  // Works on the user's stream from now on, if the execution space has streams.
  void follow(const ApplyArgs &apply)
  {
    if (apply.stream == stream_) return;
    space_.fence("mcpi other stream");
    space_ = Traits::on(apply.stream, own_);
    stream_ = apply.stream;
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

  const ColorPlan &plan_;
  const BackendConfig config_;
  const std::size_t bs_;
  const Space own_;
  Space space_;            // own_, or an instance on the user's stream
  void *stream_ = nullptr; // the user's stream
  StoredBlocks<Space> blocks_;
  // x_ and its rounded copy gathered_ have ghosts behind the rows.
  Array<Space, T> x_, rhs_, kept_, gathered_;
  Array<Space, double> staging_; // columns of host arrays
  Mirror mirror_;                // x_ in host memory, for exchanges by the host
  typename Traits::Runs runs_;
  int room_ = 0; // right-hand sides for which arrays have room
};

template <class Space>
std::unique_ptr<Backend> make_backend(const ColorPlan &plan, const BackendConfig &config)
{
  if (config.double_vectors) return std::make_unique<KokkosBackend<Space, double>>(plan, config);
  return std::make_unique<KokkosBackend<Space, float>>(plan, config);
}

} // namespace mcpi::kokkos
