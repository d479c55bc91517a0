// Result<T>: the outcome of a request that may be refused.
//
// A refusal names the field of the request and the offending value, so that a server can hand it to a client as it
// stands. Our own bugs are not Results; they are assertions (base/assert.hpp).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace axion {

enum class ErrorCode {
  kInvalidArgument,     // the request is wrong whatever the state of the server
  kNotFound,            // a named thing does not exist
  kResourceExhausted,   // a limit or the device's memory is reached
  kFailedPrecondition,  // the request is fine but not in this state
  kUnimplemented,       // understood, and deliberately not offered
  kInternal,            // a device failed under us
};

struct Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string field;    // path of the offending field, e.g. "bodies[3].mass"; empty when there is none
  std::string message;  // a full sentence that includes the value
};

// Success without a value, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

// A value, or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return std::holds_alternative<T>(state_); }
  const Error& error() const { return std::get<Error>(state_); }
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

inline Error invalid_argument(std::string field, std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(field), std::move(message)};
}

}  // namespace axion
