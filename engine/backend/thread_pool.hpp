// ThreadPool: a number of threads, made once, that run the tasks of one call at a time.
//
// Tasks are handed out by a counter, so which thread runs a task is not determined; tasks must not depend on it. The
// calling thread works too: a pool of one has no other thread. run() is called by one thread at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace axion::backend {

class ThreadPool {
 public:
  // task(worker, index), worker in [0, thread_count()); must not throw.
  using Task = std::function<void(int worker, int index)>;

  explicit ThreadPool(int thread_count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int thread_count() const { return static_cast<int>(threads_.size()) + 1; }
  // Runs task(·, 0 .. count - 1) and returns when all are done.
  void run(int count, const Task& task);

 private:
  void work(const std::stop_token& stop, int worker);
  void take_tasks(int worker);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable idle_;
  std::uint64_t round_ = 0;  // of run(); a worker takes part once in each
  int busy_ = 0;             // workers that have not finished the round
  const Task* task_ = nullptr;
  int count_ = 0;
  std::atomic<int> next_{0};
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace axion::backend
