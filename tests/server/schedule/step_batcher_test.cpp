#include "tests/server/schedule/fixture.hpp"

namespace axion::server::testing {
namespace {

using StepBatcher = ScheduleTest;

TEST_F(StepBatcher, waiting_steps_of_several_batches_share_one_launch) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher();
  // The first is a batch of its own: as long as the gate holds it, so dear its worlds are thought to be.
  const Handle held = make_batch(1), a = make_batch(2), b = make_batch(3), c = make_batch(4);
  const auto first = step(held);
  gate->wait_until_held();
  const auto of_a = step(a), of_b = step(b), of_c = step(c);
  gate->open();
  for (const auto& sink : {first, of_a, of_b, of_c}) EXPECT_TRUE(sink->wait().ok());
  const auto launches = engine->launches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].parts.size(), 1u);
  EXPECT_EQ(launches[1].parts.size(), 3u);
  absl::MutexLock lock(&observer.mutex);
  EXPECT_EQ(observer.launched_worlds, (std::vector<std::int64_t>{1, 9}));
}

TEST_F(StepBatcher, a_quick_step_has_a_launch_before_one_that_fills_a_slice_and_then_that_goes_on) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher();
  const Handle first = make_batch(1), quick = make_batch(2), greedy = make_batch(50);
  const auto blocker = step(first);
  gate->wait_until_held();
  quick->world_step_cost = 1e-5, greedy->world_step_cost = 1;
  const auto of_greedy = step(greedy, 2), of_quick = step(quick);
  gate->open();
  for (const auto& sink : {blocker, of_greedy, of_quick}) EXPECT_TRUE(sink->wait().ok());
  const auto launches = engine->launches();
  ASSERT_GE(launches.size(), 3u);
  ASSERT_EQ(launches[1].parts.size(), 1u);
  EXPECT_EQ(launches[1].parts[0].first, quick->engine.get());
  ASSERT_EQ(launches[2].parts.size(), 1u);
  EXPECT_EQ(launches[2].parts[0].first, greedy->engine.get());
}

TEST_F(StepBatcher, quick_steps_that_keep_coming_leave_every_other_launch_to_all) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher();
  const Handle first = make_batch(1), quick = make_batch(2), greedy = make_batch(50);
  const auto blocker = step(first);
  gate->wait_until_held();
  quick->world_step_cost = 1e-6, greedy->world_step_cost = 1;
  const auto of_greedy = step(greedy, 1);
  std::vector<std::shared_ptr<Sink>> steps;
  for (int k = 0; k < 4; ++k) steps.push_back(step(quick));
  gate->open();
  for (const auto& sink : steps) EXPECT_TRUE(sink->wait().ok());
  EXPECT_TRUE(of_greedy->wait().ok());
  const auto launches = engine->launches();
  ASSERT_GE(launches.size(), 5u);
  EXPECT_EQ(launches[1].parts.size(), 1u);
  EXPECT_EQ(launches[2].parts.size(), 2u);
}

TEST_F(StepBatcher, jobs_of_one_batch_run_in_the_order_of_submission) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher();
  const Handle a = make_batch(1), other = make_batch(1);
  const auto blocker = step(other);
  gate->wait_until_held();
  std::vector<int> order;
  std::vector<std::shared_ptr<Sink>> sinks;
  for (int i = 0; i < 4; ++i) {
    sinks.push_back(std::make_shared<Sink>());
    sinks.back()->on_end = [&order, i] { order.push_back(i); };
    ASSERT_TRUE(submit(a, step_of(sinks.back())).ok());
  }
  gate->open();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(sinks[static_cast<std::size_t>(i)]->wait().ok());
    EXPECT_EQ(sinks[static_cast<std::size_t>(i)]->answer.step_index[0], i + 1);
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(StepBatcher, a_query_sees_the_steps_submitted_before_it_and_none_after) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher({.max_launch_steps = 2});
  const Handle a = make_batch(1);
  const auto before = step(a, 5);
  gate->wait_until_held();
  absl::Notification looked;
  std::int64_t seen = -1;
  auto job = std::make_unique<schedule::Job>();
  job->batch = a;
  job->work = schedule::DeviceWork{.passes = {schedule::whole([&](Engine&) {
                                     seen = a->engine->step_index(0);
                                     return absl::OkStatus();
                                   })},
                                   .finish = [&](const absl::Status&) { looked.Notify(); }};
  ASSERT_TRUE(batcher->submit(std::move(job)).ok());
  const auto after = step(a);
  gate->open();
  looked.WaitForNotification();
  EXPECT_EQ(seen, 5);
  EXPECT_TRUE(after->wait().ok());
}

TEST_F(StepBatcher, a_short_step_is_not_held_up_by_a_long_one) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher({.max_launch_steps = 2});
  const Handle a = make_batch(1), b = make_batch(1);
  const auto longer = step(a, 100);
  gate->wait_until_held();
  auto quick = std::make_shared<Sink>();
  bool long_was_done = true;
  quick->on_end = [&] { long_was_done = longer->done.HasBeenNotified(); };
  ASSERT_TRUE(submit(b, step_of(quick)).ok());
  gate->open();
  EXPECT_TRUE(quick->wait().ok());
  EXPECT_FALSE(long_was_done);
  EXPECT_TRUE(longer->wait().ok());
  EXPECT_EQ(longer->answer.step_index[0], 100);
}

TEST_F(StepBatcher, a_full_queue_refuses_and_says_when_to_retry) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher({.max_queue = 2});
  const Handle a = make_batch(1);
  const auto held_step = step(a);
  gate->wait_until_held();
  const auto waiting = step(a);
  auto sink = std::make_shared<Sink>();
  const absl::Status refused = submit(a, step_of(sink));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  const auto details = schedule::details_of(refused);
  EXPECT_EQ(details.reason, schedule::reason::kQueueFull);
  EXPECT_EQ(details.quota_subject, "max_queue");
  EXPECT_GT(details.retry_delay, absl::ZeroDuration());
  EXPECT_FALSE(sink->done.HasBeenNotified());
  gate->open();
  EXPECT_TRUE(waiting->wait().ok());
}

TEST_F(StepBatcher, a_cancelled_or_late_step_is_not_launched) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher();
  const Handle a = make_batch(1), b = make_batch(1), c = make_batch(1);
  const auto held_step = step(a);
  gate->wait_until_held();
  auto flag = std::make_shared<schedule::CancelFlag>();
  auto cancelled = std::make_shared<Sink>(), late = std::make_shared<Sink>();
  ASSERT_TRUE(submit(b, step_of(cancelled), {.deadline = absl::InfiniteFuture(), .cancel = flag}).ok());
  ASSERT_TRUE(submit(c, step_of(late), {.deadline = now() + absl::Seconds(1), .cancel = nullptr}).ok());
  flag->set();
  advance(absl::Seconds(2));
  gate->open();
  EXPECT_EQ(cancelled->wait().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(late->wait().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(engine->launches().size(), 1u);
}

TEST_F(StepBatcher, a_cancelled_step_behind_another_gives_its_place_back_at_once) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher({.max_launch_steps = 1});
  const Handle a = make_batch(1);
  const auto longer = step(a, 100);
  gate->wait_until_held();
  auto flag = std::make_shared<schedule::CancelFlag>();
  auto cancelled = std::make_shared<Sink>();
  bool long_was_done = true;
  cancelled->on_end = [&] { long_was_done = longer->done.HasBeenNotified(); };
  ASSERT_TRUE(submit(a, step_of(cancelled), {.deadline = absl::InfiniteFuture(), .cancel = flag}).ok());
  flag->set();
  gate->open();
  EXPECT_EQ(cancelled->wait().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(long_was_done);
  EXPECT_TRUE(longer->wait().ok());
  EXPECT_EQ(longer->answer.step_index[0], 100);
}

TEST_F(StepBatcher, a_fault_of_the_device_ends_all_work_once_and_saves_nothing) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  int faults = 0;
  bool saved = false;
  make_batcher({.at_end = [&](auto) { saved = true; }, .on_fault = [&](const std::string&) { ++faults; }});
  const Handle a = make_batch(1), b = make_batch(1);
  const auto first = step(a);
  gate->wait_until_held();
  const auto waiting = step(a), other = step(b);
  engine->failed = true;
  gate->open();
  for (const auto& sink : {first, waiting, other}) {
    const absl::Status status = sink->wait();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(schedule::details_of(status).reason, schedule::reason::kDeviceFault);
  }
  EXPECT_EQ(submit(a, step_of(std::make_shared<Sink>())).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(batcher->drain(absl::InfiniteDuration()));
  EXPECT_EQ(faults, 1);
  EXPECT_FALSE(saved);
}

TEST_F(StepBatcher, a_repeated_request_id_gets_the_first_answer_and_steps_nothing) {
  make_batcher();
  const Handle a = make_batch(2);
  std::vector<std::shared_ptr<Sink>> sinks;
  for (const char* id : {"one", "two", "one"}) {
    sinks.push_back(std::make_shared<Sink>());
    auto work = step_of(sinks.back(), 3);
    work.request_id = id;
    ASSERT_TRUE(submit(a, std::move(work)).ok());
    ASSERT_TRUE(sinks.back()->wait().ok());
  }
  EXPECT_FALSE(sinks[1]->replayed);
  EXPECT_TRUE(sinks[2]->replayed);
  EXPECT_EQ(sinks[2]->answer.step_index, sinks[0]->answer.step_index);
  EXPECT_EQ(step(a)->wait(), absl::OkStatus());
  EXPECT_EQ(sinks[1]->answer.step_index[0], 6);
}

TEST_F(StepBatcher, a_request_id_with_another_request_is_refused_and_steps_nothing) {
  make_batcher();
  const Handle a = make_batch(1);
  const auto ask = [&](std::uint64_t hash) {
    auto sink = std::make_shared<Sink>();
    auto work = step_of(sink, 3);
    work.request_id = "one";
    work.request_hash = hash;
    EXPECT_TRUE(submit(a, std::move(work)).ok());
    EXPECT_EQ(sink->wait(), sink->status);
    return sink;
  };
  EXPECT_TRUE(ask(7)->status.ok());
  const auto other = ask(8);
  EXPECT_EQ(other->status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(schedule::details_of(other->status).field, "request_id");
  EXPECT_TRUE(ask(7)->replayed);
  EXPECT_TRUE(ask(0)->replayed) << "of one that is not known nothing can be said";
  const auto next = step(a);
  EXPECT_TRUE(next->wait().ok());
  EXPECT_EQ(next->answer.step_index[0], 4);
}

TEST_F(StepBatcher, an_expected_step_that_does_not_match_aborts_and_changes_nothing) {
  make_batcher();
  const Handle a = make_batch(1);
  ASSERT_TRUE(step(a, 2)->wait().ok());
  auto sink = std::make_shared<Sink>();
  auto work = step_of(sink);
  work.expected_step = 1;
  ASSERT_TRUE(submit(a, work).ok());
  EXPECT_EQ(sink->wait().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(schedule::details_of(sink->status).field, "expected_step");
  const auto right = std::make_shared<Sink>();
  work.expected_step = 2;
  work.sink = right;
  ASSERT_TRUE(submit(a, work).ok());
  EXPECT_TRUE(right->wait().ok());
  EXPECT_EQ(right->answer.step_index[0], 3);
}

TEST_F(StepBatcher, a_refusal_of_the_engine_falls_on_its_cause_alone) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher();
  const Handle a = make_batch(1), b = make_batch(1), c = make_batch(1);
  const auto held_step = step(a);
  gate->wait_until_held();
  const auto good = step(b), bad = step(c);
  engine->refused = c->engine.get();
  gate->open();
  EXPECT_TRUE(good->wait().ok());
  EXPECT_EQ(bad->wait().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(good->answer.step_index[0], 1);
}

TEST_F(StepBatcher, a_deleted_batch_is_not_found_by_the_jobs_behind) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher();
  const Handle a = make_batch(1);
  const auto before = step(a);
  gate->wait_until_held();
  auto job = std::make_unique<schedule::Job>();
  job->batch = a;
  job->work = schedule::DeviceWork{.passes = {schedule::whole([&](Engine&) {
                                     registry.remove_batch(*a);
                                     a->engine.reset();
                                     return absl::OkStatus();
                                   })},
                                   .finish = [](const absl::Status&) {}};
  ASSERT_TRUE(batcher->submit(std::move(job)).ok());
  const auto after = step(a);
  gate->open();
  EXPECT_TRUE(before->wait().ok());
  EXPECT_EQ(after->wait().code(), absl::StatusCode::kNotFound);
}

TEST_F(StepBatcher, a_batch_that_nobody_names_is_destroyed_when_its_lease_runs_out) {
  make_batcher();
  make_batch(2, absl::Seconds(10));
  Handle kept = make_batch(3, absl::Seconds(10));
  const std::string name = kept->info.name;
  kept.reset();
  advance(absl::Seconds(9));
  ASSERT_TRUE(registry.use_batch(anyone, "batch", name, now()).ok());
  advance(absl::Seconds(2));
  // Leases are looked at when a round's jobs are done: the second job comes in a later round than the first.
  const auto look_at_leases = [&] {
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(on_device(nullptr, [](Engine&, schedule::BatchHandle*) { return absl::OkStatus(); }).ok());
    }
  };
  look_at_leases();
  EXPECT_EQ(registry.counts().worlds, 3);
  EXPECT_EQ(batcher->device().memory_used_bytes, 1);
  EXPECT_TRUE(registry.reserve_worlds(anyone, 97).ok());
  advance(absl::Seconds(9));
  look_at_leases();
  EXPECT_EQ(registry.counts().batches, 0);
}

TEST_F(StepBatcher, a_drain_finishes_what_waits_and_takes_nothing_new) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher({.max_launch_steps = 3});
  const Handle a = make_batch(1), b = make_batch(1);
  const auto first = step(a, 10);
  gate->wait_until_held();
  const auto second = step(a), third = step(b, 7);
  gate->open();
  EXPECT_TRUE(batcher->drain(absl::InfiniteDuration()));
  EXPECT_TRUE(first->wait().ok());
  EXPECT_TRUE(second->wait().ok());
  EXPECT_TRUE(third->wait().ok());
  EXPECT_EQ(submit(a, step_of(std::make_shared<Sink>())).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(registry.counts().batches, 0);
}

TEST_F(StepBatcher, a_drain_past_its_limit_refuses_what_is_left) {
  std::optional<Gate> gate;
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher({.max_launch_steps = 1});
  const Handle a = make_batch(1);
  const auto running = step(a, 1'000'000'000), waiting = step(a);
  gate->wait_until_held();
  gate->open();
  EXPECT_FALSE(batcher->drain(absl::ZeroDuration()));
  EXPECT_EQ(running->wait().code(), absl::StatusCode::kAborted);  // some of it was made
  EXPECT_EQ(waiting->wait().code(), absl::StatusCode::kUnavailable);
}

TEST_F(StepBatcher, with_a_delay_a_launch_waits_for_the_batches_that_have_nothing_waiting) {
  make_batcher({.max_batch_delay = absl::Hours(1)});
  const Handle a = make_batch(1), b = make_batch(1);
  const auto first = step(a), second = step(b);
  EXPECT_TRUE(first->wait().ok());
  EXPECT_TRUE(second->wait().ok());
  ASSERT_EQ(engine->launches().size(), 1u);
  EXPECT_EQ(engine->launches()[0].parts.size(), 2u);
}

}  // namespace
}  // namespace axion::server::testing
