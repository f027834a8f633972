#include "backend/cuda/operator.h"

#include <algorithm>
#include <cstring>

namespace mcpi::cuda {
namespace {

RelaxKernel select_kernel(PCMCPIPrecision storage, bool double_vectors, int bs)
{
  switch (storage) {
  case PC_MCPI_PRECISION_FP64:
    return relax_kernel<PC_MCPI_PRECISION_FP64>(double_vectors, bs);
  case PC_MCPI_PRECISION_FP32:
    return relax_kernel<PC_MCPI_PRECISION_FP32>(double_vectors, bs);
  case PC_MCPI_PRECISION_FP16:
    return relax_kernel<PC_MCPI_PRECISION_FP16>(double_vectors, bs);
  case PC_MCPI_PRECISION_BF16:
    return relax_kernel<PC_MCPI_PRECISION_BF16>(double_vectors, bs);
  case PC_MCPI_PRECISION_INT8:
    return relax_kernel<PC_MCPI_PRECISION_INT8>(double_vectors, bs);
  case PC_MCPI_PRECISION_INT4:
    return relax_kernel<PC_MCPI_PRECISION_INT4>(double_vectors, bs);
  }
  return {};
}

} // namespace

Operator::Operator(const ColorPlan &plan, PCMCPIPrecision storage, bool double_vectors)
    : plan_(plan), storage_(storage), vector_bytes_(double_vectors ? sizeof(double) : sizeof(float)),
      kernel_(select_kernel(storage, double_vectors, plan.bs))
{
  if (small()) {
    layout_ = make_tiles(plan, item_shape(storage, plan.bs), kernel_.threads, kernel_.capacity);
    tiles_.upload(layout_.tiles);
    ends_.upload(layout_.ends);
    blocks_.resize(layout_.bytes);
    return;
  }
  if (plan.blocks() > static_cast<Offset>(0xffffffffU)) throw Error("the matrix is too large for the CUDA backend: use more ranks");
  std::vector<LargeRow> rows;
  rows.reserve(static_cast<std::size_t>(plan.rows));
  for (Row row = 0; row < plan.rows; ++row)
    rows.push_back({static_cast<std::uint32_t>(plan.lower.ptr[row] + plan.upper.ptr[row]),
                    static_cast<std::uint32_t>(plan.lower.ptr[row + 1] - plan.lower.ptr[row]),
                    static_cast<std::uint32_t>(plan.upper.ptr[row + 1] - plan.upper.ptr[row])});
  rows_.upload(rows);
  heads_.resize(static_cast<std::size_t>(plan.blocks()));
  blocks_.resize(static_cast<std::size_t>(plan.blocks()) * record_pieces(storage, plan.bs) * kPiece);
}

void Operator::pack_large(const std::byte *lower, const std::byte *upper, std::vector<std::byte> &out, std::vector<BlockHead> &heads) const
{
  const int         first  = has_exponent(storage_) ? 1 : 0;
  const std::size_t record = record_bytes(storage_, plan_.bs),
                    stored = static_cast<std::size_t>(record_pieces(storage_, plan_.bs)) * kPiece;
  std::byte *to            = out.data();
  for (Row row = 0; row < plan_.rows; ++row)
    for (const Triangle *triangle : {&plan_.lower, &plan_.upper}) {
      const std::byte *records = triangle == &plan_.lower ? lower : upper;
      for (Offset k = triangle->ptr[row]; k < triangle->ptr[row + 1]; ++k, to += stored) {
        const std::byte *in = records + static_cast<std::size_t>(k) * record;
        std::memcpy(to, in + first, record - first);
        heads.push_back({triangle->col[k], first ? static_cast<signed char>(in[0]) : 0});
      }
    }
}

void Operator::upload(const std::byte *lower, const std::byte *upper)
{
  std::vector<std::byte> packed(blocks_.bytes());
  if (small()) {
    pack_tiles(layout_, storage_, plan_, lower, upper, packed.data());
  } else {
    std::vector<BlockHead> heads;
    pack_large(lower, upper, packed, heads);
    heads_.upload(heads);
  }
  blocks_.upload(packed);
}

void Operator::relax(Row begin, Row end, RelaxArgs args, cudaStream_t stream) const
{
  if (begin == end) return;
  args.bs             = plan_.bs;
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
