#include "server/observe/log_queue.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace axion::server::observe {
namespace {

constexpr absl::Duration kLastFlush = absl::Seconds(1);
constexpr int kPollMilliseconds = 1000;
constexpr absl::Duration kRetry = absl::Milliseconds(100);  // after a write that failed

// True when all is written. A pipe that is ready takes PIPE_BUF bytes without blocking, so no more is given at once.
bool write_all(int descriptor, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    pollfd polled{descriptor, POLLOUT, 0};
    if (poll(&polled, 1, kPollMilliseconds) == 0) continue;
    const ssize_t count = write(descriptor, text.data() + done, std::min<std::size_t>(text.size() - done, PIPE_BUF));
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count < 0 && errno != EINTR && errno != EAGAIN) {
      return false;
    }
  }
  return true;
}

}  // namespace

struct LogQueue::State {
  State(int the_descriptor, std::size_t the_limit) : descriptor(the_descriptor), limit(the_limit) {}
  const int descriptor;
  const std::size_t limit;
  mutable absl::Mutex mutex;
  std::deque<std::string> lines ABSL_GUARDED_BY(mutex);
  std::size_t bytes ABSL_GUARDED_BY(mutex) = 0;
  std::int64_t dropped ABSL_GUARDED_BY(mutex) = 0;
  std::int64_t unreported ABSL_GUARDED_BY(mutex) = 0;
  bool writing ABSL_GUARDED_BY(mutex) = false;
  bool stopping ABSL_GUARDED_BY(mutex) = false;
};

LogQueue::LogQueue(int descriptor, std::size_t max_bytes) : state_(std::make_shared<State>(descriptor, max_bytes)) {
  std::thread([state = state_] { run(state); }).detach();
}

LogQueue::~LogQueue() {
  flush(kLastFlush);
  absl::MutexLock lock(&state_->mutex);
  state_->stopping = true;
}

void LogQueue::push(std::string line) {
  absl::MutexLock lock(&state_->mutex);
  if (state_->bytes + line.size() > state_->limit) {
    ++state_->dropped;
    ++state_->unreported;
    return;
  }
  state_->bytes += line.size();
  state_->lines.push_back(std::move(line));
}

bool LogQueue::flush(absl::Duration limit) {
  absl::MutexLock lock(&state_->mutex);
  const auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    return state_->lines.empty() && !state_->writing;
  };
  return state_->mutex.AwaitWithTimeout(absl::Condition(&done), limit);
}

std::int64_t LogQueue::dropped() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->dropped;
}

void LogQueue::run(const std::shared_ptr<State>& state) {
  const auto work = [state]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state->mutex) {
    return !state->lines.empty() || state->stopping;
  };
  while (true) {
    std::string line;
    std::int64_t missing = 0;
    {
      absl::MutexLock lock(&state->mutex);
      state->mutex.Await(absl::Condition(&work));
      if (state->stopping) return;
      line = std::move(state->lines.front());
      state->lines.pop_front();
      state->bytes -= line.size();
      state->writing = true;
      missing = state->unreported;
    }
    bool written = write_all(state->descriptor, line);
    if (written && missing > 0) {
      write_all(state->descriptor, absl::StrCat("level=warning event=log_dropped lines=", missing, "\n"));
    }
    {
      absl::MutexLock lock(&state->mutex);
      state->writing = false;
      if (written) {
        state->unreported -= missing;
      } else {
        ++state->dropped;
        ++state->unreported;
      }
    }
    if (!written) absl::SleepFor(kRetry);
  }
}

}  // namespace axion::server::observe
