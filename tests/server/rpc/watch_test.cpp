// Watch: what a looker-on sees, and what it does not do to those who step.
#include <cstdint>
#include <limits>
#include <thread>

#include <gmock/gmock.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

#include "tests/server/rpc/fixture.hpp"

namespace axion::server::testing {
namespace {

class WatchTest : public ServerTest {
 protected:
  struct Watcher {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> reader;
    v1::WatchResponse frame;
    bool next() { return reader->Read(&frame); }
    grpc::Status finish() { return reader->Finish(); }
    grpc::Status cancel() {
      context.TryCancel();
      while (next()) {
      }
      return finish();
    }
  };

  std::unique_ptr<Watcher> watch(const std::string& batch, const std::function<void(v1::WatchRequest&)>& change = {},
                                 v1::Simulation::Stub* by = nullptr) {
    v1::WatchRequest request;
    request.set_batch(batch);
    request.set_rate(1000);
    request.add_fields("body_pose");
    if (change) change(request);
    auto watcher = std::make_unique<Watcher>();
    watcher->reader = (by != nullptr ? by : stub.get())->Watch(&watcher->context, request);
    return watcher;
  }

  void step_once(const std::string& batch, int count = 1) {
    v1::StepRequest request;
    request.set_batch(batch);
    request.set_step_count(count);
    v1::StepResponse response;
    const grpc::Status status = step(request, response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  v1::GetStateResponse state(const std::string& batch) {
    grpc::ClientContext context;
    v1::GetStateRequest request;
    request.set_batch(batch);
    request.add_fields("body_pose");
    v1::GetStateResponse response;
    EXPECT_TRUE(stub->GetState(&context, request, &response).ok());
    return response;
  }

  // The value of a series of the metrics page.
  double metric(const std::string& series) {
    const std::string page = "\n" + server->metrics().page();
    const std::size_t at = page.find("\n" + series + " ");
    EXPECT_NE(at, std::string::npos) << series;
    return at == std::string::npos ? -1 : std::stod(page.substr(at + series.size() + 2));
  }
  std::int64_t held_bytes() { return static_cast<std::int64_t>(metric("axion_memory_bytes{kind=\"used\"}")); }

  template <typename Condition>
  bool eventually(const Condition& condition) {
    for (const absl::Time end = absl::Now() + absl::Seconds(240); absl::Now() < end;) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(2));
    }
    return false;
  }
};

TEST_F(WatchTest, frames_show_the_worlds_as_they_stand_and_come_when_they_change) {
  start();
  const std::string batch = create_batch(create_model().name(), 3).name();
  const auto watcher = watch(batch, [](v1::WatchRequest& request) {
    request.add_world_indices(2);
    request.add_world_indices(0);
    request.set_contacts(true);
    request.set_solver_stats(true);
  });
  ASSERT_TRUE(watcher->next());
  EXPECT_EQ(watcher->frame.state().step_index(0), 0);
  int frames = 1;
  for (int i = 1; i <= 3; ++i) {
    step_once(batch, 50);
    // A batch that nobody steps has no frames, so the last one is of the step just made. A slow machine makes the step
    // in several launches, and frames may show the worlds between them, or be dropped.
    do {
      ASSERT_TRUE(watcher->next());
      ++frames;
    } while (watcher->frame.state().step_index(0) < 50 * i);
    EXPECT_EQ(watcher->frame.state().step_index_size(), 2);
    EXPECT_EQ(watcher->frame.state().step_index(0), 50 * i);
    const v1::Tensor whole = state(batch).fields().at("body_pose");
    const v1::Tensor& seen = watcher->frame.state().fields().at("body_pose");
    const std::size_t world = whole.data().size() / 3;
    EXPECT_EQ(seen.data(), whole.data().substr(2 * world) + whole.data().substr(0, world));
  }
  EXPECT_EQ(watcher->frame.contacts().contact_count_size(), 2);
  EXPECT_GT(watcher->frame.contacts().normal_impulse_size(), 0);
  EXPECT_EQ(watcher->frame.worlds().world_indices(0), 2);
  EXPECT_EQ(watcher->cancel().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(eventually([&] { return metric("axion_watches") == 0; }));
  EXPECT_EQ(metric("axion_watch_frames_total"), frames);
}

TEST_F(WatchTest, frames_come_between_the_launches_of_one_long_request) {
  struct Gate {
    absl::Mutex mutex;
    int launches = 0, allowed = 1;
    bool is_open() const { return launches <= allowed; }
  } gate;
  start({}, [&] {
    absl::MutexLock lock(&gate.mutex);
    ++gate.launches;
    // Not for ever: a look that is not yet due between two launches comes after one of the next.
    gate.mutex.AwaitWithTimeout(absl::Condition(&gate, &Gate::is_open), absl::Milliseconds(50));
  });
  const std::string batch = create_batch(create_model().name(), 1).name();
  std::thread trainer([&] {
    v1::StepRequest request;
    request.set_batch(batch);
    request.set_step_count(1'000'000);
    v1::StepResponse response;
    EXPECT_EQ(step(request, response).error_code(), grpc::StatusCode::ABORTED);
  });
  const auto watcher = watch(batch);
  std::int64_t last = -1;
  int different = 0;
  while (different < 4 && watcher->next()) {
    different += watcher->frame.state().step_index(0) > last ? 1 : 0;
    last = watcher->frame.state().step_index(0);
    absl::MutexLock lock(&gate.mutex);
    ++gate.allowed;
  }
  EXPECT_EQ(different, 4);
  EXPECT_LT(last, 1'000'000);
  {
    absl::MutexLock lock(&gate.mutex);
    gate.allowed = INT32_MAX;
  }
  watcher->cancel();
  grpc::ClientContext context;
  v1::DeleteBatchRequest request;
  request.set_name(batch);
  google::protobuf::Empty empty;
  EXPECT_TRUE(stub->DeleteBatch(&context, request, &empty).ok());
  trainer.join();
}

TEST_F(WatchTest, a_client_that_does_not_read_has_frames_dropped_and_holds_no_memory) {
  start();
  const std::string batch = create_batch(create_model().name(), 512).name();
  const std::int64_t before = held_bytes();
  const auto trainer = connect();  // another connection: the watcher's stands still
  const auto watcher = watch(batch, [](v1::WatchRequest& request) { request.clear_fields(); });
  ASSERT_TRUE(watcher->next());
  const std::int64_t frame_bytes = static_cast<std::int64_t>(watcher->frame.ByteSizeLong());
  const auto frames = [&] { return metric("axion_watch_frames_total"); };
  std::int64_t dropped = 0;
  for (int tries = 0; tries < 20 && dropped == 0;
       ++tries) {  // a busy machine's pause looks like a transport that is full
    // The transport takes some megabytes; from then on no frame is made, however many steps come.
    double made = -1;
    for (int quiet = 0; quiet < 20;) {
      step_once(batch);
      absl::SleepFor(absl::Milliseconds(20));
      quiet = frames() == made ? quiet + 1 : 0;
      made = frames();
      ASSERT_LT(made, 1000);
    }
    EXPECT_LT(held_bytes() - before, 4 * frame_bytes);
    // It may go on where it is, and is told what it has missed.
    for (double i = 0; i <= made && dropped == 0 && watcher->next(); ++i) {
      dropped = watcher->frame.dropped_frames();
      step_once(batch);
    }
  }
  EXPECT_GT(dropped, 0);
  watcher->cancel();
  EXPECT_TRUE(eventually([&] { return metric("axion_watches") == 0; }));
  EXPECT_GT(metric("axion_watch_frames_dropped_total"), 0);
}

TEST_F(WatchTest, renews_no_lease_and_ends_with_its_batch) {
  start();
  const std::string batch = create_batch(create_model().name(), 1, [](v1::CreateBatchRequest& request) {
                              request.mutable_idle_ttl()->set_nanos(300'000'000);
                            }).name();
  const auto watcher = watch(batch);
  while (watcher->next()) {
  }
  EXPECT_EQ(watcher->finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(WatchTest, changes_no_bit_of_what_is_stepped) {
  start();
  const std::string model = create_model().name();
  const std::string alone = create_batch(model, 4).name(), watched = create_batch(model, 4).name();
  const auto watcher = watch(watched, [](v1::WatchRequest& request) { request.set_contacts(true); });
  std::thread looks([&] {
    while (watcher->next()) {
    }
  });
  for (int i = 0; i < 50; ++i) {
    step_once(alone, 4);
    step_once(watched, 4);
  }
  EXPECT_EQ(state_of(alone), state_of(watched));
  watcher->context.TryCancel();
  looks.join();
  watcher->finish();
}

TEST_F(WatchTest, wrong_requests_are_refused_with_their_field) {
  start();
  const std::string batch = create_batch(create_model().name(), 2).name();
  const auto refused = [&](const std::function<void(v1::WatchRequest&)>& change) {
    const auto watcher = watch(batch, change);
    EXPECT_FALSE(watcher->next());
    const grpc::Status status = watcher->finish();
    EXPECT_NE(status.error_code(), grpc::StatusCode::CANCELLED);
    const auto fields = bad_fields(status);
    return fields.empty() ? status.error_message() : fields.front();
  };
  for (const double rate : {0.0, -1.0, 1001.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(refused([&](v1::WatchRequest& request) { request.set_rate(rate); }), "rate");
  }
  EXPECT_EQ(refused([](v1::WatchRequest& request) { request.add_world_indices(2); }), "world_indices[0]");
  EXPECT_EQ(refused([](v1::WatchRequest& request) { request.add_fields("soul"); }), "fields[1]");
  EXPECT_EQ(refused([](v1::WatchRequest& request) { request.add_fields("snapshot"); }), "fields[1]");
  EXPECT_EQ(refused([](v1::WatchRequest& request) { request.set_batch("batches/none"); }),
            "batch: \"batches/none\" does not exist");
  EXPECT_TRUE(eventually([&] { return metric("axion_watches") == 0; }));
}

TEST_F(WatchTest, more_than_the_limit_are_refused_until_one_ends) {
  Config config;
  config.limits.max_watches = 2;
  start(config);
  const std::string batch = create_batch(create_model().name(), 1).name();
  const auto first = watch(batch), second = watch(batch);
  ASSERT_TRUE(first->next() && second->next());
  const auto third = watch(batch);
  EXPECT_FALSE(third->next());
  const grpc::Status status = third->finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("2 streams"));
  first->cancel();
  EXPECT_TRUE(eventually([&] {
    const auto again = watch(batch);
    const bool taken = again->next();
    again->cancel();
    return taken;
  }));
}

TEST_F(WatchTest, a_drain_ends_it) {
  start();
  const std::string batch = create_batch(create_model().name(), 1).name();
  const auto watcher = watch(batch, [](v1::WatchRequest& request) { request.set_rate(0.001); });
  ASSERT_TRUE(watcher->next());
  std::thread drain([&] { server->drain(absl::Seconds(30)); });
  EXPECT_FALSE(watcher->next());
  EXPECT_EQ(watcher->finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  drain.join();
}

}  // namespace
}  // namespace axion::server::testing
