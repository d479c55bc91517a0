// What the log and the metrics are told of a call that has ended.
#pragma once

#include <string>

#include <grpcpp/server_context.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/message.h"

#include "server/observe/metrics.hpp"

namespace axion::server::rpc {

// Whose call it is and what it names; of what a call does not name, nothing.
struct CallNames {
  std::string peer, tenant;
  std::string resource, request_id;  // of its request, if that could be read
};
CallNames names_of(const grpc::CallbackServerContext& context, absl::string_view tenant,
                   const google::protobuf::Message* request);

// Log and metrics of an ended call.
void report_call(observe::Metrics& metrics, const char* method, const CallNames& names, const absl::Status& status,
                 absl::Duration duration);

}  // namespace axion::server::rpc
