#include "server/rpc/checkpoints.hpp"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "spdlog/spdlog.h"

#include "server/observe/logging.hpp"
#include "server/rpc/scene_conversion.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/world_work.hpp"

namespace axion::server::rpc {
namespace {

// How long a pass waits for batches that are in the middle of long requests, all together, and for each one after that:
// hundreds of them are not to hold up the others. Who was waited for once is written by the pass that finds it read.
constexpr absl::Duration kReadPatience = absl::Seconds(1), kLeastPatience = absl::Milliseconds(100);

std::string logged(const absl::Status& status) { return observe::log_text(std::string(status.message())); }

}  // namespace

Checkpoints::Checkpoints(store::Store& store, schedule::Registry& registry, observe::Metrics& metrics,
                         std::shared_ptr<schedule::MemoryBudget> memory)
    : store_(store), registry_(registry), metrics_(metrics), memory_(std::move(memory)) {}

void Checkpoints::restore_all(schedule::StepBatcher& batcher) {
  const absl::Time start = absl::Now();
  std::size_t restored[2] = {0, 0};
  for (const store::Kind kind : {store::Kind::kModel, store::Kind::kBatch}) {
    auto items = store_.list(kind, nullptr, 0, SIZE_MAX);
    if (!items.ok()) {
      spdlog::error("event=restore_failed reason={}", logged(items.status()));
      return;
    }
    for (const store::Item& listed : *items) {
      auto item = store_.get(kind, listed.tenant, listed.name);
      absl::Status status = item.status();
      if (status.ok()) status = kind == store::Kind::kModel ? restore_model(*item) : restore_batch(*item, batcher);
      if (status.ok()) {
        ++restored[kind == store::Kind::kModel ? 0 : 1];
      } else {
        unrestored_.insert(listed.name);
        spdlog::error("event=restore_failed name={} reason={}", absl::CEscape(listed.name), logged(status));
      }
    }
  }
  restored_ = true;
  metrics_.on_restore(restored[1], unrestored_.size());
  spdlog::info("event=restored models={} batches={} failed={} ended_well={} duration_ms={:.1f}", restored[0],
               restored[1], unrestored_.size(), store_.ended_well(), absl::ToDoubleMilliseconds(absl::Now() - start));
}

absl::Status Checkpoints::restore_model(const store::Item& item) {
  v1::StoredModel stored;
  if (item.parts.size() != 1 || !stored.ParseFromString(item.parts.front())) {
    return absl::DataLossError("its description cannot be read");
  }
  schedule::MemoryHold uncounted;  // what was there when the server ended is there again
  auto found = of_stored(stored, uncounted);
  if (!found.ok()) return found.status();
  auto model = compile_model(found->scene);
  if (!model.ok()) return schedule::from_engine(model.error(), "scene");
  schedule::MemoryHold memory(memory_, {.name = item.tenant});
  v1::Model description;
  fill_model({item.name, model.value(), {}, item.create_time}, description);
  absl::Status status = memory.grow(model_bytes(description, found->content), "the model");
  if (!status.ok()) return status;
  status = registry_.restore_model(item.tenant, item.name, std::move(found->content), std::move(model).value(),
                                   item.create_time, std::move(memory));
  absl::MutexLock lock(&mutex_);
  if (status.ok()) saved_models_.insert(item.name);
  return status;
}

absl::Status Checkpoints::restore_batch(const store::Item& item, schedule::StepBatcher& batcher) {
  schedule::MemoryHold uncounted;
  auto saved = of_parts(item.parts, uncounted);
  if (!saved.ok()) return saved.status();
  const auto model = registry_.find_model({.name = item.tenant}, "model", saved->head.model_name());
  if (!model.ok()) return model.status();
  auto handle = handle_of(saved->head, **model, item.tenant, schedule::MemoryHold(memory_, {.name = item.tenant}));
  if (!handle.ok()) return handle.status();
  schedule::BatchHandle& batch = **handle;
  batch.info.name = item.name;
  batch.info.request_id = saved->head.request_id();
  batch.info.request_hash = saved->head.request_hash();
  batch.info.create_time = item.create_time;
  // Runs of a server are numbered upwards, so a number is never taken twice.
  batch.info.incarnation = store_.ended_well() ? saved->head.incarnation() : static_cast<std::int64_t>(store_.run());
  batch.reservation = registry_.restore_worlds(item.tenant, batch.info.world_count);

  absl::Status status;
  absl::Notification done;
  auto job = std::make_unique<schedule::Job>();
  auto passes = remake_passes(*handle, std::make_shared<const SavedBatch>(*std::move(saved)), "state");
  passes.push_back(schedule::whole([&](Engine&) { return registry_.add_batch(*handle, batcher.now()); }));
  job->work = schedule::DeviceWork{.passes = std::move(passes), .finish = [&](const absl::Status& made) {
                                     status = made;
                                     if (!made.ok()) batch.engine.reset();
                                     done.Notify();
                                   }};
  if (absl::Status submitted = batcher.submit(std::move(job)); !submitted.ok()) return submitted;
  done.WaitForNotification();
  return status;
}

absl::Status Checkpoints::save_models() {
  absl::flat_hash_set<std::string> live;
  for (const auto& model : registry_.all_models()) {
    live.insert(model->name);
    absl::MutexLock lock(&mutex_);
    if (saved_models_.contains(model->name) || !registry_.has_model(model->name)) continue;
    store::Item item{.kind = store::Kind::kModel,
                     .name = model->name,
                     .tenant = model->tenant,
                     .create_time = model->create_time,
                     .summary = "",
                     .parts = {to_stored(*model).SerializeAsString()}};
    if (absl::Status status = store_.put(item); !status.ok()) return status;
    saved_models_.insert(model->name);
  }
  return sweep(store::Kind::kModel, live);
}

void Checkpoints::save_all(schedule::StepBatcher& batcher) {
  if (!restored_) return;
  const absl::Time start = absl::Now();
  absl::flat_hash_set<std::string> live;
  std::vector<std::weak_ptr<schedule::BatchHandle>> batches;  // a lease ends only where nothing holds the batch
  for (auto& batch : registry_.all_batches()) {
    live.insert(batch->info.name);
    batches.push_back(batch);
  }
  absl::Status status = sweep(store::Kind::kBatch, live);  // what has gone makes room
  status.Update(save_models());  // after the batches were listed, so that none is saved without its model
  absl::Duration patience = kReadPatience;
  std::vector<std::string> late;
  for (const auto& weak : batches) {
    if (stopping_.is_set()) break;
    std::string name;
    bool waited_for = false;
    {
      const auto batch = weak.lock();
      if (batch == nullptr) continue;
      name = batch->info.name;
      auto& reading = readings_[name];
      waited_for = reading != nullptr;
      if (reading == nullptr) reading = read(batch, batcher);
    }
    const std::shared_ptr<Reading> reading = readings_[name];
    const absl::Duration wait = waited_for ? absl::ZeroDuration() : std::max(patience, kLeastPatience);
    if (reading == nullptr || !reading->done.WaitForNotificationWithTimeout(wait)) {
      late.push_back(name);
      if (reading != nullptr) patience -= wait;
      continue;
    }
    readings_.erase(name);
    status.Update(write(name, *reading, false));  // each by itself: what fits is kept
  }
  absl::erase_if(readings_, [&](const auto& item) { return !live.contains(item.first); });
  if (!stopping_.is_set()) report(status, late, absl::Now() - start);
}

std::shared_ptr<Checkpoints::Reading> Checkpoints::read(const std::shared_ptr<schedule::BatchHandle>& batch,
                                                        schedule::StepBatcher& batcher) {
  auto reading = std::make_shared<Reading>();
  reading->tenant = batch->info.tenant;
  std::uint64_t written = 0;
  bool known = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = saved_changes_.find(batch->info.name);
    known = it != saved_changes_.end();
    written = known ? it->second : 0;
  }
  auto job = std::make_unique<schedule::Job>();
  job->batch = batch;
  const auto saved = std::make_shared<SavedBatch>();
  std::vector<schedule::Pass> passes{schedule::whole([reading, batch, written, known](Engine&) {
    reading->changes = batch->changes;
    reading->unchanged = known && batch->changes == written;
    return absl::OkStatus();
  })};
  for (schedule::Pass& pass : save_passes(batch, saved)) {
    pass.run = [reading, run = std::move(pass.run)](Engine& engine, std::size_t first, std::size_t last) {
      return reading->unchanged ? absl::OkStatus() : run(engine, first, last);
    };
    passes.push_back(std::move(pass));
  }
  const auto finish = [reading, saved](const absl::Status& status) {
    if (status.ok()) {
      reading->saved = std::move(*saved);
    } else {
      reading->saved = status;
    }
    reading->done.Notify();
  };
  job->work = schedule::DeviceWork{
      .effect = schedule::Effect::kReads, .renews_lease = false, .passes = std::move(passes), .finish = finish};
  return batcher.submit(std::move(job)).ok() ? reading : nullptr;
}

absl::Status Checkpoints::write(const std::string& name, const Reading& reading, bool at_end) {
  if (reading.unchanged) return absl::OkStatus();
  if (!at_end && !registry_.has_batch(name)) return absl::OkStatus();
  if (!reading.saved.ok()) return reading.saved.status();
  store::Item item{.kind = store::Kind::kBatch,
                   .name = name,
                   .tenant = reading.tenant,
                   .create_time = absl::FromUnixSeconds(reading.saved->head.create_time().seconds()) +
                                  absl::Nanoseconds(reading.saved->head.create_time().nanos()),
                   .summary = "",
                   .parts = to_parts(*reading.saved)};
  absl::MutexLock lock(&mutex_);
  if (!at_end && !registry_.has_batch(name)) return absl::OkStatus();
  absl::Status status = store_.put(item);
  if (status.ok()) saved_changes_[name] = reading.changes;
  return status;
}

absl::Status Checkpoints::sweep(store::Kind kind, const absl::flat_hash_set<std::string>& live) {
  const auto items = store_.list(kind, nullptr, 0, SIZE_MAX);
  if (!items.ok()) return items.status();
  for (const store::Item& item : *items) {
    if (live.contains(item.name) || unrestored_.contains(item.name)) continue;
    absl::MutexLock lock(&mutex_);
    // What an unrestored batch is made of stays with it.
    if (kind == store::Kind::kModel && !unrestored_.empty()) continue;
    if (absl::Status status = store_.remove(kind, item.tenant, item.name);
        !status.ok() && status.code() != absl::StatusCode::kNotFound) {
      return status;
    }
    saved_changes_.erase(item.name);
    saved_models_.erase(item.name);
  }
  return absl::OkStatus();
}

void Checkpoints::save_at_end(std::span<const std::shared_ptr<schedule::BatchHandle>> batches) {
  if (!restored_) return;
  const absl::Time start = absl::Now();
  absl::Status status = save_models();
  absl::flat_hash_set<std::string> live;
  for (const auto& batch : batches) {
    const std::string& name = batch->info.name;
    live.insert(name);
    Reading reading;
    reading.tenant = batch->info.tenant;
    reading.changes = batch->changes;
    {
      absl::MutexLock lock(&mutex_);
      const auto it = saved_changes_.find(name);
      reading.unchanged = it != saved_changes_.end() && it->second == batch->changes;
    }
    if (!reading.unchanged) reading.saved = save_batch(*batch);
    status.Update(write(name, reading, true));  // each by itself: what fits is kept
  }
  if (status.ok()) status = sweep(store::Kind::kBatch, live);
  if (status.ok()) status = store_.end_well();
  report(status, {}, absl::Now() - start);
  spdlog::info("event=saved_at_end batches={} ok={} duration_ms={:.1f}", batches.size(), status.ok(),
               absl::ToDoubleMilliseconds(absl::Now() - start));
}

void Checkpoints::forget_batch(const std::string& tenant, const std::string& name) {
  absl::MutexLock lock(&mutex_);
  const absl::Status status = store_.remove(store::Kind::kBatch, tenant, name);
  saved_changes_.erase(name);
  if (!status.ok() && status.code() != absl::StatusCode::kNotFound) {
    spdlog::error("event=checkpoint_failed name={} reason={}", name, logged(status));
  }
}

void Checkpoints::forget_model(const std::string& tenant, const std::string& name) {
  absl::MutexLock lock(&mutex_);
  const absl::Status status = store_.remove(store::Kind::kModel, tenant, name);
  saved_models_.erase(name);
  if (!status.ok() && status.code() != absl::StatusCode::kNotFound) {
    spdlog::error("event=checkpoint_failed name={} reason={}", name, logged(status));
  }
}

void Checkpoints::report(const absl::Status& status, const std::vector<std::string>& late, absl::Duration duration) {
  using Outcome = observe::CheckpointOutcome;
  const Outcome saved = late.empty() ? Outcome::kWhole : Outcome::kLacksBatches;
  metrics_.on_checkpoint(status.ok() ? saved : Outcome::kFailed, absl::Now(), duration);
  if (!status.ok()) spdlog::error("event=checkpoint_failed reason={}", logged(status));
  if (!late.empty()) spdlog::warn("event=checkpoint_lacks batches={} first={}", late.size(), late.front());
}

}  // namespace axion::server::rpc
