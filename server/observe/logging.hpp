// Logs: one line an event, key=value, to standard error.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace axion::server::observe {

// "trace", "debug", "info", "warning", "error" or "off"; else INVALID_ARGUMENT.
absl::Status set_up_logging(const std::string& level);

// `text` as the value of a key: quoted, with quotes, backslashes and control characters escaped, so that nothing that a
// client sends can start a line of its own.
std::string log_text(const std::string& text);

}  // namespace axion::server::observe
