#include "server/schedule/step_batcher.hpp"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "server/schedule/failure.hpp"
#include "server/schedule/step_rules.hpp"
#include "server/schedule/world_work.hpp"

namespace axion::server::schedule {
namespace {

// The thread looks at leases this often at least, and never more often than kMinWait for one that is still held.
constexpr absl::Duration kMaxWait = absl::Seconds(60);
constexpr absl::Duration kMinWait = absl::Milliseconds(20);
constexpr absl::Duration kCompany = absl::Seconds(1);   // for which a batch that has stepped may step again
constexpr absl::Duration kMaxRest = absl::Seconds(60);  // of a step that no call waits for

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
  if (job->call.times != nullptr) job->call.times->admitted = job->admitted_at;
  bool owner = false;
  const std::string client = job->call.client;
  const absl::Status status =
      may_run_on_lent_thread(*job) ? queue_.push_or_own(job, client, owner) : queue_.push(job, client);
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
  queue_.wake();
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
    if (!fault_.ok() || stop_.is_set()) refuse_all(fault_.ok() ? draining() : fault_);
    timeout = run_waiting();
    destroy_expired();  // last: what a job holds does not expire, and looks that renew no lease may come at any rate
    if (waiting_.size() > resting_ + away_) continue;
    // Closed is asked first: what was admitted before the queue closed is seen by the fetch that follows.
    if (queue_.closed() && away_ == 0) {
      if (queue_.depth() == 0) break;
      continue;
    }
    timeout = idle_timeout();
  }
  const auto batches = registry_.take_all();
  if (options_.at_end && fault_.ok()) options_.at_end(batches);
  for (const auto& batch : batches) {
    batch->engine.reset();
    batch->reservation = {};
    batch->memory = {};
  }
  update_device_info();
  ended_.Notify();
}

absl::Duration StepBatcher::run_waiting() {
  absl::Duration timeout = absl::ZeroDuration();
  std::vector<Job*> ready, works;
  end_jobs_of_ending_batches();
  collect(ready, works);
  do_pieces(works);
  turns_.sort(ready);
  if (!ready.empty() && !should_wait(ready, timeout)) launch(choose(ready));
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
                                    " idle_ttl=", absl::FormatDuration(batch->info.idle_ttl),
                                    " stream_ttl=", absl::FormatDuration(batch->info.stream_ttl)));
    batch->engine.reset();
    batch->reservation = {};
    batch->memory = {};
  }
  if (!expired.empty()) update_device_info();
}

void StepBatcher::collect(std::vector<Job*>& ready, std::vector<Job*>& works) {
  resting_ = away_ = 0;
  absl::flat_hash_set<const BatchHandle*> blocked;  // by work that is under way, or by what comes before
  for (const auto& job : waiting_) {
    if (job != nullptr && job->work_begun && job->batch != nullptr) blocked.insert(job->batch.get());
  }
  for (auto& job : waiting_) {
    if (job == nullptr) continue;
    const auto* other = std::get_if<DeviceWork>(&job->work);
    const bool goes_on = job->work_begun || (other != nullptr && other->overtakes_steps);
    if (blocked.contains(job->batch.get()) && !goes_on) {
      // No caller waits for it: its place in the queue and in its tenant's share is free for others. A step that was
      // begun rests meanwhile: ended here, a repetition of it would make its steps a second time.
      const absl::Status gone = abandoned(job->call, options_.clock());
      if (!gone.ok() && job->begun()) {
        ++resting_;
      } else if (!gone.ok()) {
        end_job(*job, gone);
      }
      continue;
    }
    if (other != nullptr) {
      if (job->batch != nullptr && !other->overtakes_steps) blocked.insert(job->batch.get());
      if (is_away(*job)) {
        ++away_;
      } else {
        works.push_back(job.get());
      }
      continue;
    }
    const Admission admission = admit_step(*job);
    if (admission == Admission::kEnded) {
      forget(job);
      continue;
    }
    resting_ += admission == Admission::kResting ? 1 : 0;
    if (admission == Admission::kReady) {
      ready.push_back(job.get());
      blocked.insert(job->batch.get());
    }
  }
}

void StepBatcher::end_jobs_of_ending_batches() {
  absl::flat_hash_set<const BatchHandle*> ending;
  for (const auto& job : waiting_) {
    if (job == nullptr) continue;
    const auto* work = std::get_if<DeviceWork>(&job->work);
    if (work != nullptr && work->effect == Effect::kEndsBatch) ending.insert(job->batch.get());
  }
  if (ending.empty()) return;
  for (auto& job : waiting_) {
    if (job == nullptr || !ending.contains(job->batch.get())) continue;
    const auto* work = std::get_if<DeviceWork>(&job->work);
    if (work == nullptr || (work->ends_with_batch && job->work_begun && !is_away(*job))) {
      end_job(*job, batch_deleted(*job));
    }
  }
}

StepBatcher::Admission StepBatcher::admit_step(Job& job) {
  auto& work = std::get<StepWork>(job.work);
  absl::Status status;
  if (job.batch->engine == nullptr) {
    status = not_found("batch", job.batch->info.name);
  } else {
    status = abandoned(job.call, options_.clock(), job.steps_done);
    if (!status.ok() && job.begun() && !work.request_id.empty()) return take_up(job, status);
  }
  if (status.ok() && !job.begun()) {
    const Remembered* remembered = work.request_id.empty() ? nullptr : job.batch->replays.find(work.request_id);
    if (remembered != nullptr) {
      status = check_same_request(work.request_id, remembered->request_hash, work.request_hash);
    }
    if (status.ok() && remembered != nullptr && remembered->refusal.ok()) {
      work.sink->replay(*remembered->memory);
      return Admission::kEnded;
    }
    if (status.ok()) status = remembered != nullptr ? remembered->refusal : check_incarnation(*job.batch, work);
    if (status.ok()) status = check_expected_step(*job.batch, work);
    if (status.ok()) {
      const absl::StatusOr<bool> steps = work.sink->prepare(*job.batch, work);
      status = steps.status();
      if (status.ok() && !*steps) {
        ++job.batch->changes;
        succeed(job);
        return Admission::kEnded;
      }
    }
  }
  if (!status.ok()) work.sink->fail(status);
  return status.ok() ? Admission::kReady : Admission::kEnded;
}

StepBatcher::Admission StepBatcher::take_up(Job& job, const absl::Status& why) {
  const auto& work = std::get<StepWork>(job.work);
  const auto self =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& held) { return held.get() == &job; });
  for (auto next = self + 1; next != waiting_.end(); ++next) {
    if (*next == nullptr || (*next)->batch != job.batch) continue;
    if (const auto* other = std::get_if<StepWork>(&(*next)->work)) {
      if (other->request_id == work.request_id) {
        absl::Status gone = check_same_request(work.request_id, work.request_hash, other->request_hash);
        if (gone.ok()) gone = abandoned((*next)->call, options_.clock());
        if (gone.ok()) {
          job.rests_since = absl::InfiniteFuture();
          job.batch->resting = {};
          return Admission::kReady;
        }
        end_job(**next, gone);  // no repetition, or one that no call waits for either
        continue;
      }
    } else if (std::get<DeviceWork>((*next)->work).effect == Effect::kReads) {
      continue;  // it sees the worlds as they stand
    }
    give_up(job, why);
    return Admission::kEnded;
  }
  if (job.rests_since == absl::InfiniteFuture()) {
    job.rests_since = options_.clock();
    job.batch->resting = {work.request_id, given_up(job)};
  }
  if (!queue_.closed() && options_.clock() < job.rests_since + kMaxRest) return Admission::kResting;
  give_up(job, why);
  return Admission::kEnded;
}

void StepBatcher::give_up(Job& job, const absl::Status& status) {
  auto& work = std::get<StepWork>(job.work);
  job.batch->replays.put(work.request_id,
                         {.memory = nullptr, .refusal = given_up(job), .request_hash = work.request_hash});
  count_replays(*job.batch);
  job.batch->resting = {};
  ++job.batch->changes;
  work.sink->fail(status);
}

bool StepBatcher::should_wait(const std::vector<Job*>& ready, absl::Duration& timeout) const {
  if (options_.max_batch_delay <= absl::ZeroDuration() || queue_.closed()) return false;
  absl::Time oldest = absl::InfiniteFuture();
  for (const Job* job : ready) {
    if (job->begun()) return false;
    oldest = std::min(oldest, job->admitted_at);
  }
  // When every batch has a step waiting, none is left to wait for.
  if (static_cast<std::int64_t>(ready.size()) >= registry_.counts().batches) return false;
  timeout = oldest + options_.max_batch_delay - options_.clock();
  return timeout > absl::ZeroDuration();
}

bool StepBatcher::has_company(const std::vector<Job*>& ready) {
  const absl::Time now = options_.clock();
  for (const Job* job : ready) {
    if (last_batch_ != nullptr && job->batch.get() != last_batch_) company_until_ = now + kCompany;
    last_batch_ = job->batch.get();
  }
  return now < company_until_ || queue_.depth() > 1 + resting_;
}

std::vector<Job*> StepBatcher::choose(const std::vector<Job*>& ready) {
  std::vector<Job*> quick;
  if (!launched_quick_ && options_.max_launch_steps == 0) quick = pacer_.quick(ready);
  launched_quick_ = !quick.empty();
  return launched_quick_ ? quick : ready;
}

void StepBatcher::launch(const std::vector<Job*>& ready) {
  launch_begin_ = options_.clock();
  const std::vector<Portion> portions = pacer_.portions(ready, has_company(ready));
  const Portion fixed{.steps = options_.max_launch_steps, .worlds = options_.max_launch_worlds};
  std::vector<Entry> entries;
  entries.reserve(ready.size());  // stretches refer to themselves
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const Portion& portion = fixed.steps > 0 ? fixed : portions[i];
    if (portion.worlds == 0) continue;
    Job& job = *ready[i];
    const auto& work = std::get<StepWork>(job.work);
    Entry& entry = entries.emplace_back();
    entry.job = &job;
    if (!job.begun()) {
      const std::size_t count = world_count_of(work.world_indices, *job.batch);
      job.answer.time.resize(count), job.answer.step_index.resize(count), job.answer.outcome.resize(count);
      observer_.on_queue_wait(options_.clock() - job.admitted_at);
      for (std::size_t w = 0; w < count; ++w) {
        job.batch->carried_outcome[static_cast<std::size_t>(world_at(work.world_indices, w))] = kConverged;
      }
    }
    plan_stretch(job, portion, entry.stretch);
    entry.answer_written = write_answer(job.answer, entry.stretch);
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
  const absl::Time start = steady_now(), engine_begin = options_.clock();
  const Result<StepStatistics> result = engine_->step(requests);
  if (result.ok()) {
    for (const Entry& entry : entries) {
      JobTimes* times = entry.job->call.times.get();
      if (times != nullptr) times->add({launch_begin_, engine_begin, options_.clock()});
    }
    measure(entries, steady_now() - start, result.value());
  } else if (result.error().code == ErrorCode::kInternal) {
    take_fault(result.error());
    for (Entry& entry : entries) {
      entry.ended = true;
      end_job(*entry.job, fault_);
    }
  } else if (entries.size() == 1) {
    fail(entries.front(), result.error());
  } else {
    // A refusal is of the whole launch and changes nothing: run them one by one, so that it falls on its cause alone.
    for (std::size_t i = 0; i < entries.size(); ++i) step_entries(entries.subspan(i, 1));
  }
}

void StepBatcher::measure(std::span<const Entry> entries, absl::Duration duration, const StepStatistics& statistics) {
  LaunchReport report{.duration = duration, .statistics = statistics};
  std::vector<LaunchPacer::Part> parts;
  for (const Entry& entry : entries) {
    const auto worlds = static_cast<std::int64_t>(entry.stretch.world_count);
    report.worlds += worlds;
    parts.push_back({entry.job->batch.get(), worlds * entry.stretch.step_count});
  }
  pacer_.measured(parts, duration);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    turns_.served(*entries[i].job, parts[i].batch->world_step_cost * static_cast<double>(parts[i].world_steps));
  }
  if (entries.size() == 1) {
    parts.front().batch->world_step_time.store(
        absl::ToDoubleSeconds(duration) / static_cast<double>(parts.front().world_steps), std::memory_order_relaxed);
  }
  observer_.on_launch(report);
}

void StepBatcher::advance(Entry& entry) {
  Job& job = *entry.job;
  const auto& work = std::get<StepWork>(job.work);
  BatchHandle& batch = *job.batch;
  ++batch.changes;
  if (job.steps_done > 0) carry_into_records(batch, work, entry.stretch);
  const absl::Status status = complete_answer(entry);
  if (job.call.times != nullptr) job.call.times->launches.back().end = options_.clock();
  job.worlds_done += entry.stretch.world_count;
  job.pass_steps = entry.stretch.step_count;
  if (job.worlds_done == job.answer.outcome.size()) {
    job.steps_done += job.pass_steps;
    job.pass_steps = 0, job.worlds_done = 0;
  }
  if (!status.ok()) {
    end_job(job, status);
  } else if (job.worlds_done > 0) {
    return;
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
  const std::size_t first = entry.stretch.first_world;
  if (!entry.answer_written) {
    return read_fields(*job.batch, entry.stretch.request.world_indices, views_of(job.answer, first));
  }
  for (std::size_t i = first; i < first + entry.stretch.world_count; ++i) {
    const auto world = static_cast<std::size_t>(world_at(work.world_indices, i));
    job.answer.outcome[i] = combine_outcomes(job.batch->carried_outcome[world], job.answer.outcome[i]);
  }
  return absl::OkStatus();
}

void StepBatcher::answer(Job& job) {
  succeed(job);
  end_job(job, absl::OkStatus());
}

void StepBatcher::succeed(Job& job) {
  auto& work = std::get<StepWork>(job.work);
  registry_.touch(*job.batch, options_.clock());
  auto memory = work.sink->succeed(std::move(job.answer), !work.request_id.empty());
  if (work.request_id.empty()) return;
  if (memory != nullptr) {
    job.batch->replays.put(work.request_id,
                           {.memory = std::move(memory), .refusal = {}, .request_hash = work.request_hash});
  } else {
    job.batch->replays.forget(ReplayCache::hash_of(work.request_id));  // there was no room for the answer
  }
  count_replays(*job.batch);
}

}  // namespace axion::server::schedule
