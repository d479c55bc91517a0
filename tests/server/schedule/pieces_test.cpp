// Work beside steps is cut into pieces: whom it holds up, where it ends, and that a change is made whole or not at all.
#include <thread>

#include "engine/base/stop.hpp"

#include "server/schedule/worker.hpp"
#include "tests/server/schedule/fixture.hpp"

namespace axion::server::testing {
namespace {

struct Kind {
  schedule::Effect effect = schedule::Effect::kChanges;
  bool ends_with_batch = false;
};

class Pieces : public ScheduleTest {
 protected:
  // Work over `count` items, one a piece, that calls on_item(i) for each.
  struct Work {
    std::atomic<std::size_t> items{0};
    std::function<void(std::size_t)> on_item = [](std::size_t) {};
    absl::Notification done;
    absl::Status status;
  };
  schedule::Pass pass_of(Work& work, std::size_t count, bool changes) {
    return {.count = count,
            .run =
                [&work](Engine&, std::size_t first, std::size_t last) {
                  for (std::size_t i = first; i < last; ++i) work.on_item(i), ++work.items;
                  return absl::OkStatus();
                },
            .beside = false,
            .changes = changes};
  }
  absl::Status submit_work(const Handle& batch, Work& work, std::vector<schedule::Pass> passes,
                           schedule::Call call = {}, Kind kind = {}) {
    auto job = std::make_unique<schedule::Job>();
    job->call = std::move(call);
    job->batch = batch;
    job->work = schedule::DeviceWork{.effect = kind.effect,
                                     .ends_with_batch = kind.ends_with_batch,
                                     .passes = std::move(passes),
                                     .finish = [&work](const absl::Status& status) {
                                       work.status = status;
                                       work.done.Notify();
                                     }};
    return batcher->submit(std::move(job));
  }
  const absl::Status& wait_for(Work& work) {
    work.done.WaitForNotification();
    return work.status;
  }

  const std::shared_ptr<schedule::CancelFlag> flag = std::make_shared<schedule::CancelFlag>();
  schedule::Call cancellable() const {
    schedule::Call call;
    call.cancel = flag;
    return call;
  }
};

TEST_F(Pieces, a_step_of_another_batch_waits_for_one_piece_alone) {
  make_batcher({.max_launch_steps = 1, .max_piece_items = 1});
  const Handle a = make_batch(1), b = make_batch(1);
  Work work;
  const auto sink = std::make_shared<Sink>();
  std::size_t items_then = 0;
  sink->on_end = [&] { items_then = work.items; };
  work.on_item = [&](std::size_t i) {
    if (i != 10) return;
    EXPECT_TRUE(submit(b, step_of(sink)).ok());
  };
  ASSERT_TRUE(submit_work(a, work, {pass_of(work, 1000, false)}).ok());
  EXPECT_TRUE(wait_for(work).ok());
  EXPECT_TRUE(sink->wait().ok());
  EXPECT_GE(items_then, 11u);
  EXPECT_LE(items_then, 12u);
}

TEST_F(Pieces, other_work_and_steps_of_its_own_batch_wait_for_all_of_it) {
  make_batcher({.max_launch_steps = 1, .max_piece_items = 1});
  const Handle a = make_batch(1);
  Work work;
  const auto sink = std::make_shared<Sink>();
  std::size_t items_then = 0;
  sink->on_end = [&] { items_then = work.items; };
  work.on_item = [&](std::size_t i) {
    if (i != 0 || work.items > 0) return;
    EXPECT_TRUE(submit(a, step_of(sink)).ok());
  };
  ASSERT_TRUE(submit_work(a, work, {pass_of(work, 100, false), pass_of(work, 100, true)}).ok());
  EXPECT_TRUE(sink->wait().ok());
  EXPECT_EQ(items_then, 200u);
}

TEST_F(Pieces, work_ends_after_the_piece_in_which_its_call_is_cancelled) {
  make_batcher({.max_piece_items = 1});
  const Handle a = make_batch(1);
  Work work;
  work.on_item = [&](std::size_t i) {
    if (i == 3) flag->set();
  };
  ASSERT_TRUE(submit_work(a, work, {pass_of(work, 1000, false)}, cancellable()).ok());
  EXPECT_EQ(wait_for(work).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(work.items, 4u);
}

TEST_F(Pieces, work_ends_after_the_piece_in_which_its_deadline_passes) {
  make_batcher({.max_piece_items = 1});
  const Handle a = make_batch(1);
  Work work;
  schedule::Call call;
  call.deadline = now() + absl::Seconds(1);
  work.on_item = [&](std::size_t i) {
    if (i == 3) advance(absl::Seconds(2));
  };
  ASSERT_TRUE(submit_work(a, work, {pass_of(work, 1000, false)}, call).ok());
  EXPECT_EQ(wait_for(work).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(work.items, 4u);
}

TEST_F(Pieces, looks_that_end_with_their_batch_end_after_the_piece_in_which_it_is_to_end) {
  for (const bool ends : {true, false}) {
    make_batcher({.max_piece_items = 1});
    const Handle a = make_batch(1);
    Work work, end;
    work.on_item = [&](std::size_t i) {
      if (i == 3) EXPECT_TRUE(submit_work(a, end, {pass_of(end, 1, false)}, {}, {schedule::Effect::kEndsBatch}).ok());
    };
    ASSERT_TRUE(submit_work(a, work, {pass_of(work, 1000, false)}, {}, {schedule::Effect::kReads, ends}).ok());
    EXPECT_TRUE(wait_for(end).ok());
    EXPECT_EQ(wait_for(work).code(), ends ? absl::StatusCode::kAborted : absl::StatusCode::kOk);
    EXPECT_EQ(work.items, ends ? 4u : 1000u);
    batcher.reset();
  }
}

TEST_F(Pieces, a_drain_past_its_limit_ends_work_between_two_pieces) {
  make_batcher({.max_piece_items = 1});
  const Handle a = make_batch(1);
  Work work;
  absl::Notification begun;
  work.on_item = [&](std::size_t i) {
    if (i == 3) begun.Notify();
  };
  ASSERT_TRUE(submit_work(a, work, {pass_of(work, SIZE_MAX, false)}).ok());
  begun.WaitForNotification();
  EXPECT_FALSE(batcher->drain(absl::ZeroDuration()));
  EXPECT_EQ(wait_for(work).code(), absl::StatusCode::kUnavailable);
}

TEST_F(Pieces, a_change_that_has_begun_is_made_whole_when_its_call_is_cancelled) {
  make_batcher({.max_piece_items = 1});
  const Handle a = make_batch(1);
  Work work;
  work.on_item = [&](std::size_t i) {
    if (i == 3) flag->set();
  };
  ASSERT_TRUE(submit_work(a, work, {pass_of(work, 100, true)}, cancellable()).ok());
  EXPECT_TRUE(wait_for(work).ok());
  EXPECT_EQ(work.items, 100u);
}

TEST_F(Pieces, a_change_that_has_begun_is_made_whole_when_the_server_ends) {
  make_batcher({.max_piece_items = 1});
  const Handle a = make_batch(1);
  Work work;
  absl::Notification begun, drains;
  work.on_item = [&](std::size_t i) {
    if (i != 3) return;
    begun.Notify();
    drains.WaitForNotification();
  };
  ASSERT_TRUE(submit_work(a, work, {pass_of(work, 100, true)}).ok());
  begun.WaitForNotification();
  batcher->close();
  std::thread drain([&] { batcher->drain(absl::ZeroDuration()); });
  drains.Notify();
  drain.join();
  EXPECT_TRUE(wait_for(work).ok());
  EXPECT_EQ(work.items, 100u);
}

TEST_F(Pieces, a_reset_that_is_cancelled_while_it_is_prepared_changes_nothing) {
  make_batcher({.max_launch_steps = 1, .max_piece_items = 1});
  const Handle a = make_batch(8);
  ASSERT_TRUE(step(a)->wait().ok());
  auto& worlds = static_cast<FakeBatch&>(*a->engine).worlds;
  const double before = worlds[0].x;
  static_cast<FakeBatch&>(*a->engine).on_prepare = [&] { flag->set(); };
  Work work;
  ASSERT_TRUE(submit_work(a, work, schedule::change_passes(a, {.keyframe = -1}), cancellable()).ok());
  EXPECT_EQ(wait_for(work).code(), absl::StatusCode::kCancelled);
  for (const FakeWorld& world : worlds) EXPECT_EQ(world.x, before);
}

TEST_F(Pieces, a_reset_in_pieces_resets_every_world) {
  make_batcher({.max_launch_steps = 1, .max_piece_items = 3});
  const Handle a = make_batch(8);
  ASSERT_TRUE(step(a)->wait().ok());
  Work work;
  ASSERT_TRUE(submit_work(a, work, schedule::change_passes(a, {.worlds = {7, 0, 3, 1, 6}, .keyframe = -1})).ok());
  EXPECT_TRUE(wait_for(work).ok());
  const auto& worlds = static_cast<FakeBatch&>(*a->engine).worlds;
  for (const std::size_t world : {0u, 1u, 3u, 6u, 7u}) EXPECT_EQ(worlds[world].step, 0) << world;
  for (const std::size_t world : {2u, 4u, 5u}) EXPECT_EQ(worlds[world].step, 1) << world;
}

TEST_F(Pieces, what_is_done_beside_the_device_holds_up_its_own_batch_alone) {
  absl::Notification go_on;
  std::thread other;
  make_batcher({.max_launch_steps = 1, .beside = [&](const schedule::Call&, auto task) {
                  other = std::thread([&go_on, task] {
                    go_on.WaitForNotification();
                    task(absl::OkStatus());
                  });
                  return absl::OkStatus();
                }});
  const Handle a = make_batch(1), b = make_batch(1);
  Work work;
  schedule::Pass beside = pass_of(work, 1, false);
  beside.beside = true;
  ASSERT_TRUE(submit_work(a, work, {beside, pass_of(work, 5, true)}).ok());
  const auto own = step(a);
  EXPECT_TRUE(step(b)->wait().ok());
  EXPECT_FALSE(own->done.HasBeenNotified());
  EXPECT_EQ(work.items, 0u);
  go_on.Notify();
  EXPECT_TRUE(own->wait().ok());
  EXPECT_EQ(work.items, 6u);
  other.join();
}

TEST_F(Pieces, what_is_done_beside_the_device_is_stopped_by_a_cancel_and_by_a_drain) {
  for (const bool cancels : {false, true}) {
    schedule::Worker worker({.threads = 1});
    make_batcher({.beside = [&](const schedule::Call& call, auto task) { return worker.submit(call, task); }});
    const Handle a = make_batch(1);
    Work work;
    absl::Notification begun;
    const auto run = [&](Engine&, std::size_t, std::size_t) {
      begun.Notify();
      while (true) stop_if_asked();
      return absl::OkStatus();
    };
    ASSERT_TRUE(submit_work(a, work, {{.count = 1, .run = run, .beside = true}}, cancellable()).ok());
    begun.WaitForNotification();
    if (cancels) {
      flag->set();
    } else {
      EXPECT_FALSE(batcher->drain(absl::ZeroDuration()));
    }
    EXPECT_EQ(wait_for(work).code(), cancels ? absl::StatusCode::kCancelled : absl::StatusCode::kUnavailable);
    batcher.reset();
  }
}

}  // namespace
}  // namespace axion::server::testing
