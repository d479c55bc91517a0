#include "server/schedule/failure.hpp"

#include <cstddef>
#include <cstdint>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace axion::server::schedule {
namespace {

constexpr absl::string_view kReasonUrl = "axion/reason";
constexpr absl::string_view kFieldUrl = "axion/field";
constexpr absl::string_view kQuotaUrl = "axion/quota_subject";
constexpr absl::string_view kRetryUrl = "axion/retry_microseconds";
constexpr absl::string_view kMissingUrl = "axion/missing";

void attach(absl::Status& status, absl::string_view url, absl::string_view text) {
  if (!text.empty()) status.SetPayload(url, absl::Cord(text));
}

std::string payload(const absl::Status& status, absl::string_view url) {
  const auto cord = status.GetPayload(url);
  return cord.has_value() ? std::string(*cord) : std::string();
}

absl::StatusCode code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return absl::StatusCode::kInvalidArgument;
    case ErrorCode::kNotFound:
      return absl::StatusCode::kNotFound;
    case ErrorCode::kResourceExhausted:
      return absl::StatusCode::kResourceExhausted;
    case ErrorCode::kFailedPrecondition:
      return absl::StatusCode::kFailedPrecondition;
    case ErrorCode::kUnimplemented:
      return absl::StatusCode::kUnimplemented;
    case ErrorCode::kInternal:
      return absl::StatusCode::kInternal;
  }
  return absl::StatusCode::kInternal;
}

absl::string_view reason_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return reason::kInvalidField;
    case ErrorCode::kNotFound:
      return reason::kNotFound;
    case ErrorCode::kResourceExhausted:
      return reason::kLimitReached;
    case ErrorCode::kFailedPrecondition:
      return reason::kPrecondition;
    case ErrorCode::kUnimplemented:
      return reason::kUnsupported;
    case ErrorCode::kInternal:
      return reason::kInternal;
  }
  return reason::kInternal;
}

}  // namespace

std::string shown(absl::string_view value) {
  constexpr std::size_t kMaxBytes = 64;
  if (value.size() <= kMaxBytes) return std::string(value);
  std::size_t end = kMaxBytes;
  while (end > kMaxBytes - 4 && (static_cast<unsigned char>(value[end]) & 0xC0u) == 0x80u) --end;
  return absl::StrCat(value.substr(0, end), "...");
}

absl::Status make_failure(absl::StatusCode code, absl::string_view message, const FailureDetails& details) {
  absl::Status status(code, message);
  attach(status, kReasonUrl, details.reason);
  attach(status, kFieldUrl, details.field);
  attach(status, kQuotaUrl, details.quota_subject);
  if (details.retry_delay > absl::ZeroDuration()) {
    attach(status, kRetryUrl, absl::StrCat(absl::ToInt64Microseconds(details.retry_delay)));
  }
  attach(status, kMissingUrl, absl::StrJoin(details.missing, " "));
  return status;
}

FailureDetails details_of(const absl::Status& status) {
  FailureDetails details;
  details.reason = payload(status, kReasonUrl);
  details.field = payload(status, kFieldUrl);
  details.quota_subject = payload(status, kQuotaUrl);
  std::int64_t microseconds = 0;
  if (absl::SimpleAtoi(payload(status, kRetryUrl), &microseconds)) {
    details.retry_delay = absl::Microseconds(microseconds);
  }
  details.missing = absl::StrSplit(payload(status, kMissingUrl), ' ', absl::SkipEmpty());
  return details;
}

absl::Status invalid_field(absl::string_view field, absl::string_view message) {
  return make_failure(absl::StatusCode::kInvalidArgument, absl::StrCat(field, ": ", message),
                      {.reason = std::string(reason::kInvalidField), .field = std::string(field)});
}

absl::Status check_same_request(absl::string_view request_id, std::uint64_t first, std::uint64_t repeated) {
  if (first == repeated || first == 0 || repeated == 0) return absl::OkStatus();
  return invalid_field("request_id", absl::StrCat("\"", shown(request_id),
                                                  "\" was that of another request, which asked for something else; "
                                                  "take a new one for each that is no repetition"));
}

absl::Status not_found(absl::string_view field, absl::string_view resource) {
  return make_failure(absl::StatusCode::kNotFound, absl::StrCat(field, ": \"", shown(resource), "\" does not exist"),
                      {.reason = std::string(reason::kNotFound), .field = std::string(field)});
}

absl::Status limit_reached(absl::string_view limit, absl::string_view message, absl::Duration retry_delay) {
  return make_failure(
      absl::StatusCode::kResourceExhausted, message,
      {.reason = std::string(reason::kLimitReached), .quota_subject = std::string(limit), .retry_delay = retry_delay});
}

absl::Status queue_full(std::size_t capacity, absl::Duration retry_delay) {
  return make_failure(
      absl::StatusCode::kResourceExhausted,
      absl::StrCat("max_queue: ", capacity, " requests wait already; try again in ", absl::FormatDuration(retry_delay)),
      {.reason = std::string(reason::kQueueFull), .quota_subject = "max_queue", .retry_delay = retry_delay});
}

absl::Status queue_share_full(std::size_t share, std::size_t capacity, absl::Duration retry_delay) {
  return make_failure(
      absl::StatusCode::kResourceExhausted,
      absl::StrCat("max_queue: ", share, " requests of this client wait already, its share of ", capacity,
                   "; try again in ", absl::FormatDuration(retry_delay)),
      {.reason = std::string(reason::kQueueFull), .quota_subject = "max_queue", .retry_delay = retry_delay});
}

absl::Status draining() {
  return make_failure(absl::StatusCode::kUnavailable, "the server is shutting down",
                      {.reason = std::string(reason::kDraining)});
}

absl::Status stream_ended() {
  return make_failure(absl::StatusCode::kCancelled, "the client ended the stream",
                      {.reason = std::string(reason::kCancelled)});
}

absl::Status cancelled() {
  return make_failure(absl::StatusCode::kCancelled, "the call was cancelled",
                      {.reason = std::string(reason::kCancelled)});
}

absl::Status device_fault(absl::string_view what) {
  return make_failure(absl::StatusCode::kUnavailable,
                      absl::StrCat("the device failed and the server ends; batches come back from its last checkpoint, "
                                   "if it keeps any (",
                                   what, ")"),
                      {.reason = std::string(reason::kDeviceFault)});
}

absl::Status from_engine(const Error& error, absl::string_view prefix) {
  std::string field = error.field;
  if (!prefix.empty()) {
    field = field.empty() ? std::string(prefix) : absl::StrCat(prefix, ".", field);
  }
  FailureDetails details{.reason = std::string(reason_of(error.code)), .field = field};
  if (error.code == ErrorCode::kResourceExhausted) details.quota_subject = field.empty() ? "device" : field;
  // The engine's sentences often begin with the field; said once, with the whole path, it is enough.
  std::string message = absl::StrCat(field, field.empty() ? "" : ": ", error.message);
  if (!error.field.empty() && absl::StartsWith(error.message, error.field)) {
    message = absl::StrCat(field, ":", absl::string_view(error.message).substr(error.field.size()));
  }
  return make_failure(code_of(error.code), message, details);
}

}  // namespace axion::server::schedule
