// LaunchWait: how a thread of the host waits for what a launch hands over as it goes.
//
// A short launch is watched all the time, since to be woken takes longer than it does. While a long one runs, the
// thread sleeps for a part of what is left, judged by what is done, so that it neither takes a core from others nor
// comes late. Plain C++: nothing here knows CUDA.
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

  // Sleeps shorter than this are not worth their wakening.
  static constexpr Duration kShortest = std::chrono::microseconds(60);
  static constexpr Duration kLongest = std::chrono::milliseconds(2);

  // Of a launch that starts now and hands over `parts`.
  explicit LaunchWait(int parts) : parts_(parts), start_(Clock::now()) {}

  // Returns true when *flag is `number`. `ended` says whether the launch is over, whatever came of it; false: it is,
  // and the flag was not set.
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

  // How long to sleep when `done` of `parts` came in so long; zero: look on.
  static Duration nap(Duration elapsed, int done, int parts) {
    // Nothing yet: by an eighth of the time at most is the end missed.
    const Duration rest = done == 0 ? elapsed / 8 : elapsed * (parts - done) / done / 2;
    return rest < kShortest ? Duration::zero() : std::min(rest, kLongest);
  }

 private:
  static constexpr int kLooks = 64;  // between two questions to the runtime

  int parts_, done_ = 0;
  Clock::time_point start_;
};

}  // namespace axion::backend
