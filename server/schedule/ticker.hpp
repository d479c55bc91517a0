// A thread that does something every so often until it is stopped.
#pragma once

#include <functional>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace axion::server::schedule {

class Ticker {
 public:
  // `tick` is called `interval` after the last call of it returned.
  Ticker(absl::Duration interval, std::function<void()> tick)
      : thread_([this, interval, tick = std::move(tick)] {
          while (!stopped_.WaitForNotificationWithTimeout(interval)) tick();
        }) {}
  ~Ticker() { stop(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Waits for a call that is under way. From one thread at a time.
  void stop() {
    if (!stopped_.HasBeenNotified()) stopped_.Notify();
    if (thread_.joinable()) thread_.join();
  }

 private:
  absl::Notification stopped_;
  std::thread thread_;  // last: it uses what is above
};

}  // namespace axion::server::schedule
