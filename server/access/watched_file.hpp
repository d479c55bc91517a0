// Small files of credentials: read whole and safely, and looked at again when they change.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace axion::server::access {

// The whole file. Links are followed (an orchestrator's secrets are links); what is no regular file, cannot be read or
// is longer is refused with its reason, and nothing of it is repeated.
absl::StatusOr<std::string> read_small_file(const std::string& path, std::size_t max_bytes);

// Which version of a file lies at a path; all zero if none does. Two are equal unless the file was written or replaced
// between.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  std::int64_t size = 0, modified_ns = 0, changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
FileStamp stamp_of(const std::string& path);

}  // namespace axion::server::access
