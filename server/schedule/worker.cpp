#include "server/schedule/worker.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "engine/engine.hpp"

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {
namespace {

constexpr absl::Duration kTaskRetryDelay = absl::Milliseconds(200);  // a scene compiles in about that
constexpr absl::Duration kStopTime = absl::Seconds(1);               // for tasks to see that they are to stop
constexpr int kNiceness = 5;  // a quarter of a processor beside a thread that steps

// Whose turn it is, for the threads that it may have at once. Empty: the server itself.
const std::string& caller_of(const Call& call) { return call.tenant.empty() ? call.client : call.tenant; }

// Of this thread, as Linux has it.
void lower_priority() {
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + kNiceness);
}

}  // namespace

Worker::Worker(WorkerOptions options) : options_(std::move(options)), shares_(options_.max_queue) {
  for (unsigned i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this] {
      if (options_.yields) lower_priority();
      run();
    });
  }
}

Worker::~Worker() {
  drain(absl::InfiniteDuration());
  for (std::thread& thread : threads_) thread.join();
}

absl::Status Worker::submit(const Call& call, Task task) {
  const auto admit = [&] {
    absl::MutexLock lock(&mutex_);
    if (closed_) return draining();
    absl::Status status = shares_.take(call.client, kTaskRetryDelay);
    if (status.ok()) {
      waiting_.push(call, {call, std::move(task)});
      news_.Signal();
    }
    return status;
  };
  absl::Status status = admit();
  if (status.ok() || !absl::IsResourceExhausted(status)) return status;
  do_gone();
  return admit();
}

bool Worker::drain(absl::Duration limit) {
  std::vector<Item> refused;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    news_.SignalAll();
    if (mutex_.AwaitWithTimeout(absl::Condition(this, &Worker::is_idle), limit)) return true;
    gave_up_ = true;
    refused = waiting_.remove([](const Item&) { return true; });
    news_.SignalAll();
  }
  for (Item& item : refused) do_task(std::move(item), draining());
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(this, &Worker::is_idle), kStopTime);
}

void Worker::do_task(Item item, const absl::Status& turn) {
  item.task(turn);
  item.task = nullptr;  // with what it holds
  absl::MutexLock lock(&mutex_);
  shares_.give_back(item.call.client);
}

void Worker::do_gone() {
  std::vector<Item> left;
  {
    absl::MutexLock lock(&mutex_);
    left = waiting_.remove([this](const Item& item) { return !gone(item.call).ok(); });
  }
  for (Item& item : left) {
    const absl::Status why = gone(item.call);
    do_task(std::move(item), why);
  }
}

bool Worker::may_begin(const Item& item) const {
  const std::string& caller = caller_of(item.call);
  if (caller.empty() || options_.threads == 1) return true;
  const auto running = running_.find(caller);
  return running == running_.end() || running->second + 1 < options_.threads;
}

void Worker::run() {
  while (true) {
    do_gone();
    std::optional<Item> item;
    {
      absl::MutexLock lock(&mutex_);
      item = waiting_.take([this](const Item& next) {
        mutex_.AssertHeld();
        return may_begin(next);
      });
      if (!item) {
        if (closed_ && waiting_.empty()) return;
        news_.Wait(&mutex_);
        continue;
      }
      ++running_[caller_of(item->call)];
    }
    const Call call = item->call;
    {
      const StopScope scope([this, &call] { return gave_up() || !gone(call).ok(); });
      do_task(*std::move(item), gone(call));
    }
    absl::MutexLock lock(&mutex_);
    const auto running = running_.find(caller_of(call));
    if (--running->second == 0) running_.erase(running);
    news_.SignalAll();  // another of the same caller may begin now
  }
}

}  // namespace axion::server::schedule
