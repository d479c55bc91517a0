// The spans of one call, under the client's traceparent: the call itself, and below it its wait in the queue, its
// launches, the engine in each of them, and its answer. Made for calls that a client samples, where the server has a
// collector.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/server_context.h>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "server/observe/traces.hpp"
#include "server/rpc/call_report.hpp"
#include "server/schedule/job.hpp"

namespace axion::server::rpc {

class CallTrace {
 public:
  // None where there is no `exporter`, or the call's metadata has no traceparent that is sampled. From now on the call
  // lasts.
  static std::unique_ptr<CallTrace> of(const grpc::CallbackServerContext& context, observe::TraceExporter* exporter);

  // For the scheduler, which says there when the call's job was where.
  std::shared_ptr<schedule::JobTimes> times() const { return times_; }
  // The call has ended, now: tells the exporter. `method` as in axion.v1.Simulation.
  void finish(const char* method, const CallNames& names, const absl::Status& status);

 private:
  CallTrace(observe::TraceExporter& exporter, observe::TraceParent parent);
  observe::otlp::Span span(const std::string& name, const std::string& parent, absl::Time start, absl::Time end) const;

  observe::TraceExporter& exporter_;
  const observe::TraceParent parent_;
  const absl::Time start_, begun_;  // by the steady clock, and by the wall's
  const std::shared_ptr<schedule::JobTimes> times_ = std::make_shared<schedule::JobTimes>();
};

}  // namespace axion::server::rpc
