// Short steps on the threads that submit them: when, and that the device still has one owner at a time.
#include <array>
#include <thread>

#include "tests/server/schedule/fixture.hpp"

namespace axion::server::testing {
namespace {

// Every launch tells where it runs; two at once fail the test.
class LentThread : public ScheduleTest {
 protected:
  void make(schedule::StepBatcherOptions options = {}) {
    prepare_engine = [this](FakeEngine& e) {
      e.before_step = [this] {
        EXPECT_EQ(in_launch.fetch_add(1), 0) << "two threads are in the engine";
        {
          absl::MutexLock lock(&mutex);
          threads.push_back(std::this_thread::get_id());
        }
        if (before_launch) before_launch();
        in_launch.fetch_sub(1);
      };
    };
    // Nothing is too long here for the slow machines that tests run on, unless a test says so.
    if (options.short_step == schedule::StepBatcherOptions().short_step) options.short_step = absl::Minutes(1);
    // Nor is a launch cut for having taken long: the device's thread would run the rest of its steps.
    if (options.max_launch_steps == 0) options.max_launch_steps = 1000;
    make_batcher(std::move(options));
  }

  static schedule::Call lending() {
    schedule::Call call;
    call.lends_thread = true;
    return call;
  }
  std::shared_ptr<Sink> step_lending(const Handle& batch, std::int64_t steps = 1) {
    auto sink = std::make_shared<Sink>();
    EXPECT_TRUE(submit(batch, step_of(sink, steps), lending()).ok());
    return sink;
  }

  std::thread::id last_thread() {
    absl::MutexLock lock(&mutex);
    return threads.back();
  }

  // Steps until one has run on this thread: the device's thread has gone to sleep some time after its last answer.
  bool comes_to_run_here(const Handle& batch) {
    const absl::Time end = absl::Now() + absl::Seconds(240);
    while (absl::Now() < end) {
      EXPECT_TRUE(step_lending(batch)->wait().ok());
      if (last_thread() == std::this_thread::get_id()) return true;
      std::this_thread::yield();
    }
    return false;
  }

  std::function<void()> before_launch;
  std::atomic<int> in_launch{0};
  absl::Mutex mutex;
  std::vector<std::thread::id> threads;
};

TEST_F(LentThread, runs_a_short_step_while_the_device_is_idle) {
  make();
  const Handle a = make_batch(2);
  ASSERT_TRUE(comes_to_run_here(a));
  // The very next one too: nothing woke the device's thread.
  const auto sink = step_lending(a, 3);
  ASSERT_TRUE(sink->done.HasBeenNotified());
  EXPECT_EQ(last_thread(), std::this_thread::get_id());
  EXPECT_EQ(sink->answer.step_index[1], a->engine->step_index(1));
}

TEST_F(LentThread, runs_no_step_of_a_call_that_does_not_lend_it) {
  make();
  const Handle a = make_batch(1);
  ASSERT_TRUE(comes_to_run_here(a));
  EXPECT_TRUE(step(a)->wait().ok());
  EXPECT_NE(last_thread(), std::this_thread::get_id());
}

TEST_F(LentThread, runs_no_long_step) {
  make({.short_step = absl::Nanoseconds(1)});
  const Handle a = make_batch(1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(step_lending(a)->wait().ok());
    EXPECT_NE(last_thread(), std::this_thread::get_id());
  }
}

TEST_F(LentThread, runs_no_first_step_of_a_batch_as_nobody_knows_how_long_it_is) {
  make();
  const Handle measured = make_batch(1), unknown = make_batch(1);
  ASSERT_TRUE(comes_to_run_here(measured));
  EXPECT_TRUE(step_lending(unknown)->wait().ok());
  EXPECT_NE(last_thread(), std::this_thread::get_id());
}

TEST_F(LentThread, runs_no_step_where_launches_wait_for_each_other) {
  make({.max_batch_delay = absl::Nanoseconds(1)});
  const Handle a = make_batch(1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(step_lending(a)->wait().ok());
    EXPECT_NE(last_thread(), std::this_thread::get_id());
  }
}

TEST_F(LentThread, leaves_the_rest_of_a_step_that_is_cut_to_the_devices_thread) {
  make({.max_launch_steps = 2});
  const Handle a = make_batch(1);
  ASSERT_TRUE(comes_to_run_here(a));
  const std::int64_t before = a->engine->step_index(0);
  const auto cut = step_lending(a, 7);
  ASSERT_TRUE(cut->done.WaitForNotificationWithTimeout(absl::Seconds(30)));
  EXPECT_NE(last_thread(), std::this_thread::get_id());
  const auto next = step_lending(a);
  EXPECT_TRUE(next->wait().ok());
  EXPECT_EQ(cut->answer.step_index[0], before + 7);
  EXPECT_EQ(next->answer.step_index[0], before + 8);
}

// Holds a step of `batch` in the engine on a thread of its own, which has lent itself.
class HeldStep {
 public:
  HeldStep(std::function<void()>& before_launch, const std::function<void()>& submit) {
    before_launch = [this] {
      if (!first_.exchange(false)) return;
      entered_.Notify();
      open_.WaitForNotification();
    };
    thread_ = std::thread(submit);
    entered_.WaitForNotification();
  }
  ~HeldStep() { finish(); }
  std::thread::id thread() const { return thread_.get_id(); }
  void finish() {
    if (!open_.HasBeenNotified()) open_.Notify();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> first_{true};
  absl::Notification entered_, open_;
  std::thread thread_;
};

TEST_F(LentThread, is_not_taken_while_another_runs_a_step_and_what_came_meanwhile_shares_a_launch) {
  make();
  const Handle a = make_batch(1), b = make_batch(1);
  ASSERT_TRUE(comes_to_run_here(a));
  ASSERT_TRUE(comes_to_run_here(b));
  std::shared_ptr<Sink> held;
  HeldStep owner(before_launch, [&] { held = step_lending(a); });
  const std::thread::id lent = owner.thread();
  EXPECT_EQ(last_thread(), lent);
  // Nobody runs these now; in particular not this thread, which would wait for ever.
  const auto of_a = step_lending(a), of_b = step_lending(b);
  EXPECT_FALSE(of_a->done.HasBeenNotified());
  EXPECT_FALSE(of_b->done.HasBeenNotified());
  owner.finish();
  ASSERT_TRUE(held->done.HasBeenNotified());
  EXPECT_TRUE(of_a->wait().ok());
  EXPECT_TRUE(of_b->wait().ok());
  EXPECT_EQ(of_a->answer.step_index[0], held->answer.step_index[0] + 1);
  EXPECT_EQ(engine->launches().back().parts.size(), 2u);
  EXPECT_NE(last_thread(), lent);
  EXPECT_NE(last_thread(), std::this_thread::get_id());
}

TEST_F(LentThread, is_waited_for_by_a_drain) {
  make();
  const Handle a = make_batch(1);
  ASSERT_TRUE(comes_to_run_here(a));
  std::shared_ptr<Sink> held;
  HeldStep owner(before_launch, [&] { held = step_lending(a); });
  batcher->close();
  EXPECT_EQ(submit(a, step_of(std::make_shared<Sink>()), lending()).code(), absl::StatusCode::kUnavailable);
  absl::Notification drained;
  std::thread drain([&] {
    EXPECT_TRUE(batcher->drain(absl::InfiniteDuration()));
    drained.Notify();
  });
  EXPECT_FALSE(drained.HasBeenNotified());
  EXPECT_EQ(registry.counts().batches, 1) << "destroyed while it steps";
  owner.finish();
  drain.join();
  EXPECT_TRUE(held->wait().ok());
  EXPECT_EQ(registry.counts().batches, 0);
}

TEST_F(LentThread, keeps_the_devices_thread_from_no_look_at_the_leases) {
  make();
  Handle held = make_batch(2, absl::Seconds(10));
  const Handle a = make_batch(1);
  ASSERT_TRUE(comes_to_run_here(a));
  advance(absl::Seconds(11));
  // It sees that one has run out, but is held, and so goes on to look.
  ASSERT_TRUE(on_device(nullptr, [](Engine&, schedule::BatchHandle*) { return absl::OkStatus(); }).ok());
  EXPECT_EQ(registry.counts().batches, 2);
  held.reset();
  const absl::Time end = absl::Now() + absl::Seconds(240);
  while (registry.counts().batches > 1 && absl::Now() < end) EXPECT_TRUE(step_lending(a)->wait().ok());
  EXPECT_EQ(registry.counts().batches, 1);
}

TEST_F(LentThread, of_many_callers_gives_every_batch_its_own_trajectory_in_order) {
  make();
  constexpr int kCallers = 4, kSteps = 300;
  const Handle alone = make_batch(1);
  for (int i = 0; i < kSteps; ++i) ASSERT_TRUE(step(alone)->wait().ok());
  std::vector<Handle> batches;
  for (int c = 0; c < kCallers; ++c) batches.push_back(make_batch(1));
  std::vector<std::thread> callers;
  for (const Handle& batch : batches) {
    callers.emplace_back([&, batch] {
      for (int i = 1; i <= kSteps; ++i) {
        const auto sink = step_lending(batch);
        ASSERT_TRUE(sink->wait().ok());
        ASSERT_EQ(sink->answer.step_index[0], i);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const Handle& batch : batches) {
    EXPECT_EQ(static_cast<FakeBatch&>(*batch->engine).worlds[0].x, static_cast<FakeBatch&>(*alone->engine).worlds[0].x);
  }
}

}  // namespace
}  // namespace axion::server::testing
