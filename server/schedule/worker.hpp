// One thread for work that needs no device but is too long for a thread that serves the network: compiling scenes.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>

#include "absl/status/status.h"

#include "server/schedule/job_queue.hpp"

namespace axion::server::schedule {

class Worker {
 public:
  explicit Worker(std::size_t max_queue);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // RESOURCE_EXHAUSTED when the queue is full, UNAVAILABLE once draining; `task` is then not called.
  absl::Status submit(std::function<void()> task);
  // Takes nothing new and finishes what waits.
  void drain();

 private:
  void run();
  JobQueue<std::function<void()>> queue_;
  std::thread thread_;
};

}  // namespace axion::server::schedule
