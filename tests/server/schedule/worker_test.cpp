#include "server/schedule/worker.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"

#include "engine/base/stop.hpp"
#include "engine/engine.hpp"
#include "engine/model/convex_hull.hpp"

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {
namespace {

Call call_of(const std::string& tenant, const std::string& client) {
  Call call;
  call.tenant = tenant, call.client = client;
  return call;
}

// A task that says when it runs and waits until it may end.
struct Held {
  absl::Notification running, go_on;
  Worker::Task task() {
    return [this](const absl::Status&) {
      running.Notify();
      go_on.WaitForNotification();
    };
  }
};

TEST(Worker, a_drain_in_time_finishes_what_waits_and_takes_nothing_new) {
  Worker worker({.threads = 1});
  absl::BlockingCounter done(3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(worker
                    .submit({},
                            [&](const absl::Status& turn) {
                              if (turn.ok()) done.DecrementCount();
                            })
                    .ok());
  }
  EXPECT_TRUE(worker.drain(absl::InfiniteDuration()));
  done.Wait();
  EXPECT_FALSE(worker.gave_up());
  EXPECT_EQ(worker.submit({}, [](const absl::Status&) {}).code(), absl::StatusCode::kUnavailable);
}

TEST(Worker, a_drain_past_its_limit_refuses_what_waits_and_stops_what_runs) {
  absl::Notification running;
  std::vector<absl::Status> turns;
  Worker worker({.threads = 1});
  ASSERT_TRUE(worker
                  .submit({},
                          [&](const absl::Status&) {
                            running.Notify();
                            while (!StopScope::asked()) {
                            }
                          })
                  .ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(worker.submit({}, [&](const absl::Status& turn) { turns.push_back(turn); }).ok());
  }
  running.WaitForNotification();
  EXPECT_TRUE(worker.drain(absl::Milliseconds(1)));
  EXPECT_TRUE(worker.gave_up());
  ASSERT_EQ(turns.size(), 2u);
  for (const absl::Status& turn : turns) EXPECT_EQ(details_of(turn).reason, reason::kDraining);
}

// In the order of submission ("A:1" is the tenant A's first connection), and how they begin where one at a time runs.
TEST(Worker, tasks_begin_by_turns_of_tenants_and_then_of_their_clients) {
  Held held;
  std::vector<std::string> begun;
  {
    Worker worker({.threads = 1});
    ASSERT_TRUE(worker.submit({}, held.task()).ok());
    held.running.WaitForNotification();
    for (const char* name : {"A:1", "A:1", "A:1", "A:2", "B:1", "A:2", "B:1", "C:1"}) {
      const std::string text(name);
      ASSERT_TRUE(
          worker.submit(call_of(text.substr(0, 1), text), [&, text](const absl::Status&) { begun.push_back(text); })
              .ok());
    }
    held.go_on.Notify();
  }
  EXPECT_EQ(begun, (std::vector<std::string>{"A:1", "B:1", "C:1", "A:2", "B:1", "A:1", "A:2", "A:1"}));
}

TEST(Worker, one_caller_leaves_a_thread_to_others_however_much_it_asks_for) {
  Held first, second, other;
  Worker worker({.threads = 2});
  ASSERT_TRUE(worker.submit(call_of("A", "1"), first.task()).ok());
  ASSERT_TRUE(worker.submit(call_of("A", "2"), second.task()).ok());
  first.running.WaitForNotification();
  ASSERT_TRUE(worker.submit(call_of("B", "3"), other.task()).ok());
  other.running.WaitForNotification();  // would wait for ever behind A's
  EXPECT_FALSE(second.running.HasBeenNotified());
  first.go_on.Notify(), second.go_on.Notify(), other.go_on.Notify();
}

TEST(Worker, a_task_that_nobody_waits_for_is_told_so_and_does_not_begin) {
  Held held;
  const auto cancel = std::make_shared<CancelFlag>();
  Call gone, late;
  gone.cancel = cancel;
  const absl::Time now = absl::UnixEpoch();
  late.deadline = now - absl::Seconds(1);
  std::vector<absl::StatusCode> turns;
  {
    Worker worker({.threads = 1, .clock = [now] { return now; }});
    ASSERT_TRUE(worker.submit({}, held.task()).ok());
    held.running.WaitForNotification();
    for (const Call& call : {gone, late}) {
      ASSERT_TRUE(worker.submit(call, [&](const absl::Status& turn) { turns.push_back(turn.code()); }).ok());
    }
    cancel->set();
    held.go_on.Notify();
  }
  EXPECT_EQ(turns, (std::vector{absl::StatusCode::kCancelled, absl::StatusCode::kDeadlineExceeded}));
}

TEST(Worker, tasks_that_nobody_waits_for_leave_their_room_in_a_full_queue) {
  Held held;
  const auto cancel = std::make_shared<CancelFlag>();
  Call gone;
  gone.cancel = cancel;
  Worker worker({.max_queue = 2, .threads = 1});
  ASSERT_TRUE(worker.submit({}, held.task()).ok());
  ASSERT_TRUE(worker.submit(gone, [](const absl::Status&) {}).ok());
  EXPECT_EQ(worker.submit({}, [](const absl::Status&) {}).code(), absl::StatusCode::kResourceExhausted);
  cancel->set();
  EXPECT_TRUE(worker.submit({}, [](const absl::Status&) {}).ok());
  held.go_on.Notify();
}

// Points on a sphere, all of which are corners of the hull: a second of work.
model::SceneSpec scene_of_a_large_mesh() {
  model::SceneSpec scene;
  model::MeshSpec mesh{"m", {}};
  constexpr int kPoints = 100'000;
  for (int i = 0; i < kPoints; ++i) {
    const double z = -1 + 2 * (i + 0.5) / kPoints, r = std::sqrt(1 - z * z), angle = 2.399963 * i;
    mesh.vertices.push_back({r * std::cos(angle), r * std::sin(angle), z});
  }
  scene.meshes.push_back(std::move(mesh));
  model::BodySpec body;
  body.name = "b", body.mass = 1, body.I_Bcm = {1, 1, 1, 0, 0, 0};
  scene.bodies.push_back(body);
  model::ShapeSpec shape;
  shape.name = "s", shape.body = 0, shape.kind = model::ShapeKind::kMesh, shape.mesh = "m";
  scene.shapes.push_back(shape);
  return scene;
}

// How often the compile asks bounds how long it goes on if no caller waits.
TEST(Compile, a_compile_looks_many_times_whether_anybody_waits_and_ends_where_nobody_does) {
  const model::SceneSpec scene = scene_of_a_large_mesh();
  int asked = 0;
  bool stopped = false;
  try {
    const StopScope scope([&] { return ++asked >= 60; });
    (void)compile_model(scene);
  } catch (const Stopped&) {
    stopped = true;
  }
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace axion::server::schedule
