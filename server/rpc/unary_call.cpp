#include "server/rpc/unary_call.hpp"

#include <chrono>
#include <utility>

#include "spdlog/spdlog.h"

#include "server/observe/logging.hpp"
#include "server/rpc/status.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/steady_time.hpp"

namespace axion::server::rpc {

schedule::Call call_of(const grpc::CallbackServerContext& context, std::shared_ptr<const schedule::CancelFlag> cancel) {
  schedule::Call call;
  call.client = context.peer();  // a connection, by its address and port
  const auto deadline = context.deadline();
  if (deadline != std::chrono::system_clock::time_point::max())
    call.deadline = schedule::steady_time(absl::FromChrono(deadline));
  call.cancel = std::move(cancel);
  call.lends_thread = true;
  return call;
}

void report_call(observe::Metrics& metrics, const char* method, const absl::Status& status, absl::Duration duration) {
  const std::string code = absl::StatusCodeToString(status.code());
  const std::string reason = status.ok() ? "" : schedule::details_of(status).reason;
  metrics.on_rpc(method, code, reason, duration);
  const double milliseconds = absl::ToDoubleMilliseconds(duration);
  if (status.ok()) {
    spdlog::debug("event=rpc method={} code={} duration_ms={:.3f}", method, code, milliseconds);
  } else {
    spdlog::info("event=rpc method={} code={} duration_ms={:.3f} message={}", method, code, milliseconds,
                 observe::log_text(std::string(status.message())));
  }
}

absl::Status UnaryCall::admit(const Admission& admission) {
  auto caller = admission.admit(context_, method_);
  if (!caller.ok()) return caller.status();
  tenant_ = std::move(caller->tenant);
  memory_ = memory_.another(*tenant_);
  schedule::name_caller(*tenant_, call_);
  auto slot = take_slot(*tenant_);
  if (!slot.ok()) return slot.status();
  slot_ = *std::move(slot);
  return absl::OkStatus();
}

void UnaryCall::finish(const absl::Status& status) {
  const absl::Status outcome = status.ok() && !written_ ? schedule::guarded([this] { return write_answer(); }) : status;
  slot_.release();
  report_call(metrics_, method_, outcome, absl::Now() - start_);
  Finish(to_grpc(outcome));
}

}  // namespace axion::server::rpc
