// What a file compiled with -fsanitize=thread calls at each of its loads and stores; here a counter, in place of that library.
#include <cstddef>

namespace axion::bench {
void count_access(const void* at, std::size_t bytes);
}

#define AXION_ACCESS(name, bytes) \
  void __tsan_##name(void* at) { axion::bench::count_access(at, bytes); }
#define AXION_ACCESSES(bytes)                                                     \
  AXION_ACCESS(read##bytes, bytes) AXION_ACCESS(write##bytes, bytes)              \
  AXION_ACCESS(unaligned_read##bytes, bytes) AXION_ACCESS(unaligned_write##bytes, bytes)

extern "C" {
AXION_ACCESSES(1)
AXION_ACCESSES(2)
AXION_ACCESSES(4)
AXION_ACCESSES(8)
AXION_ACCESSES(16)
void __tsan_read_range(void* at, std::size_t bytes) { axion::bench::count_access(at, bytes); }
void __tsan_write_range(void* at, std::size_t bytes) { axion::bench::count_access(at, bytes); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
}
