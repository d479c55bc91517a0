#include "server/rpc/status.hpp"

#include <string>

#include "absl/time/time.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

#include "server/schedule/failure.hpp"

namespace axion::server::rpc {

grpc::Status to_grpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message(status.message());
  const auto code = static_cast<grpc::StatusCode>(status.code());  // the same numbers
  const schedule::FailureDetails details = schedule::details_of(status);

  google::rpc::Status wire;
  wire.set_code(static_cast<int>(code));
  wire.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_domain("axion.v1");
  info.set_reason(details.reason.empty() ? absl::StatusCodeToString(status.code()) : details.reason);
  if (!details.field.empty()) (*info.mutable_metadata())["field"] = details.field;
  wire.add_details()->PackFrom(info);
  if (!details.field.empty() && status.code() == absl::StatusCode::kInvalidArgument) {
    google::rpc::BadRequest bad;
    auto* violation = bad.add_field_violations();
    violation->set_field(details.field);
    violation->set_description(message);
    wire.add_details()->PackFrom(bad);
  }
  if (!details.quota_subject.empty()) {
    google::rpc::QuotaFailure quota;
    auto* violation = quota.add_violations();
    violation->set_subject(details.quota_subject);
    violation->set_description(message);
    wire.add_details()->PackFrom(quota);
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
