// Steps that nobody waits for any more, or whose batch ends, while they are under way: they stop between two launches,
// and no step is made twice.
#include "tests/server/schedule/fixture.hpp"

namespace axion::server::testing {
namespace {

class GivenUp : public ScheduleTest {
 protected:
  // A step of 10 that is cancelled when its first launch, of 2 steps for one of two worlds or both, has begun.
  std::shared_ptr<Sink> cancelled_step(const Handle& batch, const std::string& request_id) {
    auto flag = std::make_shared<schedule::CancelFlag>();
    auto sink = std::make_shared<Sink>();
    auto work = step_of(sink, 10);
    work.request_id = request_id;
    work.request_hash = 1;
    EXPECT_TRUE(submit(batch, std::move(work), {.deadline = absl::InfiniteFuture(), .cancel = flag}).ok());
    gate->wait_until_held();
    flag->set();
    return sink;
  }
  std::shared_ptr<Sink> repeat(const Handle& batch, const std::string& request_id, std::uint64_t hash = 1) {
    auto sink = std::make_shared<Sink>();
    auto work = step_of(sink, 10);
    work.request_id = request_id;
    work.request_hash = hash;
    EXPECT_TRUE(submit(batch, std::move(work)).ok());
    return sink;
  }
  void start(std::size_t worlds = SIZE_MAX) {
    prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
    make_batcher({.max_launch_steps = 2, .max_launch_worlds = worlds, .max_piece_items = 1});
  }
  // Read in so many pieces.
  std::int64_t step_of_world(const Handle& batch, int world, schedule::Effect effect = schedule::Effect::kReads,
                             std::size_t pieces = 1) {
    absl::Notification done;
    std::int64_t at = -1;
    auto job = std::make_unique<schedule::Job>();
    job->batch = batch;
    job->work = schedule::DeviceWork{.effect = effect,
                                     .passes = {{.count = pieces,
                                                 .run =
                                                     [&](Engine&, std::size_t, std::size_t) {
                                                       at = batch->engine->step_index(world);
                                                       return absl::OkStatus();
                                                     },
                                                 .beside = false,
                                                 .changes = false}},
                                     .finish = [&](const absl::Status&) { done.Notify(); }};
    EXPECT_TRUE(batcher->submit(std::move(job)).ok());
    done.WaitForNotification();
    return at;
  }

  std::optional<Gate> gate;
};

TEST_F(GivenUp, a_cancelled_step_stops_after_the_launch_in_hand) {
  start();
  const Handle a = make_batch(2);
  const auto sink = cancelled_step(a, "");
  gate->open();
  EXPECT_EQ(sink->wait().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(step_of_world(a, 0), 2);
  EXPECT_EQ(engine->launches().size(), 1u);
}

TEST_F(GivenUp, a_repetition_goes_on_with_a_cancelled_request_and_gets_its_whole_answer) {
  for (const std::size_t worlds : {std::size_t{1}, std::size_t{2}}) {
    start(worlds);
    const Handle a = make_batch(2);
    cancelled_step(a, "one");
    gate->open();
    EXPECT_EQ(step_of_world(a, 0), 2) << "it rests, and who looks sees the worlds as they stand";
    EXPECT_EQ(step_of_world(a, 1), worlds == 2 ? 2 : 0);
    EXPECT_EQ(step_of_world(a, 0), 2);
    EXPECT_EQ(repeat(a, "one", 2)->wait().code(), absl::StatusCode::kInvalidArgument) << "it is no repetition";
    EXPECT_EQ(step_of_world(a, 0), 2);
    const auto again = repeat(a, "one");
    EXPECT_TRUE(again->wait().ok());
    EXPECT_TRUE(again->replayed);
    EXPECT_EQ(again->answer.step_index, (std::vector<std::int64_t>{10, 10}));
    EXPECT_EQ(step_of_world(a, 1), 10);
    batcher.reset();
  }
}

TEST_F(GivenUp, a_step_rests_on_while_the_batch_is_read_in_pieces) {
  start();
  const Handle a = make_batch(1);
  const auto first = cancelled_step(a, "one");
  gate->open();
  EXPECT_EQ(step_of_world(a, 0, schedule::Effect::kReads, 100), 2);
  EXPECT_FALSE(first->done.HasBeenNotified());
  const auto again = repeat(a, "one");
  EXPECT_TRUE(again->wait().ok()) << again->status;
  EXPECT_EQ(again->answer.step_index[0], 10);
}

TEST_F(GivenUp, other_work_on_the_batch_ends_it_for_good_and_a_repetition_steps_nothing) {
  start(1);
  const Handle a = make_batch(2);
  const auto first = cancelled_step(a, "one");
  gate->open();
  EXPECT_EQ(step_of_world(a, 0, schedule::Effect::kChanges), 2);
  EXPECT_EQ(first->wait().code(), absl::StatusCode::kCancelled);
  const auto again = repeat(a, "one");
  EXPECT_EQ(again->wait().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(schedule::details_of(again->status).reason, schedule::reason::kGivenUp);
  EXPECT_EQ(schedule::details_of(again->status).field, "request_id");
  EXPECT_EQ(step_of_world(a, 0), 2);
  EXPECT_EQ(step_of_world(a, 1), 0);
  EXPECT_TRUE(repeat(a, "two")->wait().ok());
  EXPECT_EQ(step_of_world(a, 0), 12);
}

TEST_F(GivenUp, a_minute_ends_it_too) {
  start();
  const Handle a = make_batch(1);
  const auto first = cancelled_step(a, "one");
  gate->open();
  EXPECT_EQ(step_of_world(a, 0), 2);
  EXPECT_FALSE(first->done.HasBeenNotified());
  advance(absl::Seconds(61));
  EXPECT_EQ(step_of_world(a, 0), 2);
  EXPECT_EQ(first->wait().code(), absl::StatusCode::kCancelled);
}

TEST_F(GivenUp, another_step_of_the_batch_ends_it_too) {
  start();
  const Handle a = make_batch(1);
  const auto first = cancelled_step(a, "one");
  const auto other = repeat(a, "two");
  gate->open();
  EXPECT_EQ(first->wait().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(other->wait().ok());
  EXPECT_EQ(other->answer.step_index[0], 12);
}

TEST_F(GivenUp, a_step_that_rests_holds_up_no_other_batch_and_no_drain) {
  start();
  const Handle a = make_batch(1), b = make_batch(1);
  const auto first = cancelled_step(a, "one");
  gate->open();
  EXPECT_TRUE(step(b, 7)->wait().ok());
  EXPECT_EQ(step_of_world(a, 0), 2);
  EXPECT_TRUE(batcher->drain(absl::Seconds(30)));
  EXPECT_EQ(first->wait().code(), absl::StatusCode::kCancelled);
}

TEST_F(GivenUp, work_that_ends_a_batch_ends_the_steps_that_are_under_way_and_that_wait) {
  start();
  const Handle a = make_batch(1);
  const auto running = step(a, 1'000'000'000), waiting = step(a);
  gate->wait_until_held();
  absl::Notification gone;
  auto job = std::make_unique<schedule::Job>();
  job->batch = a;
  job->work = schedule::DeviceWork{.effect = schedule::Effect::kEndsBatch,
                                   .passes = {schedule::whole([&](Engine&) {
                                     registry.remove_batch(*a);
                                     a->engine.reset();
                                     return absl::OkStatus();
                                   })},
                                   .finish = [&](const absl::Status&) { gone.Notify(); }};
  ASSERT_TRUE(batcher->submit(std::move(job)).ok());
  gate->open();
  EXPECT_EQ(running->wait().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(waiting->wait().code(), absl::StatusCode::kAborted);
  gone.WaitForNotification();
  EXPECT_EQ(engine->launches().size(), 1u);
}

TEST_F(GivenUp, a_client_that_fills_the_queue_leaves_room_for_others) {
  prepare_engine = [&](FakeEngine& e) { gate.emplace(e); };
  make_batcher({.max_queue = 12});
  const Handle a = make_batch(1), b = make_batch(1);
  const auto held_step = step(a);  // of the server itself
  gate->wait_until_held();
  const auto fill = [&](const Handle& batch, const std::string& client) {
    int taken = 0;
    absl::Status status;
    while (status.ok()) {
      status = submit(batch, step_of(std::make_shared<Sink>()), {.client = client});
      taken += status.ok() ? 1 : 0;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(schedule::details_of(status).quota_subject, "max_queue");
    EXPECT_GT(schedule::details_of(status).retry_delay, absl::ZeroDuration());
    return taken;
  };
  EXPECT_EQ(fill(a, "greedy"), 6);
  EXPECT_EQ(fill(b, "honest"), 4);
  EXPECT_EQ(fill(b, "third"), 1) << "what is left; with less taken before it were three";
  gate->open();
  EXPECT_TRUE(batcher->drain(absl::InfiniteDuration()));
}

}  // namespace
}  // namespace axion::server::testing
