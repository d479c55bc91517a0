// The host/device macros, and nothing else that depends on the compiler.
#pragma once

// AXION_HD_CALL is for large function templates that are called from several places: a real call on a device. Inlined
// into the step's kernel at each of its call sites they take the assembler a quarter of an hour an architecture.
// AXION_HD_SMALL is for functions of a few operations on vectors: inlined wherever they are called. The compiler of a
// CPU gives up inlining in a function as large as a step, and a call that returns three numbers through memory costs
// more than its operations.
#if defined(__CUDACC__)
#define AXION_HD __host__ __device__
#define AXION_HD_CALL __host__ __device__ __noinline__
#define AXION_HD_SMALL __host__ __device__
#else
#define AXION_HD
#define AXION_HD_CALL inline
#if defined(__GNUC__)
#define AXION_HD_SMALL __attribute__((always_inline))
#else
#define AXION_HD_SMALL
#endif
#endif
