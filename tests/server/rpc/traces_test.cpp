// What a collector of OpenTelemetry, here in this process, is told of calls that their clients sample.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "server/observe/traces.hpp"
#include "tests/server/rpc/fixture.hpp"

namespace axion::server::testing {
namespace {

namespace collector = opentelemetry::proto::collector::trace::v1;
using observe::otlp::Span;

constexpr const char* kTrace = "0af7651916cd43dd8448eb211c80319c";
constexpr const char* kParent = "b7ad6b7169203331";
constexpr const char* kStep = "axion.v1.Simulation/Step";

// Keeps all spans that it is sent.
class Collector final : public collector::TraceService::Service {
 public:
  Collector() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // NOLINTNEXTLINE(readability-identifier-naming)
  grpc::Status Export(grpc::ServerContext*, const collector::ExportTraceServiceRequest* request,
                      collector::ExportTraceServiceResponse*) override {
    absl::MutexLock lock(&mutex_);
    for (const auto& resource : request->resource_spans()) {
      for (const auto& attribute : resource.resource().attributes()) {
        resource_[attribute.key()] = attribute.value().string_value();
      }
      for (const auto& scope : resource.scope_spans()) {
        for (const Span& span : scope.spans()) spans_.push_back(span);
      }
    }
    return grpc::Status::OK;
  }
  // All, once there are so many of that name. Those of one call come together.
  std::vector<Span> spans(std::ptrdiff_t count, const std::string& name) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return std::ranges::count(spans_, name, [](const Span& span) { return span.name(); }) >= count;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(60));
    return spans_;
  }
  std::map<std::string, std::string> resource() {
    absl::MutexLock lock(&mutex_);
    return resource_;
  }

 private:
  int port_ = 0;
  absl::Mutex mutex_;
  std::vector<Span> spans_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> resource_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
};

class Traces : public ServerTest {
 protected:
  void SetUp() override {
    Config config;
    config.trace_endpoint = receiver.address();
    start(config);
    batch = create_batch(create_model().name(), 2).name();
  }
  grpc::Status step_with(const std::string& traceparent, const std::string& name) {
    grpc::ClientContext context;
    context.AddMetadata("traceparent", traceparent);
    v1::StepRequest request;
    request.set_batch(name);
    request.set_step_count(3);
    request.set_request_id("third");
    v1::StepResponse response;
    return stub->Step(&context, request, &response);
  }
  static std::string traceparent(const char* flags = "01") {
    return absl::StrCat("00-", kTrace, "-", kParent, "-", flags);
  }

  Collector receiver;
  std::string batch;
};

std::string text_of(const Span& span, const std::string& key) {
  for (const auto& attribute : span.attributes()) {
    if (attribute.key() == key) return attribute.value().string_value();
  }
  return "";
}

void expect_within(const Span& inner, const Span& outer) {
  EXPECT_LE(outer.start_time_unix_nano(), inner.start_time_unix_nano()) << inner.name();
  EXPECT_LE(inner.start_time_unix_nano(), inner.end_time_unix_nano()) << inner.name();
  EXPECT_LE(inner.end_time_unix_nano(), outer.end_time_unix_nano()) << inner.name();
}

TEST_F(Traces, of_a_step_are_queue_launch_engine_and_answer_under_the_clients_span) {
  ASSERT_TRUE(step_with(traceparent(), batch).ok());
  std::map<std::string, std::vector<Span>> by_name;
  for (const Span& span : receiver.spans(1, kStep)) {
    by_name[span.name()].push_back(span);
    EXPECT_EQ(span.trace_id(), absl::HexStringToBytes(kTrace));
    EXPECT_EQ(span.span_id().size(), 8U);
  }
  ASSERT_EQ(by_name.size(), 5U);
  for (const char* name : {kStep, "queue", "answer"}) ASSERT_EQ(by_name[name].size(), 1U) << name;
  const Span call = by_name[kStep][0], queue = by_name["queue"][0], answer = by_name["answer"][0];
  EXPECT_EQ(call.parent_span_id(), absl::HexStringToBytes(kParent));
  EXPECT_EQ(call.kind(), Span::SPAN_KIND_SERVER);
  EXPECT_EQ(text_of(call, "axion.resource"), batch);
  EXPECT_EQ(text_of(call, "axion.request_id"), "third");
  for (const char* name : {"queue", "launch", "answer"}) {
    for (const Span& span : by_name[name]) {
      EXPECT_EQ(span.parent_span_id(), call.span_id()) << name;
      expect_within(span, call);
    }
  }
  // Three steps may take several launches, each with the engine in it.
  ASSERT_EQ(by_name["engine"].size(), by_name["launch"].size());
  for (std::size_t i = 0; i < by_name["launch"].size(); ++i) {
    const Span& launch = by_name["launch"][i];
    const Span& engine = by_name["engine"][i];
    EXPECT_EQ(engine.parent_span_id(), launch.span_id());
    expect_within(engine, launch);
    EXPECT_GT(engine.end_time_unix_nano(), engine.start_time_unix_nano());
    EXPECT_LE(queue.end_time_unix_nano(), launch.start_time_unix_nano());
    EXPECT_LE(launch.end_time_unix_nano(), answer.start_time_unix_nano());
  }
  EXPECT_EQ(receiver.resource()["service.name"], "axiond");
}

TEST_F(Traces, are_of_calls_alone_that_their_client_samples_in_a_header_that_is_one) {
  for (const std::string& header : {traceparent("00"), std::string(), std::string("00-0-0-01"), traceparent() + "-more",
                                    absl::StrCat("00-", std::string(32, '0'), "-", kParent, "-01"),
                                    absl::StrCat("ff-", kTrace, "-", kParent, "-01"),
                                    absl::StrCat("00-", kTrace, "-", std::string(16, 'X'), "-01")}) {
    EXPECT_TRUE(step_with(header, batch).ok()) << header;
  }
  // A refusal is a span that says so; it is all that came, and what came before it was sent before it.
  EXPECT_FALSE(step_with(traceparent(), "batches/none").ok());
  const auto spans = receiver.spans(1, kStep);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].status().code(), opentelemetry::proto::trace::v1::Status::STATUS_CODE_ERROR);
  EXPECT_EQ(text_of(spans[0], "axion.resource"), "batches/none");
}

TEST_F(Traces, of_a_stream_are_those_of_each_of_its_requests) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", traceparent());
  const auto stream = stub->StepStream(&context);
  v1::StepRequest request;
  request.set_batch(batch);
  v1::StepResponse response;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream->Write(request));
    ASSERT_TRUE(stream->Read(&response));
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  int engines = 0, calls = 0;
  for (const Span& span : receiver.spans(2, "axion.v1.Simulation/StepStream")) {
    calls += span.name() == "axion.v1.Simulation/StepStream" ? 1 : 0;
    engines += span.name() == "engine" ? 1 : 0;
  }
  EXPECT_EQ(calls, 2);
  EXPECT_GE(engines, 2);
}

TEST(TraceExporter, drops_and_counts_what_does_not_fit_or_is_not_taken_and_holds_nobody_up) {
  prometheus::Counter exported, dropped;
  constexpr std::size_t kMany = 3 * observe::TraceExporter::kMaxQueued;
  {
    observe::TraceExporter exporter("127.0.0.1:1", "0",
                                    {.exported = &exported, .dropped = &dropped});  // nobody is there
    for (std::size_t i = 0; i < kMany; ++i) exporter.add(std::vector<Span>(1));
    // More than what waits and what is being sent: the rest went at once.
    EXPECT_GE(dropped.Value(), static_cast<double>(kMany - 2 * observe::TraceExporter::kMaxQueued));
  }
  EXPECT_EQ(exported.Value(), 0);
  EXPECT_EQ(dropped.Value(), static_cast<double>(kMany));
}

}  // namespace
}  // namespace axion::server::testing
