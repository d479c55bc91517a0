#include "clients/cli/local_errors.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace axion::cli {
namespace {

constexpr char kUsage[] = "axion.cli/usage", kFile[] = "axion.cli/file", kInterrupted[] = "axion.cli/interrupted";

volatile std::sig_atomic_t interrupts = 0;

void interrupt(int signal) {
  interrupts = 1;
  std::signal(signal, SIG_DFL);
}

absl::Status marked(absl::Status status, const char* mark) {
  status.SetPayload(mark, absl::Cord());
  return status;
}

}  // namespace

absl::Status usage_error(const std::string& message) { return marked(absl::InvalidArgumentError(message), kUsage); }
bool is_usage_error(const absl::Status& status) { return status.GetPayload(kUsage).has_value(); }

absl::Status file_error(const std::string& message) { return marked(absl::FailedPreconditionError(message), kFile); }
bool is_file_error(const absl::Status& status) { return status.GetPayload(kFile).has_value(); }

void heed_interrupts() { std::signal(SIGINT, interrupt); }
bool is_interrupted() { return interrupts != 0; }

absl::Status interrupted_error() { return marked(absl::CancelledError("interrupted"), kInterrupted); }
bool is_interrupted_error(const absl::Status& status) { return status.GetPayload(kInterrupted).has_value(); }

absl::StatusOr<std::string> read_file(const std::string& path) {
  std::error_code ignored;
  errno = std::filesystem::is_directory(path, ignored) ? EISDIR : 0;  // a stream would open one all the same
  std::ostringstream content;
  if (errno == 0) {
    std::ifstream file(path, std::ios::binary);
    if (file && file.peek() != std::ifstream::traits_type::eof()) {
      content << file.rdbuf();
    }
    if (file.is_open() && !file.bad() && !content.bad()) {
      return content.str();
    }
  }
  return file_error(absl::StrCat("cannot read the file '", path, "': ", std::strerror(errno)));
}

absl::Status check_writable(const std::string& path) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  std::error_code ignored;
  const bool existed = std::filesystem::exists(path, ignored);
  errno = 0;
  const std::ofstream file(path, std::ios::app);
  if (!file) {
    return file_error(absl::StrCat("cannot write the file '", path, "': ", std::strerror(errno)));
  }
  if (!existed) {
    std::filesystem::remove(path, ignored);
  }
  return absl::OkStatus();
}

}  // namespace axion::cli
