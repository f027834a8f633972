// Counts what C++ code allocates, the library included. This is a separate file, so that the
// compiler does not see pairs of new and free().
#include <cstdlib>
#include <new>

#include "support.h"

namespace {

std::size_t total = 0;

}

std::size_t test::allocated_bytes()
{
  return total;
}

void *operator new(std::size_t size)
{
  total += size;
  if (void *memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}

void *operator new(std::size_t size, const std::nothrow_t &) noexcept
{
  total += size;
  return std::malloc(size);
}

void operator delete(void *memory) noexcept
{
  std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
  std::free(memory);
}
