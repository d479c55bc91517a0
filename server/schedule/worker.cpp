#include "server/schedule/worker.hpp"

#include <utility>
#include <vector>

namespace axion::server::schedule {

Worker::Worker(std::size_t max_queue) : queue_(max_queue), thread_([this] { run(); }) {}

Worker::~Worker() { drain(); }

absl::Status Worker::submit(std::function<void()> task) { return queue_.push(task); }

void Worker::drain() {
  queue_.close();
  if (thread_.joinable()) thread_.join();
}

void Worker::run() {
  std::vector<std::function<void()>> tasks;
  while (!queue_.closed() || queue_.depth() > 0) {
    queue_.fetch(tasks, absl::InfiniteDuration());
    for (auto& task : tasks) {
      task();
      queue_.finished(1);
    }
    tasks.clear();
  }
}

}  // namespace axion::server::schedule
