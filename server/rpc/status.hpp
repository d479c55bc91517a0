// Refusals as gRPC carries them.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace axion::server::rpc {

// Code and message, with google.rpc.Status in the details: ErrorInfo always; BadRequest when a field is at fault;
// QuotaFailure and RetryInfo when a limit is.
grpc::Status to_grpc(const absl::Status& status);

}  // namespace axion::server::rpc
