#include "server/rpc/watch_stream.hpp"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "server/rpc/request_conversion.hpp"
#include "server/rpc/status.hpp"
#include "server/rpc/unary_call.hpp"
#include "server/rpc/wire_message.hpp"
#include "server/rpc/world_reports.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/world_work.hpp"

namespace axion::server::rpc {
namespace {

constexpr double kDefaultRate = 30, kMaxRate = 1000;  // frames a second
constexpr int kPause = 50;                            // a look is followed by a pause of so many times what it took

}  // namespace

WatchReactor::WatchReactor(SimulationService& service, grpc::CallbackServerContext& context)
    : service_(service), context_(context) {}

void WatchReactor::start(grpc::ByteBuffer& request) {
  if (absl::Status status = begin(request); !status.ok()) return end(status);
  {
    absl::MutexLock lock(&mutex_);
    if (finished_) return;
    in_hand_ = true;
    due_ = absl::Now();
  }
  look();
}

absl::Status WatchReactor::begin(grpc::ByteBuffer& request) {
  const ServiceParts& parts = service_.parts_;
  caller_ = parts.admission.admit(context_, "Watch");
  if (!caller_.ok()) return caller_.status();
  tenant_ = caller_->tenant->name;
  if (absl::Status status = service_.count_watch(*tenant_); !status.ok()) return status;
  request_memory_ = service_.memory(*caller_->tenant);
  if (absl::Status status = parse_message(request, request_, request_memory_); !status.ok()) return status;
  const double rate = request_.has_rate() ? request_.rate() : kDefaultRate;
  if (!(rate > 0 && rate <= kMaxRate)) {
    return schedule::invalid_field("rate", absl::StrCat("is ", rate, "; it must be above 0 and at most ", kMaxRate));
  }
  for (int i = 0; i < request_.fields_size(); ++i) {
    if (request_.fields(i) != "snapshot") continue;
    return schedule::invalid_field(absl::StrCat("fields[", i, "]"), "\"snapshot\" is read by GetState, between steps");
  }
  period_ = absl::Seconds(1 / rate);
  return absl::OkStatus();
}

void WatchReactor::drain() { end(schedule::draining()); }

void WatchReactor::look() {
  {
    absl::MutexLock lock(&mutex_);
    alarm_ = nullptr;
  }
  absl::Status status = submit_look();
  if (status.ok()) return;
  // A queue that is full is busy with steps: this frame is left out.
  const bool full = schedule::details_of(status).reason == schedule::reason::kQueueFull;
  complete(full ? absl::StatusOr<std::unique_ptr<Frame>>(nullptr) : std::move(status), absl::ZeroDuration());
}

absl::Status WatchReactor::submit_look() {
  const ServiceParts& parts = service_.parts_;
  if (absl::Status status = parts.admission.renew(*caller_); !status.ok()) return status;
  auto batch = parts.registry.find_batch(*caller_->tenant, "batch", request_.batch());
  if (!batch.ok()) return batch.status();
  auto job = std::make_unique<schedule::Job>();
  job->call = call_of(context_, cancel_);
  job->call.lends_thread = false;
  schedule::name_caller(*caller_->tenant, job->call);
  job->batch = *std::move(batch);
  const auto look = [this, watched = job->batch](Engine&) {
    const absl::Time start = absl::Now();
    auto frame = make_frame(*watched);
    const absl::Duration took = absl::Now() - start;
    complete(std::move(frame), took);
    return absl::OkStatus();
  };
  const auto finish = [this](const absl::Status& status) {
    if (!status.ok()) complete(status, absl::ZeroDuration());
  };
  job->work = schedule::DeviceWork{.effect = schedule::Effect::kReads,
                                   .renews_lease = false,
                                   .overtakes_steps = true,
                                   .passes = {schedule::whole(look)},
                                   .finish = finish};
  return parts.batcher.submit(std::move(job));
}

absl::StatusOr<std::unique_ptr<WatchReactor::Frame>> WatchReactor::make_frame(const schedule::BatchHandle& batch) {
  if (seen_changes_ == batch.changes) return nullptr;
  auto frame = std::make_unique<Frame>();
  frame->memory = request_memory_.another();
  const absl::Status status = schedule::guarded([&] {
    absl::Status filled = fill(batch, *frame);
    return filled.ok() ? write_message(frame->message, frame->bytes) : filled;
  });
  if (!status.ok()) return status;
  seen_changes_ = batch.changes;
  return frame;
}

absl::Status WatchReactor::fill(const schedule::BatchHandle& batch, Frame& frame) {
  const schedule::Limits& limits = service_.parts_.limits;
  auto worlds = worlds_of(request_.world_indices(), batch.info);
  if (!worlds.ok()) return worlds.status();
  v1::GetStateRequest asked;
  *asked.mutable_fields() = request_.fields();
  const std::int64_t count = count_of(*worlds, batch);
  auto reading = to_reading(asked, batch.info, count, limits, frame.memory, *frame.message.mutable_state());
  if (!reading.ok()) return reading.status();
  absl::Status status = schedule::read_fields(batch, *worlds, reading->views);
  if (status.ok() && request_.contacts()) {
    ContactReading contacts(batch, *worlds, *frame.message.mutable_contacts());
    status = contacts.add(0, contacts.world_count());
    if (status.ok()) status = contacts.finish(limits);
  }
  if (status.ok() && request_.solver_stats()) {
    StatisticsReading statistics(batch, *worlds, *frame.message.mutable_worlds());
    status = statistics.add(0, statistics.world_count());
    statistics.finish();
  }
  if (!status.ok()) return status;
  {
    absl::MutexLock lock(&mutex_);
    frame.message.set_dropped_frames(dropped_);
  }
  service_.metrics().on_watch_frame(frame.message.dropped_frames() - dropped_told_);
  dropped_told_ = frame.message.dropped_frames();
  return check_answer_bytes(static_cast<double>(frame.message.ByteSizeLong()), limits);
}

void WatchReactor::complete(absl::StatusOr<std::unique_ptr<Frame>> frame, absl::Duration took) {
  const std::int64_t watches = service_.watch_count();  // this one at least
  std::optional<absl::Status> ending;
  {
    absl::MutexLock lock(&mutex_);
    if (!frame.ok() && !ending_) ending_ = frame.status();
    const absl::Time now = absl::Now();
    // Frames keep their beat; what launches held up is not made up for.
    due_ = std::max({due_ + period_, now + kPause * watches * took, now - period_});
    if (ending_) {
      in_hand_ = false;
      finished_ = true;
      ending = ending_;
    } else if (*frame != nullptr) {
      frame_ = *std::move(frame);
      StartWrite(&frame_->bytes);
    } else {
      wait_for_next();
    }
  }
  if (ending) finish(*ending);
}

void WatchReactor::OnWriteDone(bool ok) {
  std::optional<absl::Status> ending;
  {
    absl::MutexLock lock(&mutex_);
    frame_ = nullptr;
    if (!ok && !ending_) ending_ = schedule::stream_ended();
    if (ending_) {
      in_hand_ = false;
      finished_ = true;
      ending = ending_;
    } else {
      const absl::Time now = absl::Now();
      if (due_ < now) {
        const auto missed = static_cast<std::int64_t>(absl::FDivDuration(now - due_, period_));
        dropped_ += missed;
        due_ += missed * period_;
      }
      wait_for_next();
    }
  }
  if (ending) finish(*ending);
}

void WatchReactor::wait_for_next() {
  alarm_ = std::make_shared<grpc::Alarm>();
  alarm_->Set(absl::ToChronoTime(due_), [this](bool ok) {
    if (ok) return look();
    absl::Status status;
    {
      absl::MutexLock lock(&mutex_);
      in_hand_ = false;
      finished_ = true;
      status = *ending_;  // why it was cancelled
    }
    finish(status);
  });
}

void WatchReactor::OnCancel() { end(schedule::stream_ended()); }

void WatchReactor::end(const absl::Status& status) {
  std::shared_ptr<grpc::Alarm> alarm;
  bool finishes = false;
  {
    absl::MutexLock lock(&mutex_);
    if (ending_) return;
    ending_ = status;
    cancel_->set();
    alarm = alarm_;
    finishes = !in_hand_;
    finished_ = finishes;
  }
  if (alarm != nullptr) alarm->Cancel();
  if (finishes) finish(status);
}

void WatchReactor::finish(const absl::Status& status) {
  report_call(service_.metrics(), "Watch", names_of(context_, tenant_.value_or(""), &request_), status,
              absl::ZeroDuration());
  Finish(to_grpc(status));
}

void WatchReactor::OnDone() {
  service_.forget(this);
  delete this;
}

}  // namespace axion::server::rpc
