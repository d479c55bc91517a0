// A thread that does something every so often until it is stopped.
#pragma once

#include <functional>
#include <thread>
#include <utility>

#include "absl/time/time.h"

#include "server/schedule/stop_signal.hpp"

namespace axion::server::schedule {

class Ticker {
 public:
  // `tick` is called `interval` after the last call of it returned.
  Ticker(absl::Duration interval, std::function<void()> tick)
      : thread_([this, interval, tick = std::move(tick)] {
          while (!stopped_.wait_for(interval)) tick();
        }) {}
  ~Ticker() { stop(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Waits for a call that is under way. From one thread at a time.
  void stop() {
    stopped_.set();
    if (thread_.joinable()) thread_.join();
  }

 private:
  StopSignal stopped_;
  std::thread thread_;  // last: it uses what is above
};

}  // namespace axion::server::schedule
