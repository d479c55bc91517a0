#include "server/rpc/call_report.hpp"

#include "spdlog/spdlog.h"

#include "server/observe/logging.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {

CallNames names_of(const grpc::CallbackServerContext& context, absl::string_view tenant,
                   const google::protobuf::Message* request) {
  CallNames names{.peer = context.peer(), .tenant = std::string(tenant), .resource = {}, .request_id = {}};
  if (request == nullptr) return names;
  const auto text = [request](const char* field) {
    const auto* known = request->GetDescriptor()->FindFieldByName(field);
    if (known == nullptr || known->is_repeated() || known->type() != google::protobuf::FieldDescriptor::TYPE_STRING) {
      return std::string();
    }
    return schedule::shown(request->GetReflection()->GetString(*request, known));
  };
  for (const char* field : {"batch", "name", "model", "snapshot"}) {
    if (names.resource.empty()) names.resource = text(field);
  }
  names.request_id = text("request_id");
  return names;
}

void report_call(observe::Metrics& metrics, const char* method, const CallNames& names, const absl::Status& status,
                 absl::Duration duration) {
  const std::string code = absl::StatusCodeToString(status.code());
  const std::string reason = status.ok() ? "" : schedule::details_of(status).reason;
  metrics.on_rpc(method, code, reason, duration, names.tenant);
  const double milliseconds = absl::ToDoubleMilliseconds(duration);
  if (status.ok()) {
    spdlog::debug("event=rpc method={} code={} duration_ms={:.3f}", method, code, milliseconds);
  } else {
    spdlog::info(
        "event=rpc method={} code={} duration_ms={:.3f} peer={} tenant={} resource={} request_id={} message={}", method,
        code, milliseconds, observe::log_text(names.peer), observe::log_text(names.tenant),
        observe::log_text(names.resource), observe::log_text(names.request_id),
        observe::log_text(std::string(status.message())));
  }
}

}  // namespace axion::server::rpc
