// A line of the log, key=value, as one object of JSON.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace axion::server::observe {

// `line` as logging.hpp has it, with its time and level: keys in their order; a value in quotes as the text that it
// stands for, a number, true and false as such, any other as text. What is no key=value is the key "text". Ends without
// a newline.
std::string json_of(absl::string_view line);

}  // namespace axion::server::observe
