// What arrays hold.
#pragma once

namespace mcpi {

template <class... Vectors> double bytes_of(const Vectors &...vectors)
{
  return (0.0 + ... +
          (static_cast<double>(vectors.capacity()) * sizeof(typename Vectors::value_type)));
}

} // namespace mcpi
