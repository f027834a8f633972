// The instruction sets that are worth their build time. Include this before any header of Highway.
// On CPUs with none of them, the plain kernels are used.
#pragma once

#ifdef MCPI_SANITIZED // With sanitizers, compilation takes many times longer.
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
#else
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_AVX3 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
#endif
