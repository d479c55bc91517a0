#include "server/net/descriptors.hpp"

#include <dirent.h>
#include <sys/resource.h>

#include <algorithm>

namespace axion::server::net {
namespace {

// Kept free for the rest: the metrics page, a device's driver, files that libraries open in passing.
constexpr std::size_t kLeastReserve = 24;
// A limit of a million open files is no wish for a million connections.
constexpr std::size_t kMostConnections = 16'384;

}  // namespace

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  constexpr rlim_t kMost = 1 << 30;  // "no limit" is the greatest number there is
  return static_cast<std::size_t>(std::min(limit.rlim_cur, kMost));
}

std::size_t open_descriptors() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 64;  // no /proc: more than a server has open at its start
  std::size_t count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count - std::min<std::size_t>(count, 3);  // ".", ".." and the folder itself
}

std::size_t connection_share(std::size_t limit, std::size_t open) {
  const std::size_t free = limit - std::min(limit, open);
  const std::size_t reserve = std::max(kLeastReserve, free / 4);
  return std::min(free - std::min(free, reserve), kMostConnections);
}

}  // namespace axion::server::net
