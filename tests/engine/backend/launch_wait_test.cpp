// LaunchWait: it sees what another thread hands over, ends when the launch does, and sleeps neither too long nor at all
// where a launch is short.
#include "engine/backend/cuda/launch_wait.hpp"

#include <gtest/gtest.h>

#include <array>

namespace axion::backend::launch_wait_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(LaunchWait, a_short_launch_is_watched_without_sleep) {
  EXPECT_EQ(LaunchWait::nap(microseconds(100), 0, 1), microseconds(0));
  EXPECT_EQ(LaunchWait::nap(microseconds(90), 1, 2), microseconds(0));
}

TEST(LaunchWait, a_long_launch_lets_the_thread_sleep_for_half_of_what_is_left_at_most) {
  EXPECT_EQ(LaunchWait::nap(milliseconds(8), 0, 4), milliseconds(1));
  EXPECT_EQ(LaunchWait::nap(milliseconds(3), 3, 4), microseconds(500));
  EXPECT_EQ(LaunchWait::nap(milliseconds(100), 1, 100), LaunchWait::kLongest);
  EXPECT_EQ(LaunchWait::nap(std::chrono::hours(1), 0, 1), LaunchWait::kLongest);
  EXPECT_EQ(LaunchWait::nap(std::chrono::hours(1), 4, 4), microseconds(0));
}

TEST(LaunchWait, flags_that_another_thread_raises_are_seen_in_order) {
  std::array<unsigned, 3> flags{};
  std::array<int, 3> values{};
  std::jthread other([&] {
    for (std::size_t k : {1, 0, 2}) {
      std::this_thread::sleep_for(milliseconds(2));
      values[k] = 10;
      std::atomic_ref(flags[k]).store(5, std::memory_order_release);
    }
  });
  LaunchWait wait(3);
  for (std::size_t k = 0; k < flags.size(); ++k) {
    EXPECT_TRUE(wait.until(&flags[k], 5, [] { return false; }));
    EXPECT_EQ(values[k], 10);
  }
}

TEST(LaunchWait, a_launch_that_ends_without_its_flag_is_not_waited_for) {
  unsigned flag = 4;
  int asked = 0;
  LaunchWait wait(1);
  EXPECT_FALSE(wait.until(&flag, 5, [&] { return ++asked == 3; }));
  EXPECT_EQ(asked, 3);
  // Raised between the last look and the question.
  EXPECT_TRUE(wait.until(&flag, 5, [&] { return flag = 5, true; }));
}

}  // namespace
}  // namespace axion::backend::launch_wait_test
