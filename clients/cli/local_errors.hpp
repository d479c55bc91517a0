// Errors that are of this machine: the words of the command line, and its files. No server was asked, so they are told
// without a status code of the service.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace axion::cli {

// The words of the command line that are wrong.
absl::Status usage_error(const std::string& message);
bool is_usage_error(const absl::Status& status);

// A file of this machine that cannot be read or written.
absl::Status file_error(const std::string& message);
bool is_file_error(const absl::Status& status);

// Ctrl-C is only noted from here on, so that the worlds that a command has made go with it; the next one ends the
// program at once.
void heed_interrupts();
bool is_interrupted();

// What a command returns then.
absl::Status interrupted_error();
bool is_interrupted_error(const absl::Status& status);

// All of a file.
absl::StatusOr<std::string> read_file(const std::string& path);

// Whether a file can be written, before work is done for it; leaves nothing behind. The empty path is none.
absl::Status check_writable(const std::string& path);

}  // namespace axion::cli
