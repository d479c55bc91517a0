#include "server/observe/traces.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "absl/random/random.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "spdlog/spdlog.h"

#include "server/observe/logging.hpp"

namespace axion::server::observe {
namespace {

namespace collector = opentelemetry::proto::collector::trace::v1;

constexpr std::size_t kMaxSent = 512;                    // spans of one message
constexpr absl::Duration kGather = absl::Seconds(1);     // what comes within it goes together
constexpr absl::Duration kPatience = absl::Seconds(5);   // with the collector
constexpr absl::Duration kLastWords = absl::Seconds(1);  // likewise, at the end

bool is_hex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isxdigit(c) && !absl::ascii_isupper(c); });
}

bool all_zero(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c == '0'; });
}

void set_attribute(google::protobuf::RepeatedPtrField<opentelemetry::proto::common::v1::KeyValue>& all, const char* key,
                   const std::string& value) {
  auto& attribute = *all.Add();
  attribute.set_key(key);
  attribute.mutable_value()->set_string_value(value);
}

}  // namespace

std::optional<TraceParent> parse_traceparent(absl::string_view header) {
  // version "-" trace "-" span "-" flags; versions above 00 may have more behind.
  const std::vector<absl::string_view> parts = absl::StrSplit(header, '-');
  if (parts.size() < 4 || parts[0].size() != 2 || parts[1].size() != 32 || parts[2].size() != 16 ||
      parts[3].size() != 2 || (parts[0] == "00" && parts.size() != 4) || parts[0] == "ff") {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    if (!is_hex(parts[i])) return std::nullopt;
  }
  constexpr unsigned char kSampled = 1;
  const bool sampled = (static_cast<unsigned char>(absl::HexStringToBytes(parts[3])[0]) & kSampled) != 0;
  if (!sampled || all_zero(parts[1]) || all_zero(parts[2])) return std::nullopt;
  return TraceParent{.trace_id = absl::HexStringToBytes(parts[1]), .span_id = absl::HexStringToBytes(parts[2])};
}

std::string new_span_id() {
  thread_local absl::InsecureBitGen random;
  std::string id(8, '\0');
  for (char& byte : id) byte = static_cast<char>(absl::Uniform(random, 0, 256));
  id[0] = static_cast<char>(absl::Uniform(random, 1, 256));  // all zeros is none
  return id;
}

TraceExporter::TraceExporter(const std::string& endpoint, const std::string& version, const Counters& counters)
    : version_(version),
      counters_(counters),
      stub_(collector::TraceService::NewStub(grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials()))) {
  thread_ = std::thread([this] { run(); });
}

TraceExporter::~TraceExporter() {
  const absl::Time end = absl::Now() + kLastWords;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    const auto sent = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return queue_.empty() && !sending_; };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&sent), end)) {
      counters_.dropped->Increment(static_cast<double>(queue_.size()));
      queue_.clear();
      given_up_ = true;
      if (under_way_ != nullptr) under_way_->TryCancel();
    }
  }
  thread_.join();
}

void TraceExporter::add(std::vector<otlp::Span> spans) {
  {
    absl::MutexLock lock(&mutex_);
    if (!stopping_ && queue_.size() + spans.size() <= kMaxQueued) {
      std::move(spans.begin(), spans.end(), std::back_inserter(queue_));
      return;
    }
  }
  counters_.dropped->Increment(static_cast<double>(spans.size()));
}

void TraceExporter::run() {
  bool reachable = true;
  while (true) {
    std::vector<otlp::Span> some;
    {
      absl::MutexLock lock(&mutex_);
      const auto called = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !queue_.empty(); };
      const auto full = [this]()
                            ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || queue_.size() >= kMaxSent; };
      mutex_.Await(absl::Condition(&called));
      mutex_.AwaitWithTimeout(absl::Condition(&full), kGather);
      if (queue_.empty()) return;  // and stopping
      const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(kMaxSent, queue_.size()));
      some.assign(std::move_iterator(queue_.begin()), std::move_iterator(end));
      queue_.erase(queue_.begin(), end);
      sending_ = true;
    }
    const auto count = static_cast<double>(some.size());
    const bool taken = send(std::move(some));
    (taken ? counters_.exported : counters_.dropped)->Increment(count);
    if (taken != reachable) {
      if (!taken) spdlog::warn("event=traces_lost reason={}", log_text("the collector does not take them"));
      if (taken) spdlog::info("event=traces_taken");
      reachable = taken;
    }
  }
}

bool TraceExporter::send(std::vector<otlp::Span> spans) {
  collector::ExportTraceServiceRequest request;
  auto& of_resource = *request.add_resource_spans();
  auto& resource = *of_resource.mutable_resource()->mutable_attributes();
  set_attribute(resource, "service.name", "axiond");
  set_attribute(resource, "service.version", version_);
  auto& of_scope = *of_resource.add_scope_spans();
  of_scope.mutable_scope()->set_name("axion");
  for (otlp::Span& span : spans) *of_scope.add_spans() = std::move(span);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  {
    absl::MutexLock lock(&mutex_);
    if (given_up_) return false;
    under_way_ = &context;
  }
  collector::ExportTraceServiceResponse response;
  const grpc::Status status = stub_->Export(&context, request, &response);
  absl::MutexLock lock(&mutex_);
  under_way_ = nullptr;
  sending_ = false;
  return status.ok() && response.partial_success().rejected_spans() == 0;
}

}  // namespace axion::server::observe
