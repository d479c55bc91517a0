#include "server/rpc/status.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

#include "engine/base/utf8.hpp"

#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

// A status travels in the headers that end a call, three times with its details, and clients take 8 KiB of these.
constexpr std::size_t kMaxMessageBytes = 1024;

}  // namespace

std::string wire_text(absl::string_view text) {
  const std::string_view characters(text.data(), text.size());
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character(characters, at);
    if (out.size() + length > kMaxMessageBytes) return out + "...";
    out.append(length == 0 ? "?" : std::string(text.substr(at, length)));
    at += length == 0 ? 1 : length;
  }
  return out;
}

grpc::Status to_grpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message = wire_text(status.message());
  const auto code = static_cast<grpc::StatusCode>(status.code());  // the same numbers
  const schedule::FailureDetails details = schedule::details_of(status);

  google::rpc::Status wire;
  wire.set_code(static_cast<int>(code));
  wire.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_domain("axion.v1");
  info.set_reason(details.reason.empty() ? absl::StatusCodeToString(status.code()) : details.reason);
  if (!details.field.empty()) (*info.mutable_metadata())["field"] = wire_text(details.field);
  wire.add_details()->PackFrom(info);
  if (!details.field.empty() && status.code() == absl::StatusCode::kInvalidArgument) {
    google::rpc::BadRequest bad;
    auto* violation = bad.add_field_violations();
    violation->set_field(wire_text(details.field));
    violation->set_description(message);
    wire.add_details()->PackFrom(bad);
  }
  if (!details.quota_subject.empty()) {
    google::rpc::QuotaFailure quota;
    auto* violation = quota.add_violations();
    violation->set_subject(wire_text(details.quota_subject));
    violation->set_description(message);
    wire.add_details()->PackFrom(quota);
  }
  if (!details.missing.empty()) {
    google::rpc::PreconditionFailure failure;
    for (const std::string& subject : details.missing) {
      auto* violation = failure.add_violations();
      violation->set_type("MISSING");
      violation->set_subject(subject);
    }
    wire.add_details()->PackFrom(failure);
  }
  if (details.retry_delay > absl::ZeroDuration()) {
    google::rpc::RetryInfo retry;
    const std::int64_t nanos = absl::ToInt64Nanoseconds(details.retry_delay);
    retry.mutable_retry_delay()->set_seconds(nanos / 1'000'000'000);
    retry.mutable_retry_delay()->set_nanos(static_cast<int>(nanos % 1'000'000'000));
    wire.add_details()->PackFrom(retry);
  }
  return grpc::Status(code, message, wire.SerializeAsString());
}

}  // namespace axion::server::rpc
