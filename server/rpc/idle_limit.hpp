// Ends a stream of one direction that stands still because its client sends nothing, or takes nothing.
//
// The stream ends in the callback of its one alarm and there alone: the end never meets a piece that is looked at.
// gRPC runs no reaction inside a Start call, so these are made under the mutex; an alarm may run its callback inside
// Cancel, which is called without it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <grpcpp/alarm.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace axion::server::rpc {

class IdleLimit {
 public:
  // `finish` is called once, after the first wait(), with the status of end(), or with DEADLINE_EXCEEDED. The object
  // may be gone when it returns.
  IdleLimit(absl::Duration limit, std::function<void(const absl::Status&)> finish);

  // Makes a Start call of gRPC, whose reaction the stream waits for; none where the stream has ended.
  void wait(const std::function<void()>& start) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of that reaction: false where the stream has ended meanwhile, and nothing of it may be used.
  bool take_up() ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a reaction that was taken up.
  void end(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void set_alarm(absl::Duration after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ring() ABSL_LOCKS_EXCLUDED(mutex_);

  const absl::Duration limit_;
  const std::function<void(const absl::Status&)> finish_;
  absl::Mutex mutex_;
  // Shared with end(), as its callback may delete this object meanwhile.
  std::shared_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
  bool waits_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time since_ ABSL_GUARDED_BY(mutex_);  // it waits
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace axion::server::rpc
