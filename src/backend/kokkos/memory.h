// Arrays in the memory of an execution space, and copies between them and host memory on an
// instance of that space.
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <vector>

namespace mcpi::kokkos {

template <class Space>
constexpr bool reaches_host = Kokkos::SpaceAccessibility<Space, Kokkos::HostSpace>::accessible;

// Fills an array by a kernel that holds a pointer, as all kernels of this backend do. In the first
// run on an H200 (Kokkos 4.7.00, CUDA 13), Kokkos' own kernel failed, which holds a View.
template <class Space, class T> void fill(const Space &space, T *data, std::size_t count, T value)
{
  Kokkos::parallel_for(
      "mcpi fill", Kokkos::RangePolicy<Space>(space, 0, count),
      KOKKOS_LAMBDA(const std::size_t k) { data[k] = value; });
}

template <class Space, class T> class Array {
public:
  using View = Kokkos::View<T *, typename Space::memory_space>;

  // Drops the contents and allocates an array of zeros.
  void resize(const Space &space, std::size_t count)
  {
    view_ = View(); // The old array is freed first, to make room.
    view_ = View(Kokkos::view_alloc(space, "mcpi"), count);
  }
  void upload(const Space &space, const std::vector<T> &from)
  {
    resize(space, from.size());
    copy_in(space, from.data(), from.size());
  }
  void copy_in(const Space &space, const T *from, std::size_t count, std::size_t at = 0)
  {
    if (count == 0) return;
    Kokkos::deep_copy(space, Kokkos::subview(view_, std::pair(at, at + count)), host(from, count));
    space.fence("mcpi upload"); // The caller may now free the host's array.
  }
  void copy_out(const Space &space, T *to, std::size_t count, std::size_t at = 0) const
  {
    if (count == 0) return;
    Kokkos::deep_copy(space, host(to, count), Kokkos::subview(view_, std::pair(at, at + count)));
    space.fence("mcpi download");
  }
  void fill(const Space &space, T value) { kokkos::fill(space, view_.data(), size(), value); }

  T *data() const { return view_.data(); }
  std::size_t size() const { return view_.extent(0); }
  std::size_t bytes() const { return size() * sizeof(T); }

private:
  template <class U> static auto host(U *data, std::size_t count)
  {
    return Kokkos::View<U *, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(data,
                                                                                         count);
  }
  View view_;
};

} // namespace mcpi::kokkos
