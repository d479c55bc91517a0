// Signals that ask the program to end: SIGTERM, SIGINT and SIGHUP.
//
// They are blocked in all threads and taken by one that waits for nothing else, so no moment is without one that takes
// them. Until the program serves, one ends it at once, as if it had not been taken. From then on the first one is an
// answer of `wait`, and the program drains. A second one ends it at once, but for SIGHUP: when a terminal goes, the
// kernel and a shell send one each.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace axion::server {

class StopSignals {
 public:
  // Blocks the signals for the calling thread and for every thread that it makes later. Call it before any other thread
  // is made, which would take signals by their default. The object lives until the process ends.
  StopSignals();
  ~StopSignals() = delete;
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // From now on the first signal is an answer of `wait`. Call it before anybody is told that the program serves.
  void defer() ABSL_LOCKS_EXCLUDED(mutex_);

  // Has `wait` return as if this signal had come; the program's own wish to end, which counts as no signal. Any thread.
  void ask(int signal) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the number of the signal that came first since `defer` or that was asked for.
  int wait() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  [[noreturn]] void take();

  absl::Mutex mutex_;
  bool deferred_ ABSL_GUARDED_BY(mutex_) = false;
  bool came_ ABSL_GUARDED_BY(mutex_) = false;  // a signal, since `defer`
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;      // what `wait` answers; 0: nothing yet
};

}  // namespace axion::server
