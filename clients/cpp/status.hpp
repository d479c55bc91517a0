// Errors of calls: absl::Status, with the details that the server sends (google.rpc) kept beside the message.
#pragma once

#include <grpcpp/support/status.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace axion::client {

struct FieldViolation {
  std::string field;  // path in the request, for example "scene.bodies[3].mass"
  std::string description;
};

struct ErrorDetails {
  std::string reason;  // for programs (google.rpc.ErrorInfo)
  std::vector<FieldViolation> field_violations;
  std::vector<std::string> quota_violations;  // "limit: description"
  std::optional<absl::Duration> retry_delay;  // when to try again
  std::vector<std::string> missing;  // digests of files that the server lacks, some of them where there are many
};

// The status of a finished call. Codes are the same; the message gains a line for each detail that it does not contain.
absl::Status from_grpc(const grpc::Status& status);

// The details of a status made by from_grpc; empty for any other.
ErrorDetails details_of(const absl::Status& status);

}  // namespace axion::client
