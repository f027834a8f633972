// Builds the stored blocks of a plan on the device, and launches relaxations with them.
#include "backend/cuda/operator.h"

#include <algorithm>
#include <bit>

#include "backend/cuda/by_storage.h"
#include "core/scale_updater.h"

namespace mcpi::cuda {

namespace {

// Bits of a column index, if the head word then has enough bits left for an exponent; 32 if not,
// which means that nothing is packed.
int packed_column_bits(const ColorPlan &plan, const BackendConfig &config)
{
  const PCMCPIPrecision storage = config.numeric.storage;
  if (!Operator::may_pack(plan.bs, config)) return 32;
  const int bits =
      std::max(2, static_cast<int>(std::bit_width(static_cast<std::uint32_t>(plan.rows) +
                                                  static_cast<std::uint32_t>(plan.ghosts))));
  return bits + packed_shift(storage, plan.bs) + kMinExponentBits <= 32 ? bits : 32;
}

} // namespace

bool Operator::may_pack(int bs, const BackendConfig &config)
{
  return has_exponent(config.numeric.storage) && bs <= kMaxSmallBlock && !config.double_vectors &&
         config.numeric.scaling != PC_MCPI_SCALING_NONE;
}

Operator::Operator(const ColorPlan &plan, const BackendConfig &config)
    : plan_(plan), storage_(config.numeric.storage), head_{packed_column_bits(plan, config), 0},
      packed_(head_.column_bits < 32),
      kernel_(by_storage(
          storage_,
          [&]<PCMCPIPrecision of> {
            return relax_kernel<of>({config.double_vectors, config.bfp16_gather, packed_}, plan.bs);
          })),
      rows_kernel_(rows_kernel({config.double_vectors, config.bfp16_gather, packed_}, plan.bs)),
      largest_window_(
          static_cast<std::size_t>(device_attribute(cudaDevAttrMaxAccessPolicyWindowSize)))
{
  if (small())
    init_small();
  else
    init_large();
}

void Operator::init_small()
{
  int few_blocks = 0;
  if (kernel_.few)
    MCPI_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&few_blocks, kernel_.few,
                                                            kernel_.threads, 0));
  int blocks = kernel_.blocks;
  const bool exchanges =
      !std::equal(plan_.boundary_end.begin(), plan_.boundary_end.end(), plan_.color_begin.begin());
  if (kernel_.exchanging && exchanges) { // The exchanging kernel may relax all tiles.
    blocks = std::min(blocks, kernel_.exchanging_blocks);
    few_blocks = std::min(few_blocks, blocks);
  }
  layout_ =
      make_tiles(plan_, slice_shape(storage_, plan_.bs, packed_),
                 {kernel_.tile_rows, kernel_.threads, kernel_.capacity, kernel_.boundary, blocks,
                  device_attribute(cudaDevAttrMultiProcessorCount), kernel_.few_rows, few_blocks});
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
  capacity_.resize(2 * static_cast<std::size_t>(plan_.colors));
  for (int color = 0; color < plan_.colors; ++color)
    for (const bool interior : {false, true}) {
      const Row begin = interior ? plan_.boundary_end[color] : plan_.color_begin[color],
                end = interior ? plan_.color_begin[color + 1] : plan_.boundary_end[color];
      Capacity &most = capacity_[2 * static_cast<std::size_t>(color) + (interior ? 1 : 0)];
      Capacity now;
      for (Row row = begin; row < end; ++row) {
        const LargeRow added{
            static_cast<std::uint32_t>(plan_.lower.ptr[row] + plan_.upper.ptr[row]),
            static_cast<std::uint32_t>(plan_.lower.ptr[row + 1] - plan_.lower.ptr[row]),
            static_cast<std::uint32_t>(plan_.upper.ptr[row + 1] - plan_.upper.ptr[row])};
        if ((row - begin) % kernel_.resident.rows == 0) now = {};
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
  const int most = kernel_.stream.bytes * kernel_.stream.rows;
  const int limit = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (most > limit) throw Error("the blocks are too large for the CUDA backend");
  allow_shared(kernel_.function, most);
  MCPI_CUDA(cudaFuncSetAttribute(kernel_.function, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared));
  if (kernel_.simple) {
    most_resident_ = std::min(limit, kMostResident);
    allow_shared(kernel_.simple, most_resident_);
    MCPI_CUDA(cudaFuncSetAttribute(kernel_.simple, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   cudaSharedmemCarveoutMaxShared));
  }
}

StoredNumbers Operator::numbers()
{
  return {storage_, plan_.bs,      small(),        layout_.shape,
          head_,    tiles_.data(), blocks_.data(), heads_.data()};
}

// Chooses the base of packed exponents. The largest exponent covers the largest number that
// ScaleUpdater accepts without renewing the scales.
void Operator::set_largest(double largest)
{
  if (!packed_) return;
  constexpr int room = std::bit_width(static_cast<unsigned>(ScaleUpdater::kGrowth));
  const int limit = storage_ == PC_MCPI_PRECISION_INT8 ? kInt8Limit : kInt4Limit,
            bits = 32 - layout_.shape.shift - head_.column_bits;
  head_.exponent_base =
      std::max(kMinSharedExponent, shared_exponent(largest, limit) + room - (1 << bits) + 1);
}

// The part of the plan that begins at this row: 2*color, plus 1 for interior rows.
std::size_t Operator::part(Row begin) const
{
  const auto color = std::upper_bound(plan_.color_begin.begin(), plan_.color_begin.end(), begin) -
                     plan_.color_begin.begin() - 1;
  const bool interior = begin >= plan_.boundary_end[static_cast<std::size_t>(color)];
  return static_cast<std::size_t>(2 * color + (interior ? 1 : 0));
}

// Whether relax_resident can take the part that begins at this row. Sets args.capacity.
bool Operator::resident(Row begin, RelaxArgs &args) const
{
  const unsigned triangles = args.flags & (kLower | kUpper);
  const bool both = triangles == (kLower | kUpper);
  if (!kernel_.simple || args.nrhs > 1 || (both && args.flags & kKeepSum)) return false;
  const Capacity &most = capacity_[part(begin)];
  args.capacity = both                  ? most.both
                  : triangles == kLower ? most.lower
                  : triangles == kUpper ? most.upper
                                        : 0;
  return args.capacity <= static_cast<unsigned>(most_resident_ / kernel_.resident.record) &&
         kernel_.resident.bytes(static_cast<int>(args.capacity)) <= most_resident_;
}

// Whether the rows have slices in the triangles that are read.
bool Operator::has_slices(Row begin, Row end, unsigned flags) const
{
  const auto any = [&](const Triangle &triangle) {
    return triangle.ptr[end] > triangle.ptr[begin];
  };
  return (flags & kLower && any(plan_.lower)) || (flags & kUpper && any(plan_.upper));
}

void Operator::relax(Row begin, Row end, RelaxArgs args, const CacheUse &cache, bool early,
                     cudaStream_t stream) const
{
  if (begin == end) return;
  args.bs = plan_.bs;
  args.head = head_;
  args.blocks = blocks_.data();
  args.heads = heads_.data();
  args.rows = rows_.data();
  cudaLaunchConfig_t config{};
  const void *function = kernel_.function;
  if (small() && !args.inside.packets.base && !has_slices(begin, end, args.flags)) {
    args.first_row = static_cast<std::uint32_t>(begin);
    args.row_count = static_cast<std::uint32_t>(end - begin);
    config.gridDim = dim3(static_cast<unsigned>(
        (std::size_t{args.row_count} * static_cast<unsigned>(args.nrhs) + kRowsThreads - 1) /
        kRowsThreads));
    config.blockDim = dim3(kRowsThreads);
    function = rows_kernel_;
  } else if (small()) {
    const std::size_t first = layout_.part_begin[part(begin)];
    args.tiles = tiles_.data() + first;
    args.ends = ends_.data();
    config.gridDim = dim3(layout_.part_begin[part(begin) + 1] - static_cast<unsigned>(first));
    config.blockDim = dim3(static_cast<unsigned>(kernel_.threads));
    if (args.nrhs == 1 && !layout_.long_rows) {
      const TileLaunch launch = layout_.launch[part(begin)];
      function = launch.few ? kernel_.few : kernel_.simple;
      if (launch.one_waits) args.flags |= kOneWaits;
    }
    if (args.inside.packets.base) {
      const std::size_t color = part(begin) / 2;
      function = kernel_.exchanging;
      config.gridDim = dim3(layout_.part_begin[2 * color + 2] - static_cast<unsigned>(first));
      args.inside.boundary_tiles = layout_.part_begin[2 * color + 1] - static_cast<unsigned>(first);
    }
  } else {
    args.first_row = static_cast<std::uint32_t>(begin);
    args.row_count = static_cast<std::uint32_t>(end - begin);
    args.stream = kernel_.stream;
    const bool fits = resident(begin, args);
    const int rows = fits ? kernel_.resident.rows : kernel_.stream.rows,
              team = fits ? kernel_.resident.team : kernel_.stream.team;
    const int bytes = fits ? kernel_.resident.bytes(static_cast<int>(args.capacity))
                           : rows * kernel_.stream.bytes;
    config.gridDim =
        dim3((args.row_count + static_cast<unsigned>(rows) - 1) / static_cast<unsigned>(rows));
    config.blockDim = dim3(static_cast<unsigned>(rows * team));
    config.dynamicSmemBytes = static_cast<std::size_t>(bytes);
    if (fits) function = kernel_.simple;
  }
  // Programmatic dependent launch: the kernel may begin before the previous launch has ended, and
  // load what does not depend on that launch.
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = early ? 1 : 0;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 1;
  const Bytes rhs{static_cast<const std::byte *>(args.rhs) +
                      static_cast<std::size_t>(begin) * cache.passing,
                  static_cast<std::size_t>(end - begin) * cache.passing};
  attributes[1].id = cudaLaunchAttributeAccessPolicyWindow;
  attributes[1].val.accessPolicyWindow =
      cache_window(cache, rhs, {blocks_.data(), blocks_.bytes()}, largest_window_);
  if (attributes[1].val.accessPolicyWindow.num_bytes > 0) config.numAttrs = 2;
  void *arguments[] = {&args};
  MCPI_CUDA(cudaLaunchKernelExC(&config, function, arguments));
}

} // namespace mcpi::cuda
