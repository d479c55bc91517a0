#include "server/observe/log_json.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"

namespace axion::server::observe {
namespace {

nlohmann::ordered_json bare(absl::string_view value) {
  if (value == "true" || value == "false") return value == "true";
  std::int64_t whole = 0;
  if (absl::SimpleAtoi(value, &whole)) return whole;
  double real = 0;
  if (absl::SimpleAtod(value, &real) && std::isfinite(real)) return real;
  return std::string(value);
}

// The length of a value at the front: to the quote that ends it, or to the next space.
std::size_t length_of(absl::string_view text) {
  if (text.empty() || text.front() != '"') return std::min(text.find(' '), text.size());
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

}  // namespace

std::string json_of(absl::string_view line) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (line = absl::StripAsciiWhitespace(line); !line.empty(); line = absl::StripLeadingAsciiWhitespace(line)) {
    const std::size_t equals = line.find('=');
    if (equals == absl::string_view::npos || equals == 0 || line.find(' ') < equals) {
      object["text"] = std::string(line);
      break;
    }
    const std::string key(line.substr(0, equals));
    line.remove_prefix(equals + 1);
    const absl::string_view value = line.substr(0, length_of(line));
    line.remove_prefix(value.size());
    std::string text;
    const bool quoted = value.size() > 1 && value.front() == '"' && value.back() == '"';
    if (quoted && absl::CUnescape(value.substr(1, value.size() - 2), &text)) {
      object[key] = text;
    } else {
      object[key] = bare(value);
    }
  }
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace axion::server::observe
