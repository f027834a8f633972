// Counts what C++ code allocates, the library included. This is a separate file, so that the
// compiler does not see pairs of new and free().
#include "support/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> calls, bytes;

void *allocate(std::size_t size)
{
  ++calls;
  bytes += size;
  return std::malloc(size);
}

} // namespace

mcpi::test::Allocations mcpi::test::allocations()
{
  return {calls, bytes};
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
  std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
  std::free(memory);
}
