// One Watch: frames of a batch that another client steps.
//
//   alarm -> look (a job of the device's owner, between launches) -> write -> alarm ...
//
// One thing is in hand at a time, so nothing is ever queued: while a client has not taken a frame, no other is made,
// and the alarm is not even set. Between looks only the name of the batch is kept, so that its lease can end. All
// watches together take at most a share of the device's time: a look that took long is followed by a long pause.
// gRPC runs no reaction inside a Start call, so these are made under the mutex; an alarm may run its callback inside
// Cancel, which is called without it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "axion/v1/watch.pb.h"

#include "server/rpc/admission.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/schedule/job.hpp"
#include "server/schedule/memory_budget.hpp"

namespace axion::server::rpc {

class WatchReactor final : public WatchStream {
 public:
  WatchReactor(SimulationService& service, grpc::CallbackServerContext& context);
  // A caller who is not admitted, or a request that is wrong, ends the stream.
  void start(grpc::ByteBuffer& request) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends with UNAVAILABLE.
  void drain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whose limit it counts for; none where the caller was not admitted.
  const std::optional<std::string>& tenant() const { return tenant_; }

 private:
  struct Frame {
    v1::WatchResponse message;
    grpc::ByteBuffer bytes;
    schedule::MemoryHold memory;
  };

  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone() override;

  absl::Status begin(grpc::ByteBuffer& request);
  // Has the device's owner look at the batch.
  void look() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status submit_look() ABSL_LOCKS_EXCLUDED(mutex_);
  // The device's owner: a frame, or none where nothing has changed since the one before.
  absl::StatusOr<std::unique_ptr<Frame>> make_frame(const schedule::BatchHandle& batch);
  absl::Status fill(const schedule::BatchHandle& batch, Frame& frame);
  // A look has ended, and `took` of the device's time.
  void complete(absl::StatusOr<std::unique_ptr<Frame>> frame, absl::Duration took) ABSL_LOCKS_EXCLUDED(mutex_);
  void end(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void wait_for_next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the stream where it is to end: nothing of this object may be used after.
  void finish(const absl::Status& status);

  SimulationService& service_;
  grpc::CallbackServerContext& context_;
  const std::shared_ptr<schedule::CancelFlag> cancel_ = std::make_shared<schedule::CancelFlag>();

  // Set by start() before the first look.
  std::optional<std::string> tenant_;
  absl::Duration period_;
  v1::WatchRequest request_;
  schedule::MemoryHold request_memory_;

  // Of the thread that has the one thing in hand.
  absl::StatusOr<Caller> caller_ = absl::UnknownError("");
  std::optional<std::uint64_t> seen_changes_;  // BatchHandle::changes of the last frame

  absl::Mutex mutex_;
  std::unique_ptr<Frame> frame_ ABSL_GUARDED_BY(mutex_);  // on its way
  // Waited for; shared with who cancels it, as its callback may delete this object meanwhile.
  std::shared_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
  bool in_hand_ ABSL_GUARDED_BY(mutex_) = false;  // a look, a write or an alarm
  absl::Time due_ ABSL_GUARDED_BY(mutex_);        // of the next look
  std::int64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t dropped_told_ = 0;  // to the metrics; of the looks
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace axion::server::rpc
