#include "server/schedule/worker.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {
namespace {

TEST(Worker, a_drain_in_time_finishes_what_waits_and_takes_nothing_new) {
  Worker worker(8, 1);
  absl::BlockingCounter done(3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(worker
                    .submit("",
                            [&](const absl::Status& turn) {
                              if (turn.ok()) done.DecrementCount();
                            })
                    .ok());
  }
  EXPECT_TRUE(worker.drain(absl::InfiniteDuration()));
  done.Wait();
  EXPECT_FALSE(worker.gave_up());
  EXPECT_EQ(worker.submit("", [](const absl::Status&) {}).code(), absl::StatusCode::kUnavailable);
}

TEST(Worker, a_drain_past_its_limit_refuses_what_waits_and_waits_for_nothing_that_runs) {
  absl::Notification running, go_on;
  std::vector<absl::Status> turns;
  Worker worker(8, 1);
  ASSERT_TRUE(worker
                  .submit("",
                          [&](const absl::Status&) {
                            running.Notify();
                            go_on.WaitForNotification();
                          })
                  .ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(worker.submit("", [&](const absl::Status& turn) { turns.push_back(turn); }).ok());
  }
  running.WaitForNotification();
  EXPECT_FALSE(worker.drain(absl::Milliseconds(1)));
  EXPECT_TRUE(worker.gave_up());
  ASSERT_EQ(turns.size(), 2u);
  for (const absl::Status& turn : turns) EXPECT_EQ(details_of(turn).reason, reason::kDraining);
  go_on.Notify();
  EXPECT_TRUE(worker.drain(absl::InfiniteDuration()));
}

}  // namespace
}  // namespace axion::server::schedule
