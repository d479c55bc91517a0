#include "clients/cpp/status.hpp"

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/credentials.hpp"
#include "google/protobuf/text_format.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace axion::client {
namespace {

// The payload is a google.rpc.Status as text, on one line: whatever prints a status prints its payloads, too.
constexpr char kDetailsUrl[] = "axion/details";

std::string to_text(const google::rpc::Status& status) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetExpandAny(true);
  std::string text;
  printer.PrintToString(status, &text);
  return text;
}

ErrorDetails read_details(const google::rpc::Status& status) {
  ErrorDetails details;
  for (const google::protobuf::Any& any : status.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad_request;
    google::rpc::QuotaFailure quota;
    google::rpc::RetryInfo retry;
    google::rpc::PreconditionFailure precondition;
    if (any.UnpackTo(&info)) {
      details.reason = info.reason();
    } else if (any.UnpackTo(&bad_request)) {
      for (const auto& violation : bad_request.field_violations()) {
        details.field_violations.push_back({violation.field(), violation.description()});
      }
    } else if (any.UnpackTo(&quota)) {
      for (const auto& violation : quota.violations()) {
        details.quota_violations.push_back(absl::StrCat(violation.subject(), ": ", violation.description()));
      }
    } else if (any.UnpackTo(&precondition)) {
      for (const auto& violation : precondition.violations()) {
        if (violation.type() == "MISSING") details.missing.push_back(violation.subject());
      }
    } else if (any.UnpackTo(&retry)) {
      details.retry_delay =
          absl::Seconds(retry.retry_delay().seconds()) + absl::Nanoseconds(retry.retry_delay().nanos());
    }
  }
  return details;
}

}  // namespace

absl::Status from_grpc(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  google::rpc::Status sent;  // without details where they cannot be read, which must not hide the error they belong to
  if (!sent.ParseFromString(status.error_details())) {
    sent.Clear();
  }
  const ErrorDetails details = read_details(sent);
  std::string message = status.error_message();
  if (const std::string hint = status.error_code() == grpc::StatusCode::UNAVAILABLE ? connection_hint(message) : "";
      !hint.empty()) {
    absl::StrAppend(&message, "\n  ", hint);
  }
  for (const FieldViolation& violation : details.field_violations) {
    if (!absl::StrContains(message, violation.description)) {
      absl::StrAppend(&message, "\n  ", violation.field, ": ", violation.description);
    }
  }
  for (const std::string& violation : details.quota_violations) {
    absl::StrAppend(&message, "\n  limit ", violation);
  }
  if (details.retry_delay) {
    absl::StrAppend(&message, "\n  try again in ", absl::FormatDuration(*details.retry_delay));
  }
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), message);
  if (sent.details_size() > 0) {
    sent.clear_message();
    sent.clear_code();
    result.SetPayload(kDetailsUrl, absl::Cord(to_text(sent)));
  }
  return result;
}

ErrorDetails details_of(const absl::Status& status) {
  const auto payload = status.GetPayload(kDetailsUrl);
  google::rpc::Status sent;
  if (!payload || !google::protobuf::TextFormat::ParseFromString(std::string(*payload), &sent)) {
    return {};
  }
  return read_details(sent);
}

}  // namespace axion::client
