#include "tools/ptx/interpreter/cursor.hpp"

#include <charconv>

#include "tools/ptx/interpreter/module.hpp"

namespace axion::ptx {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%' || c == '.';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_name(std::string_view token) { return !token.empty() && is_letter(token[0]); }
bool is_number(std::string_view token) { return !token.empty() && is_digit(token[0]); }

void Cursor::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_, ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (text_.substr(at_, 2) == "/*") {
      for (; at_ < text_.size() && text_.substr(at_, 2) != "*/"; ++at_) line_ += text_[at_] == '\n';
      at_ += 2;
    } else {
      return;
    }
  }
}

void Cursor::advance() {
  skip_space();
  if (at_ >= text_.size()) {
    token_ = {};
    return;
  }
  const std::size_t start = at_++;
  const char first = text_[start];
  if (is_letter(first) || is_digit(first)) {
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  } else if (first == '"') {
    while (at_ < text_.size() && text_[at_] != '"') ++at_;
    ++at_;
  }
  token_ = text_.substr(start, at_ - start);
}

std::string_view Cursor::take() {
  if (token_.empty()) fail("the text ends here");
  const std::string_view token = token_;
  advance();
  return token;
}

bool Cursor::take_if(std::string_view token) {
  if (token_ != token) return false;
  advance();
  return true;
}

void Cursor::expect(std::string_view token) {
  if (!take_if(token)) fail("expected '" + std::string(token) + "', found '" + std::string(token_) + "'");
}

void Cursor::fail_at(U32 line, const std::string& why) const {
  std::size_t start = 0;
  for (U32 n = 1; n < line && start < text_.size(); ++start) n += text_[start] == '\n';
  std::string_view text = text_.substr(start, text_.find('\n', start) - start);
  if (const std::size_t first = text.find_first_not_of(" \t"); first != text.npos) text.remove_prefix(first);
  throw ParseError("line " + std::to_string(line) + ": " + why + ": " + std::string(text.substr(0, 300)));
}

U64 number_bits(std::string_view token, const Cursor& cursor) {
  int base = 10;
  std::string_view digits = token;
  if (token.size() > 2 && token[0] == '0' && !is_digit(token[1])) {
    const char kind = token[1];
    if (kind != 'x' && kind != 'X' && kind != 'f' && kind != 'F' && kind != 'd' && kind != 'D') {
      cursor.fail("unknown number '" + std::string(token) + "'");
    }
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.ends_with('U')) {
    digits.remove_suffix(1);
  }
  U64 value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    cursor.fail("unknown number '" + std::string(token) + "'");
  }
  return value;
}

}  // namespace axion::ptx
