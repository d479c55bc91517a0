#include "server/rpc/step_stream.hpp"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/time/clock.h"

#include "server/rpc/status.hpp"
#include "server/rpc/step_exchange.hpp"
#include "server/rpc/wire_message.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

// One of so many steps of a client that waits for every answer is left to the device's thread; and so many steps must
// have been waited for before a client that sent ahead counts as one that waits.
constexpr int kPhaseSteps = 32;

// A stream alone is held back by flow control before its tenant's quota refuses it.
std::size_t bound_of(const schedule::Limits& limits, const absl::StatusOr<Caller>& caller) {
  const std::int64_t quota = caller.ok() ? caller->tenant->quota.max_queue : 0;
  return static_cast<std::size_t>(quota > 0 ? std::min(limits.max_stream_in_flight, quota)
                                            : limits.max_stream_in_flight);
}

}  // namespace

StepStreamReactor::StepStreamReactor(SimulationService& service, grpc::CallbackServerContext& context,
                                     absl::StatusOr<Caller> caller)
    : service_(service),
      context_(context),
      caller_(std::move(caller)),
      tenant_(caller_.ok() ? std::optional(caller_->tenant->name) : std::nullopt),
      bound_(bound_of(service.parts_.limits, caller_)) {}

void StepStreamReactor::start() {
  End outcome;
  {
    absl::MutexLock lock(&mutex_);
    if (!caller_.ok()) end(caller_.status());
    outcome = pump();
  }
  if (outcome) finish(*outcome);
}

void StepStreamReactor::drain() {
  End outcome;
  {
    absl::MutexLock lock(&mutex_);
    draining_ = true;
    outcome = pump();
  }
  if (outcome) finish(*outcome);
}

bool StepStreamReactor::lends_thread() {
  if (jobs_ > 0) phase_ = -kPhaseSteps;
  const bool lends = phase_ > 0;
  phase_ = phase_ + 1 == kPhaseSteps ? 0 : phase_ + 1;
  return lends;
}

void StepStreamReactor::OnReadDone(bool ok) {
  std::shared_ptr<Exchange> exchange;
  schedule::Call call;
  End outcome;
  const bool taken = [&] {
    absl::MutexLock lock(&mutex_);
    exchange = std::move(reading_);
    if (!ok) half_closed_ = true;
    if (!ok || ending_ || refused_) {
      outcome = pump();
      return false;
    }
    exchange->start = absl::Now();
    exchange->trace = CallTrace::of(context_, service_.parts_.traces);
    call = call_of(context_, exchange->cancel, exchange->trace.get());
    call.lends_thread = lends_thread();
    exchanges_.push_back(exchange);
    submitting_ = exchange;
    ++jobs_;
    return true;
  }();
  if (!taken) {
    if (outcome) finish(*outcome);
    return;
  }
  // Outside the mutex: the job may be completed before submit returns, here or elsewhere. The order is safe because
  // nothing is read until this request has its place in the queue, is answered or refused.
  const ServiceParts& parts = service_.parts_;
  absl::Status status = admit(*exchange);
  if (status.ok()) exchange->memory = service_.memory(*caller_->tenant);
  if (status.ok()) status = parse_message(exchange->bytes, exchange->request, exchange->memory);
  if (status.ok()) {
    attach(exchange->request.batch());
    status = submit_step(exchange->request, exchange->response, *caller_->tenant, call, exchange->memory, parts,
                         [this, exchange](const absl::Status& outcome) { complete(exchange, outcome); });
  }
  if (!status.ok()) complete(exchange, status);
  {
    absl::MutexLock lock(&mutex_);  // gRPC ends no stream before its reactions have returned
    if (submitting_ == exchange) submitting_ = nullptr;
    outcome = pump();
  }
  if (outcome) finish(*outcome);
}

absl::Status StepStreamReactor::admit(Exchange& exchange) {
  if (absl::Status status = service_.parts_.admission.renew(*caller_); !status.ok()) return status;
  auto slot = take_slot(*caller_->tenant);
  if (!slot.ok()) return slot.status();
  exchange.slot = *std::move(slot);
  return absl::OkStatus();
}

void StepStreamReactor::OnWriteDone(bool ok) {
  End outcome;
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    exchanges_.pop_front();
    if (!ok) end(schedule::stream_ended());
    outcome = pump();
  }
  if (outcome) finish(*outcome);
}

void StepStreamReactor::OnCancel() {
  End outcome;
  {
    absl::MutexLock lock(&mutex_);
    end(schedule::stream_ended());
    outcome = pump();
  }
  if (outcome) finish(*outcome);
}

void StepStreamReactor::attach(const std::string& batch) {
  if (batch == last_batch_) return;
  last_batch_ = batch;
  if (absl::c_linear_search(attached_, batch)) return;
  if (service_.parts_.registry.open_stream(*caller_->tenant, batch)) attached_.push_back(batch);
}

void StepStreamReactor::OnDone() {
  const bool draining = [&] {
    absl::MutexLock lock(&mutex_);
    return draining_;
  }();
  if (!draining && !attached_.empty()) {  // a server that shuts down keeps what it holds for the next
    schedule::StepBatcher& batcher = service_.parts_.batcher;
    for (const std::string& batch : attached_) service_.parts_.registry.close_stream(batch, batcher.now());
    batcher.wake();
  }
  service_.forget(this);
  delete this;
}

void StepStreamReactor::complete(const std::shared_ptr<Exchange>& exchange, const absl::Status& status) {
  const absl::Duration duration = absl::Now() - exchange->start;
  observe::Metrics& metrics = service_.parts_.metrics;  // outlives this object, which may end with the mutex released
  const std::string tenant = tenant_.value_or("");
  const std::unique_ptr<CallTrace> trace = std::move(exchange->trace);
  if (trace != nullptr) trace->finish("StepStream", names_of(context_, tenant, &exchange->request), status);
  End outcome;
  {
    absl::MutexLock lock(&mutex_);
    --jobs_;
    exchange->slot.release();
    take_result(*exchange, status);
    outcome = pump();
  }
  if (outcome) finish(*outcome);
  // Once the answer is on its way: measuring takes as long as a step of a small world.
  if (status.ok()) {
    report_call(metrics, "StepStream", {.peer = {}, .tenant = tenant, .resource = {}, .request_id = {}}, status,
                duration);
  }
}

void StepStreamReactor::take_result(Exchange& exchange, const absl::Status& status) {
  exchange.ready = true;
  exchange.status = status;
  if (status.ok()) return;
  if (!refused_) names_ = names_of(context_, tenant_.value_or(""), &exchange.request);
  refused_ = true;
  // At once, not when it comes to the front: what follows for the same batch must not run.
  bool after = false;
  for (const auto& other : exchanges_) {
    if (after) other->cancel->set();
    after = after || other.get() == &exchange;
  }
}

void StepStreamReactor::end(const absl::Status& status) {
  if (!ending_) ending_ = status;
  for (const auto& exchange : exchanges_) exchange->cancel->set();
}

void StepStreamReactor::finish(const absl::Status& status) {
  if (!status.ok()) {
    const CallNames names = [&] {
      absl::MutexLock lock(&mutex_);
      return names_.value_or(names_of(context_, tenant_.value_or(""), nullptr));
    }();
    report_call(service_.parts_.metrics, "StepStream", names, status, absl::ZeroDuration());
  }
  Finish(to_grpc(status));
}

StepStreamReactor::End StepStreamReactor::pump() {
  if (finished_) return std::nullopt;
  if (!ending_ && !writing_ && !exchanges_.empty() && exchanges_.front()->ready) {
    Exchange& front = *exchanges_.front();
    if (front.status.ok()) front.status = write_message(front.response, front.bytes);
    if (front.status.ok()) {
      writing_ = true;
      StartWrite(&front.bytes);
    } else {
      end(front.status);
    }
  }
  if (!ending_ && exchanges_.empty()) {
    if (half_closed_) {
      ending_ = absl::OkStatus();
    } else if (draining_) {
      ending_ = schedule::draining();
    }
  }
  if (ending_) {
    // Jobs in hand refer to this object, so the end waits for them; they have been cancelled.
    if (jobs_ > 0 || writing_) return std::nullopt;
    finished_ = true;
    return ending_;
  }
  const bool submitting = submitting_ != nullptr && !submitting_->ready;
  if (reading_ == nullptr && !submitting && !half_closed_ && !draining_ && !refused_ && exchanges_.size() < bound_) {
    reading_ = std::make_shared<Exchange>();
    StartRead(&reading_->bytes);
  }
  return std::nullopt;
}

}  // namespace axion::server::rpc
