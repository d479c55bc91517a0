#include "server/schedule/worker.hpp"

#include <algorithm>

namespace axion::server::schedule {
namespace {

constexpr absl::Duration kDeviceRetryDelay = absl::Milliseconds(200);  // a scene compiles in about that

}  // namespace

Worker::Worker(std::size_t max_queue, unsigned threads) : shares_(max_queue) {
  if (threads == 0) threads = std::max(2u, std::thread::hardware_concurrency() / 2);
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

Worker::~Worker() { drain(); }

absl::Status Worker::submit(const std::string& client, std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return draining();
  if (absl::Status status = shares_.take(client, kDeviceRetryDelay); !status.ok()) return status;
  tasks_.emplace_back(client, std::move(task));
  return absl::OkStatus();
}

void Worker::drain() {
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Worker::run() {
  while (true) {
    std::pair<std::string, std::function<void()>> task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Worker::has_news));
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task.second();
    absl::MutexLock lock(&mutex_);
    shares_.give_back(task.first);
  }
}

}  // namespace axion::server::schedule
