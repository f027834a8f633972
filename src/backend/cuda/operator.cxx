// Builds the stored blocks of a plan on the device, and launches relaxations with them.
#include "backend/cuda/operator.h"

#include <algorithm>
#include <bit>

#include "core/dispatch.h"
#include "core/plan_parts.h"
#include "core/scale_updater.h"

namespace mcpi::cuda {

namespace {

struct Bytes {
  const void *begin;
  std::size_t size;
};

// Returns the window of at most `largest` bytes. An empty window means that there is nothing to
// tell.
inline cudaAccessPolicyWindow cache_window(const CacheUse &use, const Bytes &rhs,
                                           const Bytes &blocks, std::size_t largest)
{
  const bool passing = use.passing > 0;
  const Bytes &bytes = passing ? rhs : blocks;
  const std::size_t size = std::min(bytes.size, largest),
                    hits = passing ? size : std::min(size, use.kept);
  if (hits == 0) return {};
  return {const_cast<void *>(bytes.begin), size,
          static_cast<float>(hits) / static_cast<float>(size),
          passing ? cudaAccessPropertyStreaming : cudaAccessPropertyNormal,
          passing ? cudaAccessPropertyNormal : cudaAccessPropertyStreaming};
}

// Bits of a column index, if the head word then has enough bits left for an exponent; 32 if not,
// which means that nothing is packed.
int packed_column_bits(const ColorPlan &plan, const BackendConfig &config)
{
  if (!Operator::may_pack(plan.bs, config)) return 32;
  const int bits =
      std::max(2, static_cast<int>(std::bit_width(static_cast<std::uint32_t>(plan.rows) +
                                                  static_cast<std::uint32_t>(plan.ghosts))));
  return bits + packed_shift(config.numeric.storage, plan.bs) + kMinExponentBits <= 32 ? bits : 32;
}

} // namespace

bool Operator::may_pack(int bs, const BackendConfig &config)
{
  return has_exponent(config.numeric.storage) && bs <= kMaxSmallBlock && !config.double_vectors;
}

Operator::Operator(const ColorPlan &plan, const BackendConfig &config)
    : plan_(plan), storage_(config.numeric.storage),
      one_triangle_(config.one_triangle), head_{packed_column_bits(plan, config), 0},
      packed_(head_.column_bits < 32),
      number_(config.double_vectors ? sizeof(double) : sizeof(float)), rounded_(rounds(config)),
      ordered_(config.several_parts && config.one_triangle),
      largest_window_(
          static_cast<std::size_t>(device_attribute(cudaDevAttrMaxAccessPolicyWindowSize)))
{
  const RelaxKind kind{config.double_vectors, rounded_, packed_};
  with_precision(storage_, [&]<PCMCPIPrecision storage> {
    if (small())
      small_ = small_kernels<storage>(kind, plan.bs);
    else
      large_ = large_kernels<storage>(kind, plan.bs);
  });
  if (small()) {
    small_.rows = rows_kernel(kind, plan.bs);
    init_small();
  } else {
    init_large();
  }
}

void Operator::init_small()
{
  TileLimits limits = small_.limits;
  limits.multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  if (small_.few)
    MCPI_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&limits.few_blocks, small_.few,
                                                            limits.threads, 0));
  const bool exchanges =
      !std::equal(plan_.boundary_end.begin(), plan_.boundary_end.end(), plan_.color_begin.begin());
  if (small_.exchanging && exchanges) { // The exchanging kernel may relax all tiles.
    one_triangle_ = false;              // It takes both triangles at a time.
    limits.blocks = std::min(limits.blocks, small_.exchanging_blocks);
    limits.few_blocks = std::min(limits.few_blocks, limits.blocks);
  }
  limits.one_triangle = one_triangle_;
  // Whether one launch for several parts is faster than a launch for each. Without clusters, ghosts
  // are exchanged after each part.
  ordered_ =
      ordered_ && (plan_.clustered ? rows_of_part() <= small_.ordered_cluster_part
                                   : plan_.ghosts == 0 && rows_of_part() <= small_.ordered_color);
  if (ordered_) {
    ordered_kernel_ = rows_of_part() < small_.many_rows ? small_.few_ordered : small_.many_ordered;
    limits.rows = ordered_kernel_.rows;
    limits.slices = ordered_kernel_.slices;
    limits.many_parts = true;
  }
  layout_ = make_tiles(plan_, slice_shape(storage_, plan_.bs, packed_), limits);
  tiles_.upload(layout_.tiles);
  ends_.upload(layout_.ends);
  blocks_.resize(layout_.bytes);
  if (layout_.bytes == 0) return;
  std::vector<Row> columns(slice_count());
  for_blocks([&](Row, const Triangle &triangle, Offset k, std::uint32_t tile, std::uint32_t place) {
    std::fill_n(columns.begin() + static_cast<std::ptrdiff_t>(slice_number(tile, place)),
                layout_.shape.slices, triangle.col[static_cast<std::size_t>(k)]);
  });
  DeviceArray<Row> on_device;
  on_device.upload(columns);
  MCPI_CUDA(cudaMemset(blocks_.data(), 0, layout_.bytes));
  set_columns(numbers(), static_cast<std::uint32_t>(layout_.tiles.size()), on_device.data());
  MCPI_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
}

// Large blocks: uploads the rows, and finds the most blocks that a thread block of relax_resident
// takes in each part.
void Operator::add_rows()
{
  std::vector<LargeRow> rows;
  rows.reserve(static_cast<std::size_t>(plan_.rows));
  const std::vector<Row> parts = part_begins(plan_);
  capacity_.resize(parts.size() - 1);
  for (std::size_t part = 0; part < capacity_.size(); ++part) {
    const Row begin = parts[part], end = parts[part + 1];
    Capacity &most = capacity_[part];
    Capacity now;
    for (Row row = begin; row < end; ++row) {
      const LargeRow added{
          static_cast<std::uint32_t>(plan_.lower.ptr[row] + plan_.upper.ptr[row]),
          static_cast<std::uint32_t>(plan_.lower.ptr[row + 1] - plan_.lower.ptr[row]),
          static_cast<std::uint32_t>(plan_.upper.ptr[row + 1] - plan_.upper.ptr[row])};
      if ((row - begin) % large_.shape.rows == 0) now = {};
      now.lower += added.lower;
      now.upper += added.upper;
      most.lower = std::max(most.lower, now.lower);
      most.upper = std::max(most.upper, now.upper);
      most.both = std::max(most.both, now.lower + now.upper);
      rows.push_back(added);
    }
  }
  rows_.upload(rows);
}

void Operator::init_large()
{
  ordered_ = false;
  if (plan_.blocks() > static_cast<Offset>(0xffffffffU))
    throw Error("the matrix is too large for the CUDA backend: use more ranks");
  add_rows();
  std::vector<BlockHead> heads(static_cast<std::size_t>(plan_.blocks()));
  for_blocks([&](Row, const Triangle &triangle, Offset k, std::uint32_t, std::uint32_t place) {
    heads[place] = {triangle.col[static_cast<std::size_t>(k)], 0};
  });
  heads_.upload(heads);
  blocks_.resize(heads.size() * record_pieces(storage_, plan_.bs) * kPiece);
  if (blocks_.bytes() > 0) MCPI_CUDA(cudaMemset(blocks_.data(), 0, blocks_.bytes()));
  const int most = large_.stream.bytes * large_.stream.rows;
  const int limit = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (most > limit) throw Error("the blocks are too large for the CUDA backend");
  most_resident_ = std::min(limit, Tuning::kMostResident);
  const auto prepare = [](const void *function, int bytes) {
    if (!function) return;
    allow_shared(function, bytes);
    MCPI_CUDA(cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   cudaSharedmemCarveoutMaxShared));
  };
  prepare(large_.streamed, most);
  prepare(large_.resident, most_resident_);
}

StoredNumbers Operator::numbers()
{
  Shape shape = make_shape(small() ? LayoutKind::slices : LayoutKind::pieces, storage_, plan_.bs);
  shape.slice = layout_.shape;
  return {{shape, blocks_.data(), heads_.data(), head_}, tiles_.data()};
}

// Chooses the base of packed exponents. The largest exponent covers the largest number that
// ScaleUpdater accepts without renewing the scales.
void Operator::set_largest(double largest)
{
  if (!packed_) return;
  constexpr int room = std::bit_width(static_cast<unsigned>(ScaleUpdater::kGrowth));
  const int bits = 32 - layout_.shape.shift - head_.column_bits,
            most = shared_exponent(largest, integer_limit(storage_)) + room;
  head_.exponent_base = std::max(kMinSharedExponent, most - (1 << bits) + 1);
}

// Whether relax_resident can take the part that begins at this row. Sets args.capacity.
bool Operator::resident(Row begin, LargeArgs &args) const
{
  const unsigned triangles = args.flags & (kLower | kUpper);
  const bool both = triangles == (kLower | kUpper);
  if (!large_.resident || args.nrhs > 1 || (both && args.flags & kKeepSum)) return false;
  const Capacity &most = capacity_[part_at(plan_, begin)];
  args.capacity = both                  ? most.both
                  : triangles == kLower ? most.lower
                  : triangles == kUpper ? most.upper
                                        : 0;
  return args.capacity <= static_cast<unsigned>(most_resident_ / large_.shape.record) &&
         large_.shape.bytes(static_cast<int>(args.capacity)) <= most_resident_;
}

// Whether the rows have slices in the triangles that are read.
bool Operator::has_slices(Row begin, Row end, unsigned flags) const
{
  const auto any = [&](const Triangle &triangle) {
    return triangle.ptr[end] > triangle.ptr[begin];
  };
  return (flags & kLower && any(plan_.lower)) || (flags & kUpper && any(plan_.upper));
}

// Sets the arguments of a relaxation of the plan rows [begin, end).
void Operator::set(SmallArgs &args, Row begin, Row end, const Relaxation &relaxation) const
{
  args.bs = plan_.bs;
  args.head = head_;
  args.tiles = tiles_.data() + layout_.part_begin[part_at(plan_, begin)];
  args.ends = ends_.data();
  args.blocks = blocks_.data();
  args.gathered = relaxation.gathered;
  args.first_row = static_cast<std::uint32_t>(begin);
  args.row_count = static_cast<std::uint32_t>(end - begin);
}

// Chooses the kernel for small blocks.
Operator::Launch Operator::small_launch(Row begin, Row end, SmallArgs &args) const
{
  const bool inside = args.inside.packets.base;
  if (!inside && !has_slices(begin, end, args.flags)) {
    const std::size_t threads = std::size_t{args.row_count} * static_cast<unsigned>(args.nrhs);
    return {small_.rows,
            static_cast<unsigned>((threads + Tuning::kRowsThreads - 1) / Tuning::kRowsThreads),
            Tuning::kRowsThreads, 0};
  }
  const std::size_t first = layout_.part_begin[part_at(plan_, begin)];
  const auto tiles_to = [&](std::size_t last) {
    return layout_.part_begin[last] - static_cast<unsigned>(first);
  };
  const auto threads = static_cast<unsigned>(small_.limits.threads);
  // Tiles for one triangle have room for both in the general kernel only. A rank with such tiles
  // has no boundary rows, so that kernel need not exchange.
  const bool both = args.flags & kLower && args.flags & kUpper,
             general = both && (one_triangle_ || args.flags & kUseKept);
  if (inside && !general) {
    const std::size_t color = part_at(plan_, begin) / 2;
    args.inside.boundary_tiles = tiles_to(2 * color + 1);
    return {small_.exchanging, tiles_to(2 * color + 2), threads, 0};
  }
  const unsigned tiles = tiles_to(part_at(plan_, begin) + 1);
  if (args.nrhs > 1 || layout_.long_rows || general) return {small_.general, tiles, threads, 0};
  const TileLaunch launch = layout_.launch[part_at(plan_, begin)];
  if (launch.one_waits) args.flags |= kOneWaits;
  return {launch.few ? small_.few : both ? small_.simple : small_.one_triangle, tiles, threads, 0};
}

// The same for large blocks
Operator::Launch Operator::large_launch(Row begin, LargeArgs &args) const
{
  args.rows = rows_.data();
  args.heads = heads_.data();
  args.blocks = blocks_.data();
  args.stream = large_.stream;
  const bool fits = resident(begin, args);
  const auto rows = static_cast<unsigned>(fits ? large_.shape.rows : large_.stream.rows),
             team = static_cast<unsigned>(fits ? large_.shape.team : large_.stream.team);
  const int shared = fits ? large_.shape.bytes(static_cast<int>(args.capacity))
                          : large_.stream.rows * large_.stream.bytes;
  return {fits ? large_.resident : large_.streamed, (args.row_count + rows - 1) / rows, rows * team,
          static_cast<std::size_t>(shared)};
}

void Operator::launch(const Launch &launch, void *args, Row begin, Row end,
                      const Relaxation &relaxation, cudaStream_t stream) const
{
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(launch.blocks);
  config.blockDim = dim3(launch.threads);
  config.dynamicSmemBytes = launch.shared;
  // Programmatic dependent launch: the kernel may begin before the previous launch has ended, and
  // load what does not depend on that launch.
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = relaxation.early ? 1 : 0;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 1;
  const CacheUse &cache = relaxation.cache;
  const Bytes rhs{static_cast<const std::byte *>(relaxation.terms.rhs) +
                      static_cast<std::size_t>(begin) * cache.passing,
                  static_cast<std::size_t>(end - begin) * cache.passing};
  attributes[1].id = cudaLaunchAttributeAccessPolicyWindow;
  attributes[1].val.accessPolicyWindow =
      cache_window(cache, rhs, {blocks_.data(), blocks_.bytes()}, largest_window_);
  if (attributes[1].val.accessPolicyWindow.num_bytes > 0) config.numAttrs = 2;
  MCPI_CUDA(cudaLaunchKernelExC(&config, launch.function, &args));
}

// The mean number of rows of a part
Row Operator::rows_of_part() const
{
  const std::size_t parts =
      plan_.clustered ? plan_.stage_begin.size() : static_cast<std::size_t>(plan_.colors);
  return static_cast<Row>(static_cast<std::size_t>(plan_.rows) / std::max<std::size_t>(parts, 1));
}

bool Operator::takes_parts(const Relaxation &relaxation) const
{
  const unsigned triangles = relaxation.terms.flags & (kLower | kUpper);
  return ordered_ && relaxation.packets && !layout_.long_rows && relaxation.terms.nrhs == 1 &&
         (triangles == kLower || triangles == kUpper);
}

std::size_t Operator::packets_of_row() const
{
  const auto words = static_cast<std::size_t>(rounded_ ? gather_words(plan_.bs) : plan_.bs);
  return packets_of(rounded_ ? words : words * number_ / sizeof(std::uint32_t));
}

// Whether nothing reads the rounded copy of the rows that relax_parts() relaxes, because it relaxes
// all rows and sends them as packets. If it keeps sums, the next pass reads one triangle, too, and
// relaxes all rows, unless it skips a color. Exchanges and what follows the last pass read the copy
// of rows with kReadLater.
bool Operator::sends_all(Row begin, Row end, unsigned flags) const
{
  const bool relaxes_all = begin == 0 && end == plan_.rows && plan_.ghosts == 0;
  return relaxes_all && plan_.clustered && flags & kKeepSum && !(flags & kReadLater);
}

void Operator::relax_parts(Row begin, Row end, const Relaxation &relaxation,
                           cudaStream_t stream) const
{
  if (begin == end) return;
  const std::size_t first_part = part_at(plan_, begin), last_part = part_at(plan_, end - 1),
                    parts = last_part - first_part + 1, first = layout_.part_begin[first_part],
                    last = layout_.part_begin[last_part + 1];
  OrderedArgs args{{relaxation.terms}};
  set(args, begin, end, relaxation);
  if (sends_all(begin, end, args.flags)) args.gathered = nullptr;
  args.packets = relaxation.packets;
  args.tickets = relaxation.tickets;
  args.ahead = static_cast<std::uint32_t>(Tuning::kOrderedAhead * std::max<Row>(rows_of_part(), 1));
  args.forward = relaxation.forward;
  // Thread blocks that wait for the launch before take room from those that work. With many parts
  // this costs more than an early begin saves.
  Relaxation launched = relaxation;
  launched.early = launched.early && parts <= Tuning::kMostEarlyParts;
  launch({ordered_kernel_.function, static_cast<unsigned>(last - first),
          static_cast<unsigned>(ordered_kernel_.threads), 0},
         &args, begin, end, launched, stream);
}

void Operator::relax(Row begin, Row end, const Relaxation &relaxation, cudaStream_t stream) const
{
  if (begin == end) return;
  if (small()) {
    SmallArgs args{relaxation.terms};
    set(args, begin, end, relaxation);
    if (relaxation.inside) args.inside = *relaxation.inside;
    launch(small_launch(begin, end, args), &args, begin, end, relaxation, stream);
  } else {
    LargeArgs args{relaxation.terms};
    args.bs = plan_.bs;
    args.first_row = static_cast<std::uint32_t>(begin);
    args.row_count = static_cast<std::uint32_t>(end - begin);
    launch(large_launch(begin, args), &args, begin, end, relaxation, stream);
  }
}

} // namespace mcpi::cuda
