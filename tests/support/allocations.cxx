// Counts what C++ code allocates, the library included. This is a separate file, so that the
// compiler does not see pairs of new and free().
#include "support/allocations.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> calls, bytes, held, peak;

void *allocate(std::size_t size)
{
  ++calls;
  bytes += size;
  void *memory = std::malloc(size);
  held += malloc_usable_size(memory);
  peak = std::max(peak.load(), held.load());
  return memory;
}

void release(void *memory)
{
  held -= malloc_usable_size(memory);
  std::free(memory);
}

} // namespace

mcpi::test::Allocations mcpi::test::allocations()
{
  return {calls, bytes, held, peak};
}

void mcpi::test::count_peak()
{
  peak = held.load();
}

void *operator new(std::size_t size)
{
  if (void *memory = allocate(size)) return memory;
  throw std::bad_alloc();
}

void *operator new(std::size_t size, const std::nothrow_t &) noexcept
{
  return allocate(size);
}

void operator delete(void *memory) noexcept
{
  release(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
  release(memory);
}
