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
    : plan_(plan), storage_(storage), kernel_(select_kernel(storage, double_vectors, plan.bs))
{
  if (small()) {
    layout_ = make_tiles(plan, item_shape(storage, plan.bs), kernel_.threads, kernel_.capacity);
    tiles_.upload(layout_.tiles);
    ends_.upload(layout_.ends);
    blocks_.resize(layout_.bytes);
    return;
  }
  if (plan.blocks() > static_cast<Offset>(0xffffffffU)) throw Error("the matrix is too large for the CUDA backend: use more ranks");
  add_rows();
  heads_.resize(static_cast<std::size_t>(plan.blocks()));
  blocks_.resize(static_cast<std::size_t>(plan.blocks()) * record_pieces(storage, plan.bs) * kPiece);
  const int most   = kernel_.stream.bytes * kernel_.stream.rows;
  int       device = 0, limit = 0;
  MCPI_CUDA(cudaGetDevice(&device));
  MCPI_CUDA(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (most > limit) throw Error("the blocks are too large for the CUDA backend");
  MCPI_CUDA(cudaFuncSetAttribute(kernel_.function, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  MCPI_CUDA(cudaFuncSetAttribute(kernel_.function, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  if (kernel_.simple) {
    most_resident_ = std::min(limit, kMostResident);
    MCPI_CUDA(cudaFuncSetAttribute(kernel_.simple, cudaFuncAttributeMaxDynamicSharedMemorySize, most_resident_));
    MCPI_CUDA(cudaFuncSetAttribute(kernel_.simple, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  }
}

std::size_t Operator::part(Row begin) const
{
  const auto color    = std::upper_bound(plan_.color_begin.begin(), plan_.color_begin.end(), begin) - plan_.color_begin.begin() - 1;
  const bool interior = begin >= plan_.boundary_end[static_cast<std::size_t>(color)];
  return static_cast<std::size_t>(2 * color + (interior ? 1 : 0));
}

void Operator::add_rows()
{
  std::vector<LargeRow> rows;
  rows.reserve(static_cast<std::size_t>(plan_.rows));
  capacity_.resize(2 * static_cast<std::size_t>(plan_.colors));
  for (int color = 0; color < plan_.colors; ++color)
    for (const bool interior : {false, true}) {
      const Row begin = interior ? plan_.boundary_end[color] : plan_.color_begin[color],
                end   = interior ? plan_.color_begin[color + 1] : plan_.boundary_end[color];
      Capacity &most  = capacity_[static_cast<std::size_t>(2 * color + (interior ? 1 : 0))];
      Capacity  now;
      for (Row row = begin; row < end; ++row) {
        const LargeRow added{static_cast<std::uint32_t>(plan_.lower.ptr[row] + plan_.upper.ptr[row]),
                             static_cast<std::uint32_t>(plan_.lower.ptr[row + 1] - plan_.lower.ptr[row]),
                             static_cast<std::uint32_t>(plan_.upper.ptr[row + 1] - plan_.upper.ptr[row])};
        if ((row - begin) % kernel_.resident.rows == 0) now = {};
        now.lower += added.lower;
        now.upper += added.upper;
        most.lower = std::max(most.lower, now.lower);
        most.upper = std::max(most.upper, now.upper);
        most.both  = std::max(most.both, now.lower + now.upper);
        rows.push_back(added);
      }
    }
  rows_.upload(rows);
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

// Whether relax_resident takes the rows from begin on; sets args.capacity.
bool Operator::resident(Row begin, RelaxArgs &args) const
{
  const unsigned triangles = args.flags & (kLower | kUpper);
  const bool     both      = triangles == (kLower | kUpper);
  if (!kernel_.simple || args.nrhs > 1 || (both && args.flags & kKeepSum)) return false;
  const Capacity &most = capacity_[part(begin)];
  args.capacity        = both ? most.both : triangles == kLower ? most.lower : triangles == kUpper ? most.upper : 0;
  return args.capacity <= static_cast<unsigned>(most_resident_ / kernel_.resident.record) &&
         kernel_.resident.bytes(static_cast<int>(args.capacity)) <= most_resident_;
}

void Operator::relax(Row begin, Row end, RelaxArgs args, cudaStream_t stream) const
{
  if (begin == end) return;
  args.bs     = plan_.bs;
  args.blocks = blocks_.data();
  args.heads  = heads_.data();
  args.rows   = rows_.data();
  cudaLaunchConfig_t config{};
  const void        *function = kernel_.function;
  if (small()) {
    const std::size_t first = layout_.part_begin[part(begin)];
    args.tiles              = tiles_.data() + first;
    args.ends               = ends_.data();
    config.gridDim          = dim3(layout_.part_begin[part(begin) + 1] - static_cast<unsigned>(first));
    config.blockDim         = dim3(static_cast<unsigned>(kernel_.threads));
    if (args.nrhs == 1 && !layout_.long_rows) function = kernel_.simple;
  } else {
    args.first_row  = static_cast<std::uint32_t>(begin);
    args.row_count  = static_cast<std::uint32_t>(end - begin);
    args.stream     = kernel_.stream;
    const bool fits = resident(begin, args);
    const int  rows = fits ? kernel_.resident.rows : kernel_.stream.rows, team = fits ? kernel_.resident.team : kernel_.stream.team;
    const int  bytes        = fits ? kernel_.resident.bytes(static_cast<int>(args.capacity)) : rows * kernel_.stream.bytes;
    config.gridDim          = dim3((args.row_count + static_cast<unsigned>(rows) - 1) / static_cast<unsigned>(rows));
    config.blockDim         = dim3(static_cast<unsigned>(rows * team));
    config.dynamicSmemBytes = static_cast<std::size_t>(bytes);
    if (fits) function = kernel_.simple;
  }
  // The next launch may begin to load what does not depend on this one.
  cudaLaunchAttribute attribute{};
  attribute.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.stream                                        = stream;
  config.attrs                                         = &attribute;
  config.numAttrs                                      = 1;
  void *arguments[]                                    = {&args};
  MCPI_CUDA(cudaLaunchKernelExC(&config, function, arguments));
}

} // namespace mcpi::cuda
