// Spans of calls, told to a collector of OpenTelemetry by OTLP over gRPC, without TLS: a collector on this machine, or
// on a network that one trusts.
//
// No call waits for the collector: spans go to a bounded queue and a thread of its own sends them. What does not fit,
// and what a collector does not take, is dropped and counted (axion_trace_spans_total).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/client_context.h>
#include <prometheus/counter.h>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.grpc.pb.h"

namespace axion::server::observe {

namespace otlp = opentelemetry::proto::trace::v1;

// Where a client's call stands in a trace, of W3C's header `traceparent`.
struct TraceParent {
  std::string trace_id, span_id;  // 16 and 8 bytes
};

// None for a header that is not one, and for a trace that its client does not sample.
std::optional<TraceParent> parse_traceparent(absl::string_view header);

// The 8 bytes of a span's name that no other has.
std::string new_span_id();

class TraceExporter {
 public:
  static constexpr std::size_t kMaxQueued = 4096;  // spans; the messages of one take less than a KiB
  struct Counters {
    prometheus::Counter *exported, *dropped;
  };
  // `endpoint`: host:port of the collector. `version` is the server's. `counters` outlive it.
  TraceExporter(const std::string& endpoint, const std::string& version, const Counters& counters);
  // Sends what waits, for a second at most.
  ~TraceExporter();
  TraceExporter(const TraceExporter&) = delete;
  TraceExporter& operator=(const TraceExporter&) = delete;

  // Of one call: all of them are kept, or none. Never blocks.
  void add(std::vector<otlp::Span> spans) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the collector has taken them.
  bool send(std::vector<otlp::Span> spans) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string version_;
  const Counters counters_;
  const std::unique_ptr<opentelemetry::proto::collector::trace::v1::TraceService::Stub> stub_;
  absl::Mutex mutex_;
  std::vector<otlp::Span> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;   // spans that left the queue
  bool given_up_ ABSL_GUARDED_BY(mutex_) = false;  // on what is not sent yet
  grpc::ClientContext* under_way_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::thread thread_;
};

}  // namespace axion::server::observe
