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

// What a directory of a group says of a limit; the greatest number without one. "max" is no number.
using LimitOf = std::uint64_t (*)(const std::string& directory);

template <typename T>
bool read(const std::string& path, T& value) {
  std::ifstream file(path);
  return static_cast<bool>(file >> value);
}

std::uint64_t memory_v1(const std::string& directory) {
  std::uint64_t limit = 0;
  return read(directory + "/memory.limit_in_bytes", limit) ? limit : UINT64_MAX;
}

std::uint64_t memory_v2(const std::string& directory) {
  std::uint64_t limit = 0;
  return read(directory + "/memory.max", limit) ? limit : UINT64_MAX;
}

std::uint64_t rounded_up(std::int64_t quota, std::int64_t period) {  // -1 is none
  if (quota <= 0 || period <= 0) return UINT64_MAX;
  return static_cast<std::uint64_t>(quota / period + (quota % period > 0 ? 1 : 0));
}

std::uint64_t processors_v1(const std::string& directory) {
  std::int64_t quota = 0, period = 0;
  const bool known = read(directory + "/cpu.cfs_quota_us", quota) && read(directory + "/cpu.cfs_period_us", period);
  return known ? rounded_up(quota, period) : UINT64_MAX;
}

std::uint64_t processors_v2(const std::string& directory) {
  std::ifstream file(directory + "/cpu.max");
  std::int64_t quota = 0, period = 0;
  return file >> quota >> period ? rounded_up(quota, period) : UINT64_MAX;
}

// The least of a group and of all that it lies in.
std::uint64_t least_of(const std::string& root, std::string group, LimitOf limit_of) {
  std::uint64_t least = UINT64_MAX;
  for (;;) {
    while (!group.empty() && group.back() == '/') group.pop_back();
    least = std::min(least, limit_of(root + group));
    if (group.empty()) return least;
    group.resize(std::min(group.rfind('/'), group.size() - 1));
  }
}

// The least of all groups that `groups` names. Groups of version 1 lie below the name of what they control.
std::uint64_t least_of_all(const std::string& groups, const std::string& root, const std::string& controller,
                           LimitOf of_v1, LimitOf of_v2) {
  const std::string root_v1 = absl::StrCat(root, "/", controller);
  // As a container sees its own, which the path in `groups` may not lead to.
  std::uint64_t least = std::min(least_of(root, "", of_v2), least_of(root_v1, "", of_v1));
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || absl::StrContains(parts[2], "..")) continue;
    const std::string group(parts[2]);
    if (parts[0] == "0" && parts[1].empty()) {  // version 2
      least = std::min(least, least_of(root, group, of_v2));
    } else if (absl::StrContains(absl::StrCat(",", parts[1], ","), absl::StrCat(",", controller, ","))) {
      least = std::min(least, least_of(root_v1, group, of_v1));
    }
  }
  return least;
}

std::string own_groups() {
  std::ifstream file("/proc/self/cgroup");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

std::uint64_t group_memory(const std::string& groups, const std::string& root) {
  return least_of_all(groups, root, "memory", memory_v1, memory_v2);
}

int group_processors(const std::string& groups, const std::string& root) {
  const std::uint64_t least = least_of_all(groups, root, "cpu", processors_v1, processors_v2);
  return least == UINT64_MAX ? 0 : static_cast<int>(std::min<std::uint64_t>(least, INT32_MAX));
}

int process_processors(int available) {
  const int quota = group_processors(own_groups(), "/sys/fs/cgroup");
  return quota > 0 ? std::min(available, quota) : available;
}

std::size_t process_memory() {
  const auto pages = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  std::uint64_t least = pages * static_cast<std::uint64_t>(std::max(sysconf(_SC_PAGESIZE), 1L));
  least = std::min(least, group_memory(own_groups(), "/sys/fs/cgroup"));
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

std::size_t unfinished_share(std::size_t memory, std::size_t max_message_bytes) {
  return std::max(memory / 8, 2 * max_message_bytes);
}

std::size_t transport_share(std::size_t memory, std::size_t max_message_bytes) {
  const std::size_t unfinished = unfinished_share(memory, max_message_bytes);
  return unfinished + unfinished / 2;
}

}  // namespace axion::server::net
