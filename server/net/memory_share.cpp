#include "server/net/memory_share.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace axion::server::net {

std::size_t process_memory() {
  const auto pages = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  std::uint64_t least = pages * static_cast<std::uint64_t>(std::max(sysconf(_SC_PAGESIZE), 1L));
  // Version 2 of control groups and version 1, as a container sees its own; "max" is no number.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    std::uint64_t limit = 0;
    if (file >> limit) least = std::min(least, limit);
  }
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0) least = std::min<std::uint64_t>(least, address_space.rlim_cur);
  return static_cast<std::size_t>(least);
}

bool HeapWatch::exceeds(std::size_t bytes, absl::Time now) {
  if (now < next_) return false;
  std::size_t size = 0, resident = 0;  // pages
  if (!(std::ifstream("/proc/self/statm") >> size >> resident)) return false;
  if (resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) <= bytes) return false;
  const struct mallinfo2 heap = mallinfo2();
  if (heap.uordblks + heap.hblkhd > bytes) return true;
  malloc_trim(0);
  next_ = now + absl::Seconds(5);
  return false;
}

std::size_t transport_share(std::size_t memory, std::size_t max_message_bytes) {
  return std::max(memory / 8, 2 * max_message_bytes);
}

}  // namespace axion::server::net
