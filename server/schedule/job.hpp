// A piece of work for the owner of the device (step_batcher.hpp): a step, or anything else that touches a batch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "engine/engine.hpp"

#include "server/schedule/batch_handle.hpp"
#include "server/schedule/call.hpp"
#include "server/schedule/pass.hpp"

namespace axion::server::schedule {

// Of the worlds asked for, after the last step.
struct StepAnswer {
  std::vector<double> time;  // s
  std::vector<std::int64_t> step_index;
  std::vector<std::uint32_t> outcome;
};

struct StepWork;

// Who asked for a step. Owns the memory behind the job's views until one of these has been called, which happens once,
// by the device's owner: with Call::lends_thread perhaps within submit(). They must be quick.
class StepSink {
 public:
  virtual ~StepSink() = default;
  // Before the step's first launch, when all that came before it is done: the last word on what it is, which may depend
  // on where its worlds stand. May be called again until that launch. False: nothing is to be stepped, and the step has
  // succeeded.
  virtual absl::StatusOr<bool> prepare(BatchHandle&, StepWork&) { return true; }
  // The outputs are written. Returns what a repetition of the request should get if `remember`.
  virtual std::shared_ptr<const StepMemory> succeed(StepAnswer answer, bool remember) = 0;
  // The request was answered before, with this.
  virtual void replay(const StepMemory& memory) = 0;
  // Nothing has been changed, unless the status says so.
  virtual void fail(const absl::Status& status) = 0;
};

struct StepWork {
  std::vector<std::int32_t> world_indices;  // empty: all
  std::int64_t step_count = 1;
  InputView control, body_wrench, mocap_pose;
  InputView action;               // of a step of the batch's task, whose sink makes the control of it
  std::int64_t record_every = 0;  // 0, or a divisor of step_count
  std::vector<OutputView> outputs;
  std::optional<std::int64_t> expected_step;
  std::optional<std::int64_t> expected_incarnation;
  std::string request_id;          // empty: none
  std::uint64_t request_hash = 0;  // of what is asked for with it; 0: not known
  std::shared_ptr<StepSink> sink;
};

// What other work does to a batch, beside a step of it that is under way.
enum class Effect {
  kReads,      // looks at it
  kChanges,    // so a step that no call waits for is not taken up again
  kEndsBatch,  // steps that are under way or wait end, too
};

// Anything else, in passes one after the other; its batch waits for all of them. `finish` is called once, by the
// device's owner.
struct DeviceWork {
  Effect effect = Effect::kChanges;
  bool renews_lease = true;  // of its batch
  // Runs between the launches of a step of its batch that is under way, and sees the worlds as they stand. Looks only.
  bool overtakes_steps = false;
  // Under way it ends between two pieces where its batch is to end, as steps do. It changes nothing.
  bool ends_with_batch = false;
  std::vector<Pass> passes;
  std::function<void(const absl::Status& status)> finish;
};

// A pass that has been given to another thread.
struct PassBeside {
  absl::Status status;            // once done
  std::atomic<bool> done{false};  // set by that thread
};

struct Job {
  Call call;
  std::shared_ptr<BatchHandle> batch;  // none for work that makes one
  std::variant<StepWork, DeviceWork> work;

  // Kept by the batcher. Of other work: where it is.
  bool work_begun = false, committed = false;  // committed: a pass that changes the batch has begun
  std::size_t pass = 0, items_done = 0;
  double item_cost = 0;                // s, of the pass; 0: not known
  std::shared_ptr<PassBeside> beside;  // none: nothing is
  // Of a step. All worlds have made `steps_done` steps, and where a pass is under way, some of them more.
  absl::Time admitted_at;
  std::int64_t steps_done = 0;
  std::int64_t pass_steps = 0;  // that each world makes in the pass; 0: none is under way
  absl::Time rests_since = absl::InfiniteFuture();
  std::size_t worlds_done = 0;  // worlds that have made them, the first of those asked for
  StepAnswer answer;            // of a step: as of its last launch
  bool begun() const { return steps_done > 0 || worlds_done > 0; }
};

}  // namespace axion::server::schedule
