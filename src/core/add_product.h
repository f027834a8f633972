// The product of two blocks, where it is called so often that it must be inlined.
#pragma once

namespace mcpi {

// c += a b, for column-major blocks. size: of the blocks, 0: bs
template <int size> inline void add_product(int bs, const double *a, const double *b, double *c)
{
  const int n = size > 0 ? size : bs;
  for (int j = 0; j < n; ++j)
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < n; ++i) c[j * n + i] += a[k * n + i] * b[j * n + k];
}

} // namespace mcpi
