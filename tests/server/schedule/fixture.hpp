// What tests of the scheduler share: a batcher over a fake engine, a clock that is set by hand, sinks that remember.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

#include "server/schedule/failure.hpp"
#include "server/schedule/pass.hpp"
#include "server/schedule/step_batcher.hpp"
#include "server/schedule/world_work.hpp"
#include "tests/server/fake_engine.hpp"

namespace axion::server::testing {

// All passes at once.
inline absl::Status do_all(Engine& engine, std::span<const schedule::Pass> passes) {
  for (const schedule::Pass& pass : passes) {
    if (absl::Status status = pass.run(engine, 0, pass.count); !status.ok()) return status;
  }
  return absl::OkStatus();
}

class RecordingObserver final : public schedule::Observer {
 public:
  void on_launch(const schedule::LaunchReport& report) override {
    absl::MutexLock lock(&mutex);
    launched_worlds.push_back(report.worlds);
  }
  void on_queue_wait(absl::Duration) override {}
  void on_queue_depth(std::int64_t) override {}
  void on_resources(const schedule::ResourceCounts& value) override {
    absl::MutexLock lock(&mutex);
    counts = value;
  }
  void on_device_memory(std::int64_t, std::int64_t) override {}
  void on_event(const std::string&) override {}

  absl::Mutex mutex;
  std::vector<std::int64_t> launched_worlds;
  schedule::ResourceCounts counts;
};

struct Answer final : schedule::StepMemory {
  schedule::StepAnswer value;
  std::size_t bytes() const override { return 100; }
};

// Keeps what a step was answered with.
class Sink final : public schedule::StepSink {
 public:
  std::shared_ptr<const schedule::StepMemory> succeed(schedule::StepAnswer given, bool remember) override {
    auto memory = std::make_shared<Answer>();
    memory->value = given;
    answer = std::move(given);
    end(absl::OkStatus());
    return remember ? memory : nullptr;
  }
  void replay(const schedule::StepMemory& memory) override {
    answer = static_cast<const Answer&>(memory).value;
    replayed = true;
    end(absl::OkStatus());
  }
  void fail(const absl::Status& given) override { end(given); }
  const absl::Status& wait() {
    done.WaitForNotification();
    return status;
  }

  absl::Notification done;
  absl::Status status;
  schedule::StepAnswer answer;
  bool replayed = false;
  std::function<void()> on_end;

 private:
  void end(const absl::Status& given) {
    status = given;
    if (on_end) on_end();
    done.Notify();
  }
};

// Holds the device's thread in its next launch.
class Gate {
 public:
  explicit Gate(FakeEngine& engine) {
    engine.before_step = [this] {
      if (!closed_.exchange(false)) return;
      entered_.Notify();
      open_.WaitForNotification();
    };
  }
  void wait_until_held() { entered_.WaitForNotification(); }
  void open() { open_.Notify(); }

 private:
  std::atomic<bool> closed_{true};
  absl::Notification entered_, open_;
};

class ScheduleTest : public ::testing::Test {
 protected:
  using Handle = std::shared_ptr<schedule::BatchHandle>;
  const schedule::Tenant anyone{};

  void TearDown() override { batcher.reset(); }

  void make_batcher(schedule::StepBatcherOptions options = {}) {
    auto owned = std::make_unique<FakeEngine>();
    engine = owned.get();
    if (prepare_engine) prepare_engine(*engine);
    options.clock = [this] { return now(); };
    batcher = std::make_unique<schedule::StepBatcher>(std::move(owned), registry, observer, options);
    record = *registry.add_model(anyone, {.scene = "content", .warnings = {}}, std::make_shared<FakeModel>(), now());
  }

  absl::Time now() {
    absl::MutexLock lock(&clock_mutex);
    return clock;
  }
  void advance(absl::Duration duration) {
    absl::MutexLock lock(&clock_mutex);
    clock += duration;
  }

  // Runs on the device's thread and waits for it.
  absl::Status on_device(Handle batch, std::function<absl::Status(Engine&, schedule::BatchHandle*)> work,
                         schedule::Call call = {}) {
    absl::Notification done;
    absl::Status status;
    auto job = std::make_unique<schedule::Job>();
    job->call = std::move(call);
    job->batch = batch;
    job->work = schedule::DeviceWork{.passes = {schedule::whole([&](Engine& e) { return work(e, batch.get()); })},
                                     .finish = [&](const absl::Status& s) {
                                       status = s;
                                       done.Notify();
                                     }};
    if (absl::Status submitted = batcher->submit(std::move(job)); !submitted.ok()) return submitted;
    done.WaitForNotification();
    return status;
  }

  Handle make_batch(int worlds, absl::Duration idle_ttl = absl::Hours(1), schedule::InitialNoise noise = {}) {
    auto handle = std::make_shared<schedule::BatchHandle>();
    handle->reservation = *registry.reserve_worlds(anyone, worlds);
    handle->info.model_name = record->name;
    handle->info.model = record->model;
    handle->info.world_count = worlds;
    handle->info.idle_ttl = idle_ttl;
    handle->info.noise = noise;
    EXPECT_TRUE(on_device(nullptr, [&](Engine& e, schedule::BatchHandle*) {
                  handle->engine = std::move(e.create_batch({record->model, worlds, 0.01, {}, {}})).value();
                  handle->carried_outcome.assign(static_cast<std::size_t>(worlds), kConverged);
                  handle->info.fields = schedule::field_shapes(*handle->engine);
                  return registry.add_batch(handle, now());
                }).ok());
    return handle;
  }

  // A step of all worlds with held controls (0.5, 0.5).
  schedule::StepWork step_of(const std::shared_ptr<Sink>& sink, std::int64_t steps = 1) {
    schedule::StepWork work;
    work.step_count = steps;
    work.sink = sink;
    work.control = {reinterpret_cast<const std::byte*>(held.data()), DType::kFloat64, 0, 0};
    return work;
  }
  absl::Status submit(Handle batch, schedule::StepWork work, schedule::Call call = {}) {
    auto job = std::make_unique<schedule::Job>();
    job->batch = std::move(batch);
    job->work = std::move(work);
    job->call = std::move(call);
    return batcher->submit(std::move(job));
  }
  std::shared_ptr<Sink> step(const Handle& batch, std::int64_t steps = 1) {
    auto sink = std::make_shared<Sink>();
    EXPECT_TRUE(submit(batch, step_of(sink, steps)).ok());
    return sink;
  }

  const std::array<double, 2> held{0.5, 0.5};
  absl::Mutex clock_mutex;
  absl::Time clock = absl::UnixEpoch() + absl::Hours(1);
  RecordingObserver observer;
  schedule::Limits limits{.max_worlds = 100, .max_models = 3};
  schedule::Registry registry{limits, observer, 12345};
  std::function<void(FakeEngine&)> prepare_engine;
  FakeEngine* engine = nullptr;
  std::unique_ptr<schedule::StepBatcher> batcher;
  std::shared_ptr<const schedule::ModelRecord> record;
};

}  // namespace axion::server::testing
