#include "backend/cuda/operator.h"

#include <algorithm>
#include <bit>

#include "backend/cuda/by_storage.h"
#include "core/scale_keeper.h"

namespace mcpi::cuda {

namespace {

// Bits of the columns that leave an exponent enough of the head word; 32 if none do
int packed_column_bits(const ColorPlan &plan, const BackendConfig &config)
{
  const PCMCPIPrecision storage = config.numeric.storage;
  if (!has_exponent(storage) || plan.bs > kMaxSmallBlock || config.double_vectors || config.numeric.scaling == PC_MCPI_SCALING_NONE)
    return 32;
  const int bits = std::bit_width(static_cast<std::uint32_t>(plan.rows) + static_cast<std::uint32_t>(plan.ghosts));
  return bits + packed_shift(storage, plan.bs) + kMinExponentBits <= 32 ? bits : 32;
}

} // namespace

Operator::Operator(const ColorPlan &plan, const BackendConfig &config)
    : plan_(plan), storage_(config.numeric.storage),
      vector_bytes_(config.double_vectors ? sizeof(double) : sizeof(float)), head_{packed_column_bits(plan, config), 0},
      packed_(head_.column_bits < 32), kernel_(by_storage(storage_, [&]<PCMCPIPrecision of> {
        return relax_kernel<of>({config.double_vectors, config.bfp16_gather, packed_}, plan.bs);
      }))
{
  if (small())
    init_small();
  else
    init_large();
}

void Operator::init_small()
{
  layout_ = make_tiles(plan_, item_shape(storage_, plan_.bs, packed_), kernel_.threads, kernel_.capacity);
  tiles_.upload(layout_.tiles);
  ends_.upload(layout_.ends);
  blocks_.resize(layout_.bytes);
  if (layout_.bytes == 0) return;
  std::vector<Row> columns(item_count());
  for_blocks([&](Row, const Triangle &triangle, Offset k, std::uint32_t tile, std::uint32_t place) {
    std::fill_n(columns.begin() + static_cast<std::ptrdiff_t>(item_number(tile, place)), layout_.shape.items,
                triangle.col[static_cast<std::size_t>(k)]);
  });
  DeviceArray<Row> on_device;
  on_device.upload(columns);
  MCPI_CUDA(cudaMemset(blocks_.data(), 0, layout_.bytes));
  set_columns(numbers(), static_cast<std::uint32_t>(layout_.tiles.size()), on_device.data());
  MCPI_CUDA(cudaGetLastError());
  MCPI_CUDA(cudaStreamSynchronize(cudaStreamLegacy));
}

void Operator::init_large()
{
  if (plan_.blocks() > static_cast<Offset>(0xffffffffU)) throw Error("the matrix is too large for the CUDA backend: use more ranks");
  std::vector<LargeRow> rows;
  rows.reserve(static_cast<std::size_t>(plan_.rows));
  for (Row row = 0; row < plan_.rows; ++row)
    rows.push_back({static_cast<std::uint32_t>(plan_.lower.ptr[row] + plan_.upper.ptr[row]),
                    static_cast<std::uint32_t>(plan_.lower.ptr[row + 1] - plan_.lower.ptr[row]),
                    static_cast<std::uint32_t>(plan_.upper.ptr[row + 1] - plan_.upper.ptr[row])});
  rows_.upload(rows);
  std::vector<BlockHead> heads(static_cast<std::size_t>(plan_.blocks()));
  for_blocks([&](Row, const Triangle &triangle, Offset k, std::uint32_t, std::uint32_t place) {
    heads[place] = {triangle.col[static_cast<std::size_t>(k)], 0};
  });
  heads_.upload(heads);
  blocks_.resize(heads.size() * record_pieces(storage_, plan_.bs) * kPiece);
  if (blocks_.bytes() > 0) MCPI_CUDA(cudaMemset(blocks_.data(), 0, blocks_.bytes()));
}

StoredNumbers Operator::numbers()
{
  return {storage_, plan_.bs, small(), layout_.shape, head_, tiles_.data(), blocks_.data(), heads_.data()};
}

// The exponents end above those of the largest number that ScaleKeeper lets pass.
void Operator::set_largest(double largest)
{
  if (!packed_) return;
  constexpr int room  = std::bit_width(static_cast<unsigned>(ScaleKeeper::kGrowth));
  const int     limit = storage_ == PC_MCPI_PRECISION_INT8 ? kInt8Limit : kInt4Limit, bits = 32 - layout_.shape.shift - head_.column_bits;
  head_.exponent_base = std::max(kMinSharedExponent, shared_exponent(largest, limit) + room - (1 << bits) + 1);
}

void Operator::relax(Row begin, Row end, RelaxArgs args, cudaStream_t stream) const
{
  if (begin == end) return;
  args.bs             = plan_.bs;
  args.head           = head_;
  args.blocks         = blocks_.data();
  args.heads          = heads_.data();
  args.rows           = rows_.data();
  std::uint32_t count = static_cast<std::uint32_t>(end - begin);
  if (small()) {
    const auto color    = std::upper_bound(plan_.color_begin.begin(), plan_.color_begin.end(), begin) - plan_.color_begin.begin() - 1;
    const bool interior = begin >= plan_.boundary_end[static_cast<std::size_t>(color)];
    const auto part     = static_cast<std::size_t>(2 * color + (interior ? 1 : 0));
    args.tiles          = tiles_.data() + layout_.part_begin[part];
    args.ends           = ends_.data();
    count               = layout_.part_begin[part + 1] - layout_.part_begin[part];
  } else {
    args.first_row = static_cast<std::uint32_t>(begin);
  }
  // The next launch may begin to load what does not depend on this one.
  cudaLaunchAttribute attribute{};
  attribute.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim          = dim3(count);
  config.blockDim         = dim3(static_cast<unsigned>(kernel_.threads));
  config.dynamicSmemBytes = small() ? 0 : 3 * static_cast<std::size_t>(plan_.bs) * vector_bytes_ + kPiece; // read in pieces
  config.stream           = stream;
  config.attrs            = &attribute;
  config.numAttrs         = 1;
  void      *arguments[]  = {&args};
  const bool simple       = args.nrhs == 1 && !layout_.long_rows;
  MCPI_CUDA(cudaLaunchKernelExC(&config, simple ? kernel_.simple : kernel_.function, arguments));
}

} // namespace mcpi::cuda
