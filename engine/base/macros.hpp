// The host/device macros, and nothing else that depends on the compiler.
#pragma once

// AXION_HD_CALL is for large function templates that are called from several places: a real call on a device. Inlined into
// the step's kernel at each of its call sites they take the assembler a quarter of an hour an architecture.
#if defined(__CUDACC__)
#define AXION_HD __host__ __device__
#define AXION_HD_CALL __host__ __device__ __noinline__
#else
#define AXION_HD
#define AXION_HD_CALL inline
#endif
