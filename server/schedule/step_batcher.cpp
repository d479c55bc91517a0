#include "server/schedule/step_batcher.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {
namespace {

// The thread looks at leases this often at least, and never more often than kMinWait for one that is still held.
constexpr absl::Duration kMaxWait = absl::Seconds(60);
constexpr absl::Duration kMinWait = absl::Milliseconds(20);

absl::Status cancelled() {
  return make_failure(absl::StatusCode::kCancelled, "the call was cancelled",
                      {.reason = std::string(reason::kCancelled)});
}

absl::Status deadline_exceeded(std::int64_t steps_done) {
  return make_failure(absl::StatusCode::kDeadlineExceeded,
                      absl::StrCat("the deadline passed after ", steps_done, " steps of the request"),
                      {.reason = std::string(reason::kDeadline)});
}

// Why nobody waits for the job any more, or OK.
absl::Status abandoned(const Job& job, absl::Time now) {
  if (job.call.cancel != nullptr && job.call.cancel->is_set()) return cancelled();
  if (job.call.deadline <= now) return deadline_exceeded(job.steps_done);
  return absl::OkStatus();
}

absl::Status check_expected_step(const BatchHandle& batch, const StepWork& work) {
  if (!work.expected_step) return absl::OkStatus();
  for (std::size_t i = 0; i < world_count_of(work.world_indices, batch); ++i) {
    const std::int32_t world = world_at(work.world_indices, i);
    const std::int64_t at = batch.engine->step_index(world);
    if (at != *work.expected_step) {
      return make_failure(
          absl::StatusCode::kAborted,
          absl::StrCat("expected_step: is ", *work.expected_step, " but world ", world, " is at step ", at),
          {.reason = std::string(reason::kStepMismatch), .field = "expected_step"});
    }
  }
  return absl::OkStatus();
}

// The engine's outcomes of a stretch begin anew; a request has one outcome, so recorded ones take up what came before.
void carry_into_records(const BatchHandle& batch, const StepWork& work, const Stretch& stretch) {
  for (const OutputView& view : stretch.outputs) {
    if (view.field != Field::kOutcome) continue;
    for (std::size_t i = 0; i < world_count_of(work.world_indices, batch); ++i) {
      const std::uint32_t carried = batch.carried_outcome[static_cast<std::size_t>(world_at(work.world_indices, i))];
      for (std::int64_t r = 0; r < stretch.record_count; ++r) {
        std::byte* at = view.data + i * view.world_stride + static_cast<std::size_t>(r) * view.record_stride;
        std::uint32_t outcome = 0;
        std::memcpy(&outcome, at, sizeof(outcome));
        outcome = combine_outcomes(carried, outcome);
        std::memcpy(at, &outcome, sizeof(outcome));
      }
    }
  }
}

template <typename T>
OutputView view_of(Field field, std::vector<T>& values) {
  return {.field = field, .data = reinterpret_cast<std::byte*>(values.data()), .world_stride = sizeof(T)};
}

std::array<OutputView, 3> views_of(StepAnswer& answer) {
  return {view_of(Field::kTime, answer.time), view_of(Field::kStepIndex, answer.step_index),
          view_of(Field::kOutcome, answer.outcome)};
}

// The launch itself writes the answer, on the threads that step, where it makes one record or none: the answer is of its
// last step. False where it makes several.
bool write_answer(StepAnswer& answer, Stretch& stretch) {
  if (stretch.request.record_every > 0) return false;
  for (const OutputView& view : views_of(answer)) stretch.outputs.push_back(view);
  stretch.request.outputs = stretch.outputs;
  return true;
}

}  // namespace

StepBatcher::StepBatcher(std::unique_ptr<Engine> engine, Registry& registry, Observer& observer,
                         StepBatcherOptions options)
    : options_(std::move(options)),
      registry_(registry),
      observer_(observer),
      queue_(options_.max_queue),
      engine_(std::move(engine)),
      pacer_(options_.shared_slice, options_.alone_slice) {
  update_device_info();
  thread_ = std::thread([this] { run(); });
}

StepBatcher::~StepBatcher() { drain(absl::ZeroDuration()); }

absl::Status StepBatcher::submit(std::unique_ptr<Job> job) {
  job->admitted_at = options_.clock();
  bool owner = false;
  const absl::Status status = may_run_on_lent_thread(*job) ? queue_.push_or_own(job, owner) : queue_.push(job);
  if (!status.ok()) return status;
  observer_.on_queue_depth(static_cast<std::int64_t>(queue_.depth()));
  if (owner) {
    waiting_.push_back(std::move(job));
    run_waiting();
    queue_.release(!waiting_.empty());
  }
  return status;
}

bool StepBatcher::may_run_on_lent_thread(const Job& job) const {
  const auto* work = std::get_if<StepWork>(&job.work);
  // With a delay a step may have to wait for others, which only the device's thread does.
  if (work == nullptr || !job.call.lends_thread || options_.max_batch_delay > absl::ZeroDuration()) return false;
  const double world_step_time = job.batch->world_step_time.load(std::memory_order_relaxed);
  const double time = world_step_time * static_cast<double>(world_count_of(work->world_indices, *job.batch)) *
                      static_cast<double>(work->step_count);
  return world_step_time > 0 && time <= absl::ToDoubleSeconds(options_.short_step);
}

bool StepBatcher::drain(absl::Duration limit) {
  close();
  const bool in_time = ended_.WaitForNotificationWithTimeout(limit);
  stop_.set();
  if (thread_.joinable()) thread_.join();
  return in_time;
}

DeviceInfo StepBatcher::device() const {
  absl::MutexLock lock(&device_mutex_);
  return device_;
}

void StepBatcher::update_device_info() {
  const DeviceInfo info = engine_->device();
  observer_.on_device_memory(info.memory_used_bytes, info.memory_total_bytes);
  absl::MutexLock lock(&device_mutex_);
  device_ = info;
}

void StepBatcher::run() {
  absl::Duration timeout = absl::ZeroDuration();
  while (true) {
    queue_.fetch(waiting_, timeout);
    destroy_expired();
    if (stop_.is_set()) refuse_all(draining());
    timeout = run_waiting();
    if (!waiting_.empty()) continue;
    // Closed is asked first: what was admitted before the queue closed is seen by the fetch that follows.
    if (queue_.closed()) {
      if (queue_.depth() == 0) break;
      continue;
    }
    timeout = idle_timeout();
  }
  for (const auto& batch : registry_.take_all()) {
    batch->engine.reset();
    batch->reservation = {};
  }
  update_device_info();
  ended_.Notify();
}

absl::Duration StepBatcher::run_waiting() {
  absl::Duration timeout = absl::ZeroDuration();
  std::vector<Job*> ready;
  collect(ready);
  if (!ready.empty() && !should_wait(ready, timeout)) launch(ready);
  forget_ended();
  return timeout;
}

absl::Duration StepBatcher::idle_timeout() const {
  return std::clamp(registry_.next_expiry() - options_.clock(), kMinWait, kMaxWait);
}

void StepBatcher::destroy_expired() {
  const auto expired = registry_.take_expired(options_.clock());
  for (const auto& batch : expired) {
    observer_.on_event(absl::StrCat("event=batch_expired batch=", batch->info.name, " worlds=", batch->info.world_count,
                                    " idle_ttl=", absl::FormatDuration(batch->info.idle_ttl)));
    batch->engine.reset();
    batch->reservation = {};
  }
  if (!expired.empty()) update_device_info();
}

void StepBatcher::collect(std::vector<Job*>& ready) {
  ready.clear();
  absl::flat_hash_set<const BatchHandle*> blocked;  // by a step that comes before
  for (auto& job : waiting_) {
    if (job == nullptr || blocked.contains(job->batch.get())) continue;
    if (std::holds_alternative<DeviceWork>(job->work)) {
      run_device_work(*job);
      job.reset();
      queue_.finished(1);
    } else if (admit_step(*job)) {
      ready.push_back(job.get());
      blocked.insert(job->batch.get());
    } else {
      job.reset();
      queue_.finished(1);
    }
  }
}

void StepBatcher::run_device_work(Job& job) {
  const auto& work = std::get<DeviceWork>(job.work);
  absl::Status status = abandoned(job, options_.clock());
  if (status.ok() && job.batch != nullptr && job.batch->engine == nullptr) {
    status = not_found("batch", job.batch->info.name);
  }
  observer_.on_queue_wait(options_.clock() - job.admitted_at);
  if (!status.ok()) {
    work.refuse(status);
    return;
  }
  work.run(*engine_, job.batch.get());
  if (job.batch != nullptr) registry_.touch(*job.batch, options_.clock());
  // Only making and deleting batches changes what the device holds.
  if (job.batch == nullptr || job.batch->engine == nullptr) update_device_info();
}

bool StepBatcher::admit_step(Job& job) {
  const auto& work = std::get<StepWork>(job.work);
  const bool fresh = job.steps_done == 0;
  absl::Status status;
  if (job.batch->engine == nullptr) {
    status = not_found("batch", job.batch->info.name);
  } else if (fresh || work.request_id.empty()) {
    status = abandoned(job, options_.clock());
  }
  if (status.ok() && fresh) {
    if (!work.request_id.empty()) {
      if (const auto memory = job.batch->replays.find(work.request_id)) {
        work.sink->replay(*memory);
        return false;
      }
    }
    status = check_expected_step(*job.batch, work);
  }
  if (!status.ok()) work.sink->fail(status);
  return status.ok();
}

bool StepBatcher::should_wait(const std::vector<Job*>& ready, absl::Duration& timeout) const {
  if (options_.max_batch_delay <= absl::ZeroDuration() || queue_.closed()) return false;
  absl::Time oldest = absl::InfiniteFuture();
  for (const Job* job : ready) {
    if (job->steps_done > 0) return false;
    oldest = std::min(oldest, job->admitted_at);
  }
  // When every batch has a step waiting, nobody is left to wait for.
  if (static_cast<std::int64_t>(ready.size()) >= registry_.counts().batches) return false;
  timeout = oldest + options_.max_batch_delay - options_.clock();
  return timeout > absl::ZeroDuration();
}

void StepBatcher::launch(const std::vector<Job*>& ready) {
  std::int64_t worlds = 0;
  for (const Job* job : ready) {
    worlds += static_cast<std::int64_t>(world_count_of(std::get<StepWork>(job->work).world_indices, *job->batch));
  }
  const bool others_wait = queue_.depth() > 1;
  const std::int64_t cap = options_.max_launch_steps > 0 ? options_.max_launch_steps : pacer_.cap(worlds, others_wait);
  std::vector<Entry> entries(ready.size());
  for (std::size_t i = 0; i < ready.size(); ++i) {
    Job& job = *ready[i];
    const auto& work = std::get<StepWork>(job.work);
    entries[i].job = &job;
    if (job.steps_done == 0) {
      const std::size_t count = world_count_of(work.world_indices, *job.batch);
      job.answer.time.resize(count), job.answer.step_index.resize(count), job.answer.outcome.resize(count);
      observer_.on_queue_wait(options_.clock() - job.admitted_at);
      for (std::size_t w = 0; w < count; ++w) {
        job.batch->carried_outcome[static_cast<std::size_t>(world_at(work.world_indices, w))] = kConverged;
      }
    }
    plan_stretch(work, *job.batch, job.steps_done, cap, entries[i].stretch);
    entries[i].answer_written = write_answer(job.answer, entries[i].stretch);
  }
  step_entries(entries);
  for (Entry& entry : entries) {
    if (!entry.ended) advance(entry);
  }
  queue_.set_retry_delay(pacer_.retry_delay());
}

void StepBatcher::step_entries(std::span<Entry> entries) {
  std::vector<StepRequest> requests;
  for (const Entry& entry : entries) requests.push_back(entry.stretch.request);
  const absl::Time start = absl::Now();
  const Result<StepStatistics> result = engine_->step(requests);
  if (result.ok()) {
    measure(entries, absl::Now() - start, result.value());
  } else if (entries.size() == 1) {
    fail(entries.front(), result.error());
  } else {
    // A refusal is of the whole launch and changes nothing: run them one by one, so that it falls on its cause alone.
    for (std::size_t i = 0; i < entries.size(); ++i) step_entries(entries.subspan(i, 1));
  }
}

void StepBatcher::measure(std::span<const Entry> entries, absl::Duration duration, const StepStatistics& statistics) {
  LaunchReport report{.duration = duration, .statistics = statistics};
  std::int64_t world_steps = 0;
  for (const Entry& entry : entries) {
    const auto& work = std::get<StepWork>(entry.job->work);
    const auto worlds = static_cast<std::int64_t>(world_count_of(work.world_indices, *entry.job->batch));
    report.worlds += worlds;
    world_steps += worlds * entry.stretch.step_count;
  }
  pacer_.measured(world_steps, duration);
  if (entries.size() == 1) {
    entries.front().job->batch->world_step_time.store(
        absl::ToDoubleSeconds(duration) / static_cast<double>(world_steps), std::memory_order_relaxed);
  }
  observer_.on_launch(report);
}

void StepBatcher::advance(Entry& entry) {
  Job& job = *entry.job;
  const auto& work = std::get<StepWork>(job.work);
  BatchHandle& batch = *job.batch;
  if (job.steps_done > 0) carry_into_records(batch, work, entry.stretch);
  job.steps_done += entry.stretch.step_count;
  if (const absl::Status status = complete_answer(entry); !status.ok()) {
    end_job(job, status);
  } else if (job.steps_done == work.step_count) {
    answer(job);
  } else {
    for (std::size_t i = 0; i < job.answer.outcome.size(); ++i) {
      batch.carried_outcome[static_cast<std::size_t>(world_at(work.world_indices, i))] = job.answer.outcome[i];
    }
  }
}

absl::Status StepBatcher::complete_answer(const Entry& entry) {
  Job& job = *entry.job;
  const auto& work = std::get<StepWork>(job.work);
  if (!entry.answer_written) return read_fields(*job.batch, work.world_indices, views_of(job.answer));
  for (std::size_t i = 0; i < job.answer.outcome.size(); ++i) {
    const auto world = static_cast<std::size_t>(world_at(work.world_indices, i));
    job.answer.outcome[i] = combine_outcomes(job.batch->carried_outcome[world], job.answer.outcome[i]);
  }
  return absl::OkStatus();
}

void StepBatcher::answer(Job& job) {
  auto& work = std::get<StepWork>(job.work);
  registry_.touch(*job.batch, options_.clock());
  auto memory = work.sink->succeed(std::move(job.answer), !work.request_id.empty());
  if (memory != nullptr) job.batch->replays.put(work.request_id, std::move(memory));
  end_job(job, absl::OkStatus());
}

void StepBatcher::fail(Entry& entry, const Error& error) {
  entry.ended = true;
  end_job(*entry.job, from_engine(error));
}

// Ends a job: with a status that is not OK its sink is told. The slot in waiting_ is dropped by forget_ended.
void StepBatcher::end_job(Job& job, const absl::Status& status) {
  if (!status.ok()) {
    if (auto* step = std::get_if<StepWork>(&job.work)) {
      step->sink->fail(status);
    } else {
      std::get<DeviceWork>(job.work).refuse(status);
    }
  }
  const auto it = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& held) { return held.get() == &job; });
  it->reset();
  queue_.finished(1);
}

void StepBatcher::forget_ended() {
  const auto before = waiting_.size();
  std::erase(waiting_, nullptr);
  if (waiting_.size() != before) observer_.on_queue_depth(static_cast<std::int64_t>(queue_.depth()));
}

void StepBatcher::refuse_all(const absl::Status& status) {
  for (auto& job : waiting_) {
    if (job != nullptr) end_job(*job, status);
  }
}

}  // namespace axion::server::schedule
