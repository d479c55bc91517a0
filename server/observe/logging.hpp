// Logs: one line an event, key=value, to standard error, written by a thread of their own (log_queue.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace axion::server::observe {

// `level`: "trace", "debug", "info", "warning", "error" or "off"; `format`: "text", as above, or "json", an object a
// line (log_json.hpp), as first asked for. Else INVALID_ARGUMENT.
absl::Status set_up_logging(const std::string& level, const std::string& format);

// Writes what waits if that is done within `limit`; at the end of the program.
void flush_logs(absl::Duration limit);

// Lines that were logged and not written.
std::int64_t dropped_log_lines();

// `text` as the value of a key: quoted, with quotes, backslashes and control characters escaped, so that nothing that a
// client sends can start a line of its own.
std::string log_text(absl::string_view text);

}  // namespace axion::server::observe
