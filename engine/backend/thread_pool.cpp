#include "engine/backend/thread_pool.hpp"

namespace axion::backend {

ThreadPool::ThreadPool(int thread_count) {
  for (int worker = 1; worker < thread_count; ++worker) {
    threads_.emplace_back([this, worker](const std::stop_token& stop) { work(stop, worker); });
  }
}

ThreadPool::~ThreadPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void ThreadPool::run(int count, const Task& task) {
  // A single task is not worth waking anybody.
  const bool alone = threads_.empty() || count <= 1;
  {
    const std::lock_guard lock(mutex_);
    task_ = &task, count_ = count;
    next_.store(0, std::memory_order_relaxed);
    if (!alone) {
      busy_ = static_cast<int>(threads_.size());
      ++round_;
    }
  }
  if (!alone) wake_.notify_all();
  take_tasks(0);
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return busy_ == 0; });
  task_ = nullptr;
}

void ThreadPool::work(const std::stop_token& stop, int worker) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [&] { return round_ != seen; })) {
    seen = round_;
    lock.unlock();
    take_tasks(worker);
    lock.lock();
    if (--busy_ == 0) idle_.notify_one();
  }
}

void ThreadPool::take_tasks(int worker) {
  for (int i = next_.fetch_add(1, std::memory_order_relaxed); i < count_;
       i = next_.fetch_add(1, std::memory_order_relaxed)) {
    (*task_)(worker, i);
  }
}

}  // namespace axion::backend
