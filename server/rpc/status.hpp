// Refusals as gRPC carries them.
#pragma once

#include <string>

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace axion::server::rpc {

// Code and message, with google.rpc.Status in the details: ErrorInfo always; BadRequest when a field is at fault;
// QuotaFailure and RetryInfo when a limit is.
grpc::Status to_grpc(const absl::Status& status);

// `text` as a field of a message can hold it: what is not UTF-8 (assets are bytes) becomes question marks, and a text
// that no rule has bounded is cut.
std::string wire_text(absl::string_view text);

}  // namespace axion::server::rpc
