// The one host/device macro, and nothing else that depends on the compiler.
#pragma once

#if defined(__CUDACC__)
#define AXION_HD __host__ __device__
#else
#define AXION_HD
#endif
