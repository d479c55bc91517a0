// Text from outside that becomes a name: whether it is UTF-8 that can be printed, and how to cut it.
//
// Names go into messages, which hold UTF-8 alone, into logs, and to terminals, which control characters command.
// Pure; anyone may call these.
#pragma once

#include <cstddef>
#include <string_view>

namespace axion {

// Bytes of the character of UTF-8 at `at`; 0 if there is none. Overlong forms, surrogates and what lies beyond U+10FFFF
// are none.
inline std::size_t utf8_character(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](std::size_t count) {
    for (std::size_t i = 1; i <= count; ++i) {
      if ((byte(at + i) & 0xC0u) != 0x80u) return false;
    }
    return true;
  };
  const unsigned first = byte(at), second = byte(at + 1);
  if (first < 0x80) return at < text.size() ? 1 : 0;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool legal = !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second > 0x9F);
    return legal && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool legal = !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second > 0x8F);
    return legal && follows(3) ? 4 : 0;
  }
  return 0;
}

// UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F).
inline bool is_printable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character(text, at);
    const auto first = static_cast<unsigned char>(text[at]);
    if (length == 0 || first < 0x20 || first == 0x7F) return false;
    if (first == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0) return false;
    at += length;
  }
  return true;
}

// As many of the first characters as `most` bytes hold. Of what is no UTF-8 as many bytes.
inline std::string_view utf8_prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  constexpr std::size_t kLongest = 4;
  std::size_t end = most;
  while (end > 0 && most - end < kLongest && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return text.substr(0, end);
}

}  // namespace axion
