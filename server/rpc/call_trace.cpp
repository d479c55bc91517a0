#include "server/rpc/call_trace.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "server/schedule/steady_time.hpp"

namespace axion::server::rpc {
namespace {

namespace otlp = observe::otlp;

void set(otlp::Span& span, const char* key, const std::string& value) {
  if (value.empty()) return;
  auto& attribute = *span.add_attributes();
  attribute.set_key(key);
  attribute.mutable_value()->set_string_value(value);
}

void set(otlp::Span& span, const char* key, std::int64_t value) {
  auto& attribute = *span.add_attributes();
  attribute.set_key(key);
  attribute.mutable_value()->set_int_value(value);
}

}  // namespace

std::unique_ptr<CallTrace> CallTrace::of(const grpc::CallbackServerContext& context, observe::TraceExporter* exporter) {
  if (exporter == nullptr) return nullptr;
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("traceparent");
  if (found == metadata.end() || metadata.count("traceparent") != 1) return nullptr;
  auto parent = observe::parse_traceparent({found->second.data(), found->second.size()});
  if (!parent) return nullptr;
  return std::unique_ptr<CallTrace>(new CallTrace(*exporter, *std::move(parent)));
}

CallTrace::CallTrace(observe::TraceExporter& exporter, observe::TraceParent parent)
    : exporter_(exporter), parent_(std::move(parent)), start_(schedule::steady_now()), begun_(absl::Now()) {}

otlp::Span CallTrace::span(const std::string& name, const std::string& parent, absl::Time start, absl::Time end) const {
  otlp::Span made;
  made.set_trace_id(parent_.trace_id);
  made.set_span_id(observe::new_span_id());
  made.set_parent_span_id(parent);
  made.set_name(name);
  made.set_kind(otlp::Span::SPAN_KIND_INTERNAL);
  // The wall's clock as it stood when the call began: one that is set meanwhile puts no span before its parent.
  made.set_start_time_unix_nano(static_cast<std::uint64_t>(absl::ToUnixNanos(begun_ + (start - start_))));
  made.set_end_time_unix_nano(static_cast<std::uint64_t>(absl::ToUnixNanos(begun_ + (end - start_))));
  made.set_flags(1);  // sampled
  return made;
}

void CallTrace::finish(const char* method, const CallNames& names, const absl::Status& status) {
  const absl::Time now = schedule::steady_now();
  std::vector<otlp::Span> spans;
  spans.push_back(span(absl::StrCat("axion.v1.Simulation/", method), parent_.span_id, start_, now));
  const std::string own = spans.front().span_id();
  spans.front().set_kind(otlp::Span::SPAN_KIND_SERVER);
  set(spans.front(), "rpc.system", "grpc");
  set(spans.front(), "rpc.service", "axion.v1.Simulation");
  set(spans.front(), "rpc.method", method);
  set(spans.front(), "rpc.grpc.status_code", static_cast<std::int64_t>(status.raw_code()));
  set(spans.front(), "axion.tenant", names.tenant);
  set(spans.front(), "axion.resource", names.resource);
  set(spans.front(), "axion.request_id", names.request_id);
  if (!status.ok()) {
    spans.front().mutable_status()->set_code(otlp::Status::STATUS_CODE_ERROR);
    spans.front().mutable_status()->set_message(std::string(status.message()));
  }
  const schedule::JobTimes& times = *times_;
  if (times.admitted != absl::InfiniteFuture()) {
    const absl::Time taken = times.launches.empty() ? now : times.launches.front().begin;
    spans.push_back(span("queue", own, times.admitted, taken));
  }
  for (const schedule::JobTimes::Launch& launch : times.launches) {
    const absl::Time end = std::min(launch.end, now);
    spans.push_back(span("launch", own, launch.begin, end));
    if (launch.engine_begin == absl::InfiniteFuture()) continue;
    const std::string parent = spans.back().span_id();
    spans.push_back(span("engine", parent, launch.engine_begin, launch.engine_end));
  }
  if (!times.launches.empty()) {
    set(spans[2], "axion.launches", times.launch_count);
    spans.push_back(span("answer", own, std::min(times.launches.back().end, now), now));
  }
  exporter_.add(std::move(spans));
}

}  // namespace axion::server::rpc
