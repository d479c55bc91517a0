#include "server/observe/logging.hpp"

#include <algorithm>
#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace axion::server::observe {

absl::Status set_up_logging(const std::string& level) {
  constexpr std::array<const char*, 6> kLevels{"trace", "debug", "info", "warning", "error", "off"};
  if (std::find(kLevels.begin(), kLevels.end(), level) == kLevels.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log_level: \"", level, "\" is none of trace, debug, info, warning, error, off"));
  }
  auto logger = spdlog::get("axiond");
  if (logger == nullptr) logger = spdlog::stderr_color_mt("axiond");
  logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(logger);
  return absl::OkStatus();
}

std::string log_text(const std::string& text) { return absl::StrCat("\"", absl::CEscape(text), "\""); }

}  // namespace axion::server::observe
