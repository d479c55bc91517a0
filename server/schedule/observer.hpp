// What the scheduler tells of itself, to be measured. Implemented by server/observe.
//
// Calls come from the device's thread and from callers' threads at once; implementations are thread safe and quick.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

#include "engine/engine.hpp"

namespace axion::server::schedule {

struct LaunchReport {
  std::int64_t worlds = 0;  // that took part
  absl::Duration duration;
  StepStatistics statistics;
};

struct ResourceCounts {
  std::int64_t models = 0, batches = 0, worlds = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_launch(const LaunchReport& report) = 0;
  virtual void on_queue_wait(absl::Duration wait) = 0;  // from admission to the first launch or the query
  virtual void on_queue_depth(std::int64_t jobs) = 0;   // admitted and not finished
  virtual void on_resources(const ResourceCounts& counts) = 0;
  virtual void on_device_memory(std::int64_t used_bytes, std::int64_t capacity_bytes) = 0;
  // One line of the log about something that no call reports, e.g. a lease that ran out.
  virtual void on_event(const std::string& line) = 0;
};

}  // namespace axion::server::schedule
