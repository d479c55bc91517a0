#include "server/schedule/worker.hpp"

#include <algorithm>

#include "engine/engine.hpp"

namespace axion::server::schedule {
namespace {

constexpr absl::Duration kDeviceRetryDelay = absl::Milliseconds(200);  // a scene compiles in about that

}  // namespace

Worker::Worker(std::size_t max_queue, unsigned threads) : shares_(max_queue) {
  if (threads == 0) threads = std::max(2u, static_cast<unsigned>(available_processors()) / 2);
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

Worker::~Worker() {
  drain(absl::InfiniteDuration());
  for (std::thread& thread : threads_) thread.join();
}

absl::Status Worker::submit(const std::string& client, Task task) {
  absl::MutexLock lock(&mutex_);
  if (closed_) return draining();
  if (absl::Status status = shares_.take(client, kDeviceRetryDelay); !status.ok()) return status;
  tasks_.emplace_back(client, std::move(task));
  return absl::OkStatus();
}

bool Worker::drain(absl::Duration limit) {
  std::deque<std::pair<std::string, Task>> refused;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    if (mutex_.AwaitWithTimeout(absl::Condition(this, &Worker::is_idle), limit)) return true;
    gave_up_ = true;
    refused.swap(tasks_);
  }
  for (auto& [client, task] : refused) {
    task(draining());
    absl::MutexLock lock(&mutex_);
    shares_.give_back(client);
  }
  absl::MutexLock lock(&mutex_);
  return is_idle();
}

void Worker::run() {
  while (true) {
    std::pair<std::string, Task> task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &Worker::has_news));
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task.second(absl::OkStatus());
    task.second = nullptr;  // with what it holds
    absl::MutexLock lock(&mutex_);
    shares_.give_back(task.first);
  }
}

}  // namespace axion::server::schedule
