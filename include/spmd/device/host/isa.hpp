// The instruction set this file is compiled for. Kernels live in an inline namespace of its name, so that the linker
// never joins a template compiled with one set of flags to a caller compiled with another.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__FMA__)
#define SPMD_ISA avx512
#define SPMD_PACK_BYTES 64  // of the widest register
#elif defined(__AVX2__) && defined(__FMA__)
#define SPMD_ISA avx2
#define SPMD_PACK_BYTES 32
#elif defined(__AVX__)
#define SPMD_ISA avx
#define SPMD_PACK_BYTES 16
#elif defined(__SSE2__)
#define SPMD_ISA sse
#define SPMD_PACK_BYTES 16
#elif defined(__ARM_NEON)
#define SPMD_ISA neon
#define SPMD_PACK_BYTES 16
#else
#define SPMD_ISA generic
#define SPMD_PACK_BYTES 16
#endif
