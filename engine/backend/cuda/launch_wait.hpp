// LaunchWait: how a thread of the host waits for the parts of a result that a kernel hands over while it runs.
//
// The kernel raises a flag for each part. While a launch is short the thread polls the flag, because waking a sleeping
// thread takes longer than the launch. While a launch is long the thread sleeps for half of the remaining time, as
// estimated from the parts that have arrived, so that it neither occupies a core nor reads a part late. Plain C++:
// nothing here knows CUDA.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace axion::backend {

class LaunchWait {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = Clock::duration;

  // Bounds of one sleep: to wake up from a shorter one takes longer than the sleep itself.
  static constexpr Duration kShortest = std::chrono::microseconds(60);
  static constexpr Duration kLongest = std::chrono::milliseconds(2);

  // Waits for a launch that starts now and hands over its result in `parts` parts.
  explicit LaunchWait(int parts) : parts_(parts), start_(Clock::now()) {}

  // Waits until *flag equals `number` and returns true; returns false if the launch is over, as `ended` tells, and the
  // flag has another value: the launch failed.
  template <typename Ended>
  bool until(unsigned* flag, unsigned number, Ended&& ended) {
    const std::atomic_ref<unsigned> seen(*flag);
    for (int looks = 0; seen.load(std::memory_order_acquire) != number; ++looks) {
      if (looks % kLooks != kLooks - 1) continue;
      if (ended()) return seen.load(std::memory_order_acquire) == number;
      const Duration rest = nap(Clock::now() - start_, done_, parts_);
      if (rest > Duration::zero()) std::this_thread::sleep_for(rest);
    }
    ++done_;
    return true;
  }

  // The time to sleep after `done` of `parts` parts arrived within `elapsed`; zero means to keep polling.
  static Duration nap(Duration elapsed, int done, int parts) {
    // Before the first part arrives there is no estimate: an eighth of the elapsed time bounds how late it is seen.
    const Duration rest = done == 0 ? elapsed / 8 : elapsed * (parts - done) / done / 2;
    return rest < kShortest ? Duration::zero() : std::min(rest, kLongest);
  }

 private:
  static constexpr int kLooks = 64;  // between two questions to the runtime

  int parts_, done_ = 0;
  Clock::time_point start_;
};

}  // namespace axion::backend
