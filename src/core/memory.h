// Count of the memory that arrays occupy.
#pragma once

namespace mcpi {

// Bytes allocated by these vectors together
template <class... Vectors> double bytes_of(const Vectors &...vectors)
{
  return (0.0 + ... +
          (static_cast<double>(vectors.capacity()) * sizeof(typename Vectors::value_type)));
}

} // namespace mcpi
