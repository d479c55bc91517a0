// The host/device macros, and what a compiler is told of inlining and unrolling.
#pragma once

// AXION_HD_CALL is for large function templates that are called from several places: a real call on a device. Inlined
// into the step's kernel at each of its call sites they take the assembler a quarter of an hour an architecture.
// AXION_HD_SMALL is for functions of a few operations on vectors: inlined wherever they are called. The compiler of a
// CPU gives up inlining in a function as large as a step, and a call that returns three numbers through memory costs
// more than its operations.
// AXION_HD_RARE is for what few models have: a real call everywhere, so that it takes no room in the step's functions,
// of which a CPU's compiler would then inline less of what all models have.
// AXION_INLINED is for a function or lambda whose arrays are to become registers: it must end up in its caller.
// AXION_UNROLLED is for loops over numbers at equal distances: in CUDA four turns at a time, whose loads go together.
#if defined(__CUDACC__)
#define AXION_HD __host__ __device__
#define AXION_HD_CALL __host__ __device__ __noinline__
#define AXION_HD_SMALL __host__ __device__
#define AXION_HD_RARE __host__ __device__ __noinline__
#define AXION_INLINED
#define AXION_UNROLLED _Pragma("unroll 4")
#else
#define AXION_HD
#define AXION_HD_CALL inline
#define AXION_UNROLLED
#if defined(__GNUC__)
#define AXION_HD_RARE __attribute__((noinline))
#define AXION_HD_SMALL __attribute__((always_inline))
#define AXION_INLINED __attribute__((always_inline))
#else
#define AXION_HD_RARE
#define AXION_HD_SMALL
#define AXION_INLINED
#endif
#endif
