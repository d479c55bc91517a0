#include "engine/backend/thread_pool.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace axion::backend::thread_pool_test {
namespace {

TEST(ThreadPool, every_task_runs_once_in_every_round) {
  for (const int threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.thread_count(), threads);
    for (const int count : {0, 1, 2, 100, 3, 1000}) {
      std::vector<std::atomic<int>> runs(count);
      pool.run(count, [&](int worker, int i) {
        ASSERT_TRUE(worker >= 0 && worker < threads);
        ++runs[i];
      });
      for (const auto& run : runs) EXPECT_EQ(run, 1);
    }
  }
}

TEST(ThreadPool, a_worker_runs_one_task_at_a_time) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<bool> alone = true;
  for (int round = 0; round < 200; ++round) {
    pool.run(50, [&](int worker, int) {
      if (++inside[worker] != 1) alone = false;
      --inside[worker];
    });
  }
  EXPECT_TRUE(alone);
}

}  // namespace
}  // namespace axion::backend::thread_pool_test
