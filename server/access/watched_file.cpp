#include "server/access/watched_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace axion::server::access {
namespace {

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

absl::Status read_all(int file, std::size_t max_bytes, std::string& text) {
  char part[65536];
  for (;;) {
    const ssize_t count = read(file, part, sizeof part);
    if (count == 0) return absl::OkStatus();
    if (count < 0) {
      if (errno == EINTR) continue;
      return absl::InvalidArgumentError(absl::StrCat("cannot be read: ", std::strerror(errno)));
    }
    text.append(part, static_cast<std::size_t>(count));
    if (text.size() > max_bytes) return absl::InvalidArgumentError(absl::StrCat("has more than ", max_bytes, " bytes"));
  }
}

}  // namespace

absl::StatusOr<std::string> read_small_file(const std::string& path, std::size_t max_bytes) {
  // A pipe without a writer is not waited for.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return absl::InvalidArgumentError(absl::StrCat("cannot be read: ", std::strerror(errno)));
  struct stat status {};
  std::string text;
  absl::Status outcome;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    outcome = absl::InvalidArgumentError("is no regular file");
  } else {
    outcome = read_all(file, max_bytes, text);
  }
  close(file);
  if (!outcome.ok()) return outcome;
  return text;
}

FileStamp stamp_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino), status.st_size,
          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

}  // namespace axion::server::access
