// One unary call in flight: the reactor that gRPC holds, with its deadline, its cancellation and its measurement.
//
// finish() is called exactly once, from any thread; the object deletes itself when gRPC is done with it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "google/protobuf/message.h"

#include "server/observe/metrics.hpp"
#include "server/rpc/admission.hpp"
#include "server/rpc/call_report.hpp"
#include "server/rpc/call_trace.hpp"
#include "server/schedule/job.hpp"
#include "server/schedule/memory_budget.hpp"

namespace axion::server::rpc {

// Deadline of a call, which lends its thread; its cancel flag is the caller's to set. `trace`: none if no client asks.
schedule::Call call_of(const grpc::CallbackServerContext& context, std::shared_ptr<const schedule::CancelFlag> cancel,
                       const CallTrace* trace = nullptr);

class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  // `method` is a literal; `traces` may be none.
  UnaryCall(const char* method, grpc::CallbackServerContext& context, observe::Metrics& metrics,
            observe::TraceExporter* traces, schedule::MemoryHold memory)
      : method_(method),
        context_(context),
        metrics_(metrics),
        memory_(std::move(memory)),
        trace_(CallTrace::of(context, traces)),
        call_(call_of(context, cancel_, trace_.get())) {}

  // Once, before anything that asks for the tenant.
  absl::Status admit(const Admission& admission);
  const schedule::Tenant& tenant() const { return *tenant_; }
  const schedule::Call& call() const { return call_; }
  // What request and answer take, until the answer has been sent.
  schedule::MemoryHold& memory() { return memory_; }
  void finish(const absl::Status& status);
  // Puts the answer on the wire, where that is long, before finish() does: on a thread that no other work waits for.
  absl::Status write() {
    written_ = true;
    return write_answer();
  }
  // What to do where the call was cancelled before its answer had been sent. Before it is finished.
  void when_lost(std::function<void()> undo) { when_lost_ = std::move(undo); }

 private:
  virtual const google::protobuf::Message& request_message() const = 0;
  // Puts the answer on the wire.
  virtual absl::Status write_answer() = 0;
  void OnCancel() override { cancel_->set(); }
  void OnDone() override {
    if (cancel_->is_set() && when_lost_) when_lost_();
    delete this;
  }

  const char* method_;
  grpc::CallbackServerContext& context_;
  observe::Metrics& metrics_;
  schedule::MemoryHold memory_;
  const absl::Time start_ = absl::Now();
  const std::shared_ptr<schedule::CancelFlag> cancel_ = std::make_shared<schedule::CancelFlag>();
  const std::unique_ptr<CallTrace> trace_;  // where its client has it traced
  schedule::Call call_;
  std::shared_ptr<const schedule::Tenant> tenant_;
  schedule::RequestSlot slot_;
  bool written_ = false;
  std::function<void()> when_lost_;
};

}  // namespace axion::server::rpc
