#include "server/net/memory_share.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>

namespace axion::server::net {
namespace {

constexpr int kPause = 20;  // times what a look at the allocator's lists took
constexpr absl::Duration kTrimInterval = absl::Seconds(5);

}  // namespace

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

std::size_t HeapWatch::in_use(std::size_t least, absl::Time now) {
  if (now < next_look_) return last_ >= least ? last_ : 0;
  std::size_t size = 0, resident = 0;  // pages
  if (!(std::ifstream("/proc/self/statm") >> size >> resident)) return 0;
  if (resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) < least) return 0;
  const auto begin = std::chrono::steady_clock::now();
  const struct mallinfo2 heap = mallinfo2();
  next_look_ = now + kPause * absl::FromChrono(std::chrono::steady_clock::now() - begin);
  last_ = heap.uordblks + heap.hblkhd;
  if (last_ >= least) return last_;
  if (now >= next_trim_) {
    malloc_trim(0);
    next_trim_ = now + kTrimInterval;
  }
  return 0;
}

std::size_t transport_share(std::size_t memory, std::size_t max_message_bytes) {
  return std::max(memory / 8, 2 * max_message_bytes);
}

}  // namespace axion::server::net
