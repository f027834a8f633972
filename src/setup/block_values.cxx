#include "setup/block_values.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "core/threads.h"
#include "petsc/compat.h"

namespace mcpi {
namespace {

static_assert(sizeof(PetscScalar) == sizeof(double), "petsc-mcpi works with real double scalars");

// One sequential portion with its structure and values
struct OpenPortion {
  RowStructure structure;
  const PetscScalar *values = nullptr;
};

// BAIJ stores column-major blocks, so row() returns pointers into PETSc's array.
class BaijValues final : public MatrixValues {
public:
  explicit BaijValues(const BlockGraph &graph) : graph_(graph), blocks_(longest_row(graph.ptr)) {}

  PetscErrorCode open(const MatrixPortions &portions, int threads, void *) override
  {
    PetscFunctionBegin;
    threads_ = threads;
    PetscCall(open_portion(portions.diag, diag_));
    if (portions.offdiag) PetscCall(open_portion(portions.offdiag, offdiag_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode close() override
  {
    PetscFunctionBegin;
    PetscCall(diag_.structure.close());
    PetscCall(offdiag_.structure.close());
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  std::unique_ptr<BlockRows> reader() const override { return std::make_unique<BaijValues>(*this); }

  void row(Row local_row, const double *&diagonal, const double *const *&offdiag) override
  {
    const std::size_t size = static_cast<std::size_t>(graph_.bs) * graph_.bs;
    std::size_t count = 0;
    for (PetscInt k = diag_.structure.i[local_row]; k < diag_.structure.i[local_row + 1]; ++k) {
      const double *block = diag_.values + static_cast<std::size_t>(k) * size;
      if (diag_.structure.j[k] == local_row)
        diagonal = block;
      else
        blocks_[count++] = block;
    }
    if (offdiag_.values)
      for (PetscInt k = offdiag_.structure.i[local_row]; k < offdiag_.structure.i[local_row + 1];
           ++k)
        blocks_[count++] = offdiag_.values + static_cast<std::size_t>(k) * size;
    offdiag = blocks_.data();
  }

  ValueArrays arrays() override
  {
    ValueArrays arrays;
    arrays.layout = ValueLayout::blocks;
    arrays.threads = threads_;
    arrays.portion[0] = diag_.values;
    arrays.portion[1] = offdiag_.values;
    return arrays;
  }

  PortionStructure structure(int p) const override
  {
    const RowStructure &rows = (p == 0 ? diag_ : offdiag_).structure;
    PortionStructure portion;
    if (!rows.i) return portion;
    portion.ptr.assign(rows.i, rows.i + graph_.rows + 1);
    for (Row row = 0; row < graph_.rows && p == 0; ++row)
      portion.diagonal.push_back(static_cast<Row>(
          std::find(rows.j + rows.i[row], rows.j + rows.i[row + 1], row) - (rows.j + rows.i[row])));
    return portion;
  }

private:
  // MatSeqBAIJRestoreArray() is not needed, because it only clears the caller's pointer.
  static PetscErrorCode open_portion(Mat mat, OpenPortion &portion)
  {
    PetscScalar *array;

    PetscFunctionBegin;
    PetscCall(portion.structure.open(mat, true));
    PetscCall(MatSeqBAIJGetArray(mat, &array));
    portion.values = array;
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  const BlockGraph &graph_;
  OpenPortion diag_, offdiag_;
  std::vector<const double *> blocks_;
  int threads_ = 1;
};

// Finds the block of each entry of an AIJ matrix's scalar rows. It calls visit(block, column,
// entry): block is the number among the row's off-diagonal blocks, or -1 for the diagonal block;
// column is the entry's column inside the block. Entries may come in any order, because a user's
// arrays may hold them so.
class AijEntries {
public:
  AijEntries(const BlockGraph &graph, const PetscInt *garray) : graph_(graph), garray_(garray) {}

  template <class Visit>
  void diag(const RowStructure &structure, Row row, int p, const Visit &visit) const
  {
    const Row *columns = graph_.col.data() + graph_.ptr[row],
              *last = graph_.col.data() + graph_.ptr[row + 1], *at = columns;
    const PetscInt bs = graph_.bs, scalar_row = static_cast<PetscInt>(row) * bs + p;
    PetscInt from = 0, to = 0; // scalar columns of the block
    std::ptrdiff_t block = -1;
    for (PetscInt k = structure.i[scalar_row]; k < structure.i[scalar_row + 1]; ++k) {
      const PetscInt j = structure.j[k];
      if (j < from || j >= to) {
        const Row column = static_cast<Row>(j / bs);
        from = static_cast<PetscInt>(column) * bs;
        to = from + bs;
        if (column != row) at = found(columns, last, at, column);
        block = column == row ? -1 : at - columns;
      }
      visit(block, static_cast<std::size_t>(j - from), k);
    }
  }

  template <class Visit>
  void offdiag(const RowStructure &structure, Row row, int p, const Visit &visit) const
  {
    const Row *columns = graph_.col.data() + graph_.ptr[row],
              *last = graph_.col.data() + graph_.ptr[row + 1];
    const Row *first = ghosts(row), *at = first;
    const PetscInt scalar_row = static_cast<PetscInt>(row) * graph_.bs + p;
    for (PetscInt k = structure.i[scalar_row]; k < structure.i[scalar_row + 1]; ++k) {
      at = found(first, last, at, graph_.rows + graph_.ghost_of_column[structure.j[k]]);
      visit(at - columns, static_cast<std::size_t>(garray_[structure.j[k]] % graph_.bs), k);
    }
  }

  // The first ghost column of a row, or the end of the row's columns
  const Row *ghosts(Row row) const
  {
    return std::lower_bound(graph_.col.data() + graph_.ptr[row],
                            graph_.col.data() + graph_.ptr[row + 1], graph_.rows);
  }

private:
  // Finds column in [first, last). The search begins at the column that was found before, because
  // most entries have that column or the one behind it.
  static const Row *found(const Row *first, const Row *last, const Row *before, Row column)
  {
    if (before == last || *before > column) before = std::lower_bound(first, before, column);
    while (before != last && *before != column) ++before;
    if (before == last)
      throw std::logic_error("columns of this matrix have changed and its nonzero state has not");
    return before;
  }

  const BlockGraph &graph_;
  const PetscInt *garray_;
};

// Whether entries of all scalar rows stand in the order of their columns
bool ascend(const RowStructure &rows, int threads)
{
  std::atomic<bool> good = true;
  share_range(rows.rows, threads, [&](PetscInt begin, PetscInt end) {
    for (PetscInt row = begin; row < end && good; ++row)
      if (!std::is_sorted(rows.j + rows.i[row], rows.j + rows.i[row + 1])) good = false;
  });
  return good;
}

// Both portions of an AIJ matrix. Their values lie where the function get leaves them: on the host
// or on a device.
struct OpenAij {
  using Access = PetscErrorCode (*)(Mat, const PetscScalar **);

  MatrixPortions portions;
  OpenPortion diag, offdiag;

  PetscErrorCode open(const MatrixPortions &of, Access get)
  {
    PetscFunctionBegin;
    portions = of;
    PetscCall(diag.structure.open(portions.diag, false));
    PetscCall(get(portions.diag, &diag.values));
    if (portions.offdiag) {
      PetscCall(offdiag.structure.open(portions.offdiag, false));
      PetscCall(get(portions.offdiag, &offdiag.values));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode close(Access restore)
  {
    PetscFunctionBegin;
    PetscCall(restore(portions.diag, &diag.values));
    PetscCall(diag.structure.close());
    if (portions.offdiag) {
      PetscCall(restore(portions.offdiag, &offdiag.values));
      PetscCall(offdiag.structure.close());
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

// For AIJ, row() copies the entries into dense blocks. Entries that are not stored are zero.
class AijValues final : public MatrixValues {
public:
  explicit AijValues(const BlockGraph &graph) : AijValues(graph, longest_row(graph.ptr)) {}

  PetscErrorCode open(const MatrixPortions &portions, int, void *) override
  {
    PetscFunctionBegin;
    PetscCall(opened_.open(portions, MatSeqAIJGetArrayRead));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode close() override
  {
    PetscFunctionBegin;
    PetscCall(opened_.close(MatSeqAIJRestoreArrayRead));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  std::unique_ptr<BlockRows> reader() const override
  {
    std::unique_ptr<AijValues> result(new AijValues(graph_, blocks_.size()));
    result->opened_ = opened_;
    result->set_empty(empty());
    return result;
  }

  void row(Row local_row, const double *&diagonal, const double *const *&offdiag) override
  {
    const AijEntries entries(graph_, opened_.portions.garray);
    std::fill_n(dense_.begin(),
                static_cast<std::size_t>(graph_.ptr[local_row + 1] - graph_.ptr[local_row] + 1) *
                    size_,
                0.0);
    for (int p = 0; p < graph_.bs; ++p) {
      const auto put = [&](const PetscScalar *values) {
        return [=, this](std::ptrdiff_t block, std::size_t column, PetscInt k) {
          dense_[static_cast<std::size_t>(block + 1) * size_ + column * graph_.bs + p] = values[k];
        };
      };
      entries.diag(opened_.diag.structure, local_row, p, put(opened_.diag.values));
      if (opened_.offdiag.values)
        entries.offdiag(opened_.offdiag.structure, local_row, p, put(opened_.offdiag.values));
    }
    diagonal = dense_.data();
    offdiag = blocks_.data();
  }

private:
  // longest: the most off-diagonal blocks of a row
  AijValues(const BlockGraph &graph, std::size_t longest)
      : graph_(graph), size_(static_cast<std::size_t>(graph.bs) * graph.bs),
        dense_((longest + 1) * size_), blocks_(longest)
  {
    for (std::size_t k = 0; k < blocks_.size(); ++k) blocks_[k] = dense_.data() + (k + 1) * size_;
  }

  const BlockGraph &graph_;
  const std::size_t size_;
  OpenAij opened_;
  std::vector<double> dense_; // the diagonal block, then the others
  std::vector<const double *> blocks_;
};

#if defined(PETSC_HAVE_CUDA)
constexpr OpenAij::Access kGetCusparse = MatSeqAIJCUSPARSEGetArrayRead,
                          kRestoreCusparse = MatSeqAIJCUSPARSERestoreArrayRead;
#endif

PetscErrorCode get_on_device(Mat mat, const PetscScalar **values)
{
  PetscScalar *array;
  PetscMemType type;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetCSRAndMemType(mat, nullptr, nullptr, &array, &type));
  PetscCheck(PetscMemTypeDevice(type), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "The values of this matrix are not on a device");
  *values = array;
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode forget(Mat, const PetscScalar **values)
{
  *values = nullptr;
  return PETSC_SUCCESS;
}

// AIJ with its values on a device. The values stay there, and the structure is read on the host.
class DeviceAijValues final : public MatrixValues {
public:
  DeviceAijValues(const BlockGraph &graph, OpenAij::Access get, OpenAij::Access restore)
      : graph_(graph), get_(get), restore_(restore)
  {
  }

  PetscErrorCode open(const MatrixPortions &portions, int, void *stream) override
  {
    PetscFunctionBegin;
    stream_ = stream;
    PetscCall(opened_.open(portions, get_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  PetscErrorCode close() override
  {
    PetscFunctionBegin;
    PetscCall(opened_.close(restore_));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  ValueArrays arrays() override
  {
    ValueArrays arrays;
    arrays.layout = ValueLayout::scalar_rows;
    arrays.device = true;
    arrays.stream = stream_;
    arrays.portion[0] = opened_.diag.values;
    arrays.portion[1] = opened_.portions.offdiag ? opened_.offdiag.values : nullptr;
    return arrays;
  }

  PortionStructure structure(int p) const override
  {
    const RowStructure &rows = (p == 0 ? opened_.diag : opened_.offdiag).structure;
    const AijEntries entries(graph_, opened_.portions.garray);
    const Offset square = static_cast<Offset>(graph_.bs) * graph_.bs,
                 blocks = static_cast<Offset>(graph_.col.size()) + graph_.rows;
    Offset stored = opened_.diag.structure.i[opened_.diag.structure.rows];
    PortionStructure portion;
    if (!rows.i) return portion;
    if (opened_.portions.offdiag)
      stored += opened_.offdiag.structure.i[opened_.offdiag.structure.rows];
    portion.ptr.push_back(0);
    for (Row row = 0; row < graph_.rows; ++row) {
      const Row *columns = graph_.col.data() + graph_.ptr[row], *ghosts = entries.ghosts(row);
      if (p == 0)
        portion.diagonal.push_back(
            static_cast<Row>(std::lower_bound(columns, ghosts, row) - columns));
      portion.ptr.push_back(
          portion.ptr.back() +
          (p == 0 ? ghosts - columns + 1 : graph_.col.data() + graph_.ptr[row + 1] - ghosts));
    }
    const RowStructure &other = (p == 0 ? opened_.offdiag : opened_.diag).structure;
    if (stored == blocks * square && ascend(rows, graph_.threads) && ascend(other, graph_.threads))
      return portion; // all blocks of both portions are full
    portion.entry_ptr.assign(rows.i, rows.i + rows.rows + 1);
    portion.slot.resize(static_cast<std::size_t>(portion.entry_ptr.back()));
    for (Row row = 0; row < graph_.rows; ++row)
      for (int i = 0; i < graph_.bs; ++i) {
        const auto slot = [&](std::ptrdiff_t place, std::size_t column, PetscInt k) {
          portion.slot[static_cast<std::size_t>(k)] = static_cast<std::uint32_t>(
              place * square + static_cast<Offset>(column) * graph_.bs + i);
        };
        if (p == 0) {
          const std::ptrdiff_t diagonal = portion.diagonal[static_cast<std::size_t>(row)];
          entries.diag(rows, row, i, [&](std::ptrdiff_t block, std::size_t column, PetscInt k) {
            slot(block < 0 ? diagonal : block < diagonal ? block : block + 1, column, k);
          });
        } else {
          const std::ptrdiff_t first = entries.ghosts(row) - (graph_.col.data() + graph_.ptr[row]);
          entries.offdiag(rows, row, i, [&](std::ptrdiff_t block, std::size_t column, PetscInt k) {
            slot(block - first, column, k);
          });
        }
      }
    return portion;
  }

private:
  const BlockGraph &graph_;
  const OpenAij::Access get_, restore_;
  OpenAij opened_;
  void *stream_ = nullptr;
};

// True if the matrix has that type and is not bound to the CPU
bool is_on_device(Mat mat, MatType type)
{
  PetscBool match = PETSC_FALSE, on_host = PETSC_TRUE;
  return PetscObjectTypeCompare((PetscObject)mat, type, &match) == PETSC_SUCCESS && match &&
         MatBoundToCPU(mat, &on_host) == PETSC_SUCCESS && !on_host;
}

} // namespace

std::unique_ptr<MatrixValues> make_matrix_values(const MatrixPortions &portions,
                                                 const BlockGraph &graph,
                                                 const ReadsInPlace &in_place)
{
  if (portions.blocked) return std::make_unique<BaijValues>(graph);
#if defined(PETSC_HAVE_CUDA)
  if (in_place.cusparse && is_on_device(portions.diag, MATSEQAIJCUSPARSE))
    return std::make_unique<DeviceAijValues>(graph, kGetCusparse, kRestoreCusparse);
#endif
  if (in_place.kokkos && is_on_device(portions.diag, MATSEQAIJKOKKOS))
    return std::make_unique<DeviceAijValues>(graph, get_on_device, forget);
  return std::make_unique<AijValues>(graph);
}

} // namespace mcpi
