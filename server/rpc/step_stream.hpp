// One StepStream: requests are taken ahead of their answers, up to a bound, and answered in order.
//
//   read -> exchanges_ (in order of arrival) -> device's owner -> ready -> written from the front
//
// A refused request ends the stream with its status once the answers before it are written; what came after it is
// cancelled. The stream ends OK when the client has closed its side and everything is answered. gRPC runs no reaction
// inside a Start call, so these are made under the mutex.
//
// Two kinds of client want two kinds of thread. A client that waits for each answer before it sends the next request is
// served best by the thread that read the request: no other thread has to be woken, and the transport sends its
// acknowledgement together with the answer. For a client that sends several requests ahead, the reading thread should
// go on reading and leave the step to the device's thread. The stream finds out which kind it has by leaving a step to
// the device's thread now and then: if another request arrives while that step runs, the client sends ahead.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "axion/v1/simulation.pb.h"

#include "server/rpc/admission.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/schedule/job.hpp"

namespace axion::server::rpc {

class StepStreamReactor final : public WireStream {
 public:
  // A caller who is not admitted is told so, and nothing is read.
  StepStreamReactor(SimulationService& service, grpc::CallbackServerContext& context, absl::StatusOr<Caller> caller);
  void start() ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads nothing more; ends with UNAVAILABLE when everything is answered.
  void drain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whose limit it counts for; none where the caller was not admitted.
  const std::optional<std::string>& tenant() const { return tenant_; }

 private:
  struct Exchange {
    grpc::ByteBuffer bytes;  // of the request while it is read, of the answer while it is written
    v1::StepRequest request;
    v1::StepResponse response;
    absl::Time start;
    std::unique_ptr<CallTrace> trace;  // where its client has the stream traced
    std::shared_ptr<schedule::CancelFlag> cancel = std::make_shared<schedule::CancelFlag>();
    schedule::RequestSlot slot;
    schedule::MemoryHold memory;  // of request and answer
    bool ready = false;
    absl::Status status;
  };

  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDone() override;

  // Whether the token still holds and the tenant may have one more request under way.
  absl::Status admit(Exchange& exchange);
  // Counts this stream among the streams of the batch that a request names.
  void attach(const std::string& batch);
  void complete(const std::shared_ptr<Exchange>& exchange, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void take_result(Exchange& exchange, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the request just read may run on the thread that read it.
  bool lends_thread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts what can be started: a write or a read. Returns how the stream ends once nothing is left, which is told by
  // finish() after the mutex has been released: from then on another thread may delete this object, and where nothing
  // is returned, from the release of the mutex on.
  using End = std::optional<absl::Status>;
  [[nodiscard]] End pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void finish(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void end(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SimulationService& service_;
  grpc::CallbackServerContext& context_;
  absl::StatusOr<Caller> caller_;  // of the reads, which do not overlap
  const std::optional<std::string> tenant_;
  std::string last_batch_;             // that a request named; of the reads
  std::vector<std::string> attached_;  // batches that count this stream among theirs; of the reads
  const std::size_t bound_;            // of requests in flight

  absl::Mutex mutex_;
  std::deque<std::shared_ptr<Exchange>> exchanges_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Exchange> reading_ ABSL_GUARDED_BY(mutex_);  // a read is in hand
  // The last that was read, until submit has returned: it may yet be refused, and what follows must come after it.
  std::shared_ptr<Exchange> submitting_ ABSL_GUARDED_BY(mutex_);
  int jobs_ ABSL_GUARDED_BY(mutex_) = 0;  // submitted and not completed
  // Above 0 a step may run on the thread that read it. Counts steps, from far below 0 where one was sent ahead.
  int phase_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool refused_ ABSL_GUARDED_BY(mutex_) = false;            // a request was refused: take no more
  std::optional<CallNames> names_ ABSL_GUARDED_BY(mutex_);  // of the request that was refused first
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(mutex_);  // ends with this once nothing is in hand
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace axion::server::rpc
