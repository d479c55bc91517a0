#include "server/observe/logging.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/spdlog.h"

#include "server/observe/log_json.hpp"
#include "server/observe/log_queue.hpp"

namespace axion::server::observe {
namespace {

constexpr std::size_t kMaxQueuedBytes = 1 << 20;

// Made with the first logger and never destroyed: threads may log until the process ends.
LogQueue*& queue() {
  static LogQueue* made = nullptr;
  return made;
}

class QueueSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit QueueSink(bool json) : as_json(json) {}

 private:
  const bool as_json;
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string text(line.data(), line.size());
    queue()->push(as_json ? json_of(text) + "\n" : std::move(text));
  }
  void flush_() override {}
};

}  // namespace

absl::Status set_up_logging(const std::string& level, const std::string& format) {
  constexpr std::array<const char*, 6> kLevels{"trace", "debug", "info", "warning", "error", "off"};
  if (std::find(kLevels.begin(), kLevels.end(), level) == kLevels.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log_level: \"", level, "\" is none of trace, debug, info, warning, error, off"));
  }
  if (format != "text" && format != "json") {
    return absl::InvalidArgumentError(absl::StrCat("--log_format: \"", format, "\" is neither text nor json"));
  }
  auto logger = spdlog::get("axiond");
  if (logger == nullptr) {
    queue() = new LogQueue(STDERR_FILENO, kMaxQueuedBytes);
    logger = std::make_shared<spdlog::logger>("axiond", std::make_shared<QueueSink>(format == "json"));
    spdlog::register_logger(logger);
  }
  logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(logger);
  return absl::OkStatus();
}

void flush_logs(absl::Duration limit) {
  if (queue() != nullptr) queue()->flush(limit);
}

std::int64_t dropped_log_lines() { return queue() == nullptr ? 0 : queue()->dropped(); }

std::string log_text(absl::string_view text) { return absl::StrCat("\"", absl::CEscape(text), "\""); }

}  // namespace axion::server::observe
