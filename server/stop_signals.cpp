#include "server/stop_signals.hpp"

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace axion::server {
namespace {

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  return signals;
}

// By the signal's default, so that a parent sees what ended it.
void end_by(int number) {
  const sigset_t signals = stop_signals();
  std::signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  std::raise(number);
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([this] { take(); }).detach();
}

void StopSignals::defer() {
  absl::MutexLock lock(&mutex_);
  deferred_ = true;
}

void StopSignals::ask(int signal) {
  absl::MutexLock lock(&mutex_);
  if (asked_ == 0) asked_ = signal;
}

int StopSignals::wait() {
  const auto is_asked = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return asked_ != 0; };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&is_asked));
  return asked_;
}

void StopSignals::take() {
  const sigset_t signals = stop_signals();
  while (true) {
    int number = 0;
    sigwait(&signals, &number);
    absl::MutexLock lock(&mutex_);
    if (!deferred_) {
      end_by(number);
    } else if (!std::exchange(came_, true)) {
      if (asked_ == 0) asked_ = number;
    } else if (number != SIGHUP) {
      end_by(number);
    }
  }
}

}  // namespace axion::server
