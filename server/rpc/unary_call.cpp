#include "server/rpc/unary_call.hpp"

#include <chrono>
#include <utility>

#include "server/rpc/status.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/steady_time.hpp"

namespace axion::server::rpc {

schedule::Call call_of(const grpc::CallbackServerContext& context, std::shared_ptr<const schedule::CancelFlag> cancel,
                       const CallTrace* trace) {
  schedule::Call call;
  call.client = context.peer();  // a connection, by its address and port
  const auto deadline = context.deadline();
  if (deadline != std::chrono::system_clock::time_point::max())
    call.deadline = schedule::steady_time(absl::FromChrono(deadline));
  call.cancel = std::move(cancel);
  if (trace != nullptr) call.times = trace->times();
  call.lends_thread = true;
  return call;
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
  const absl::string_view tenant = tenant_ == nullptr ? absl::string_view() : tenant_->name;
  const bool named = !outcome.ok() || trace_ != nullptr;
  const CallNames names = named
                              ? names_of(context_, tenant, &request_message())
                              : CallNames{.peer = {}, .tenant = std::string(tenant), .resource = {}, .request_id = {}};
  report_call(metrics_, method_, names, outcome, absl::Now() - start_);
  if (trace_ != nullptr) trace_->finish(method_, names, outcome);
  Finish(to_grpc(outcome));
}

}  // namespace axion::server::rpc
