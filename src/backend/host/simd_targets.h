// Include before anything of Highway's: the instruction sets worth their build time. Anywhere else
// the plain kernels serve.
#pragma once

#ifdef MCPI_SANITIZED // whose compile time is many times longer
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
#else
#define HWY_DISABLED_TARGETS                                                                       \
  (~(HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
#endif
