// Cursor: reads PTX token by token and knows the line.
#pragma once

#include <string>
#include <string_view>

#include "tools/ptx/interpreter/instruction.hpp"

namespace axion::ptx {

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) { advance(); }

  // The next token: a name (letters, digits, _ $ % .), a number, a string or one other character. Empty at the end.
  std::string_view token() const { return token_; }
  bool at_end() const { return token_.empty(); }
  std::string_view take();
  bool take_if(std::string_view token);
  void expect(std::string_view token);
  U32 line() const { return line_; }  // of the next token

  // Throws ParseError: "line 12: <why>: <text of the line>".
  [[noreturn]] void fail(const std::string& why) const { fail_at(line_, why); }
  [[noreturn]] void fail_at(U32 line, const std::string& why) const;

 private:
  void advance();
  void skip_space();

  std::string_view text_, token_;
  std::size_t at_ = 0;
  U32 line_ = 1;
};

bool is_name(std::string_view token);
bool is_number(std::string_view token);
// Bits of a number: decimal, 0x.., 0f........ (float32) or 0d................ (float64).
U64 number_bits(std::string_view token, const Cursor& cursor);

}  // namespace axion::ptx
