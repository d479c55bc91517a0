#include "server/net/memory_share.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace axion::server::net {
namespace {

constexpr int kPause = 20;  // times what a look at the allocator's lists took
constexpr absl::Duration kTrimInterval = absl::Seconds(5);

// The least limit of a group and of all that it lies in. "max" is no number.
std::uint64_t least_of(const std::string& root, std::string group, const char* file_name) {
  std::uint64_t least = UINT64_MAX;
  for (;;) {
    while (!group.empty() && group.back() == '/') group.pop_back();
    std::ifstream file(absl::StrCat(root, group, "/", file_name));
    std::uint64_t limit = 0;
    if (file >> limit) least = std::min(least, limit);
    if (group.empty()) return least;
    group.resize(std::min(group.rfind('/'), group.size() - 1));
  }
}

}  // namespace

std::uint64_t group_memory(const std::string& groups, const std::string& root) {
  // As a container sees its own, which the path in `groups` may not lead to.
  std::uint64_t least =
      std::min(least_of(root, "", "memory.max"), least_of(root + "/memory", "", "memory.limit_in_bytes"));
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || absl::StrContains(parts[2], "..")) continue;
    const std::string group(parts[2]);
    if (parts[0] == "0" && parts[1].empty()) {  // version 2
      least = std::min(least, least_of(root, group, "memory.max"));
    } else if (absl::StrContains(absl::StrCat(",", parts[1], ","), ",memory,")) {
      least = std::min(least, least_of(root + "/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::size_t process_memory() {
  const auto pages = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  std::uint64_t least = pages * static_cast<std::uint64_t>(std::max(sysconf(_SC_PAGESIZE), 1L));
  std::ifstream file("/proc/self/cgroup");
  const std::string groups(std::istreambuf_iterator<char>(file), {});
  least = std::min(least, group_memory(groups, "/sys/fs/cgroup"));
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
