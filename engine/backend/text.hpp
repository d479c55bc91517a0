// Building the sentences of errors.
#pragma once

#include <sstream>
#include <string>

namespace axion::backend {

// The parts, one after the other, as an output stream writes them.
template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  out.precision(10);
  (out << ... << parts);
  return out.str();
}

}  // namespace axion::backend
