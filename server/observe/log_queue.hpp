// Lines on their way to a file descriptor, without anybody waiting for it.
//
// A thread that logs only puts a line into a bounded queue; a thread of the queue's own writes. Behind a pipe that is
// not read, or a disk that is full, lines are dropped and counted, and a line says how many once it can be written.
// spdlog's asynchronous logger is bounded too, but its end waits for its thread, which such a pipe holds for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"

namespace axion::server::observe {

class LogQueue {
 public:
  // At most `max_bytes` of lines wait.
  LogQueue(int descriptor, std::size_t max_bytes);
  // Lines that wait are written if that is done within a second.
  ~LogQueue();
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  // Takes a line, with its end. Never blocks.
  void push(std::string line);
  // False if what waits could not be written within `limit`.
  bool flush(absl::Duration limit);
  // Lines that were not written, ever.
  std::int64_t dropped() const;

 private:
  // Shared with the thread, which outlives the queue when the descriptor holds it.
  struct State;
  static void run(const std::shared_ptr<State>& state);
  const std::shared_ptr<State> state_;
};

}  // namespace axion::server::observe
