// Who owns a device runs what waits for it, many steps in one launch.
//
// One thread at a time owns the device: a thread of its own, except that while that has nothing to do a short step may
// be run by the thread that submits it, if its call lends it. To wake another thread takes a good part of the time of
// such a step. What comes meanwhile waits for the device's thread, so a lent thread runs one step and goes. submit()
// may be called from any thread and waits for no other. The thread that owns the device goes by this:
//   - the jobs of a batch run in the order in which they were submitted; batches do not wait for each other;
//   - waiting steps of distinct batches go into one Engine::step;
//   - a long step is cut into stretches (launch_plan.hpp), and what comes in meanwhile joins the next launch;
//   - expected_step and request_id are looked at before a job's first launch, deadlines and cancellations before every
//     one. A step that no call waits for any more ends there: its worlds then stand at the steps they reached. One with
//     a request_id rests: a repetition goes on with it and gets the whole answer, anything else that changes the batch
//     ends it, and a repetition is ABORTED from then on. So no step is made twice, and none in vain;
//   - work that ends a batch ends its steps, too;
//   - other work (pass.hpp) is cut, too: some pieces of it, by turns (turns.hpp), are done between two launches.
//     Between pieces it ends if no caller waits for it, unless it has begun to change its batch; what needs no device
//     and is long is done by another thread meanwhile;
//   - batches whose lease has run out are destroyed.
// With max_batch_delay, a launch waits that long for jobs of batches that have none waiting yet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

#include "engine/engine.hpp"

#include "server/schedule/job.hpp"
#include "server/schedule/job_queue.hpp"
#include "server/schedule/launch_plan.hpp"
#include "server/schedule/observer.hpp"
#include "server/schedule/registry.hpp"
#include "server/schedule/steady_time.hpp"
#include "server/schedule/turns.hpp"

namespace axion::server::schedule {

struct StepBatcherOptions {
  std::size_t max_queue = 4096;
  absl::Duration max_batch_delay = absl::ZeroDuration();
  absl::Duration shared_slice = absl::Milliseconds(2);  // how long a launch may last when other batches step, too
  absl::Duration alone_slice = absl::Milliseconds(50);  // when none do
  absl::Duration short_step = absl::Microseconds(250);  // the longest step that runs on a lent thread
  std::int64_t max_launch_steps = 0;                    // fixes the steps of a launch; 0: paced by the slices
  std::size_t max_launch_worlds = SIZE_MAX;             // and with it the worlds of each step
  std::size_t max_piece_items = 0;                      // fixes the items of a piece of other work; 0: paced
  // Has a task done by another thread, which calls it once (Worker::submit). None: what is long is done by the
  // device's.
  std::function<absl::Status(const Call&, std::function<void(const absl::Status& turn)>)> beside = {};
  std::function<absl::Time()> clock = steady_now;  // of leases, deadlines and waits
  // Called once by the device's thread when all work has ended, before the batches are destroyed.
  // Not after a fault of the device: what is on it then is not worth keeping.
  std::function<void(std::span<const std::shared_ptr<BatchHandle>>)> at_end = {};
  // Called once, by the device's owner, when the device has failed. Nothing new is taken and all that waits is refused.
  std::function<void(const std::string& what)> on_fault = {};
};

class StepBatcher {
 public:
  // `registry` and `observer` outlive the batcher.
  StepBatcher(std::unique_ptr<Engine> engine, Registry& registry, Observer& observer, StepBatcherOptions options);
  // As drain without time.
  ~StepBatcher();
  StepBatcher(const StepBatcher&) = delete;
  StepBatcher& operator=(const StepBatcher&) = delete;

  // RESOURCE_EXHAUSTED when the queue is full, UNAVAILABLE once draining. Then nothing of the job is called. The caller
  // holds no lock that the job's sink takes.
  absl::Status submit(std::unique_ptr<Job> job);
  // Takes nothing new from now on; drain() does so too.
  void close() { queue_.close(); }
  // Takes nothing new, finishes what waits, destroys all batches. False if `limit` passed first; what was left has then
  // been refused: with UNAVAILABLE, or ABORTED where steps of it were made. A launch in hand is always finished.
  bool drain(absl::Duration limit) ABSL_LOCKS_EXCLUDED(device_mutex_);
  // Makes the device's thread look at the clock again.
  void wake() { queue_.wake(); }

  DeviceInfo device() const ABSL_LOCKS_EXCLUDED(device_mutex_);
  absl::Time now() const { return options_.clock(); }

 private:
  // A step that takes part in the launch being made.
  struct Entry {
    Job* job = nullptr;
    Stretch stretch;
    bool answer_written = false;  // by the launch, into the job's answer
    bool ended = false;
  };
  enum class Admission { kReady, kEnded, kResting };

  void run();
  // One round over what is in hand; at most one launch. With max_batch_delay the time to wait for more before the next.
  absl::Duration run_waiting();
  // Whether a thread that serves the network may run the job instead of the device's thread.
  bool may_run_on_lent_thread(const Job& job) const;
  absl::Duration idle_timeout() const;
  void destroy_expired();
  // What may be done now, of each batch at most one: steps that are ready for a launch, and other work. Refuses what
  // no call waits for.
  void collect(std::vector<Job*>& ready, std::vector<Job*>& works);

  // ---- Other work (device_work.cpp) ----
  // Pieces of it by turns, for a part of a slice.
  void do_pieces(std::vector<Job*>& works);
  // False: the job has ended.
  bool do_piece(Job& job);
  absl::Status do_items(Job& job, const Pass& pass);
  absl::Status begin_work(Job& job);
  absl::Status do_beside(Job& job, const Pass& pass);
  void end_work(Job& job, const absl::Status& status);
  bool is_away(const Job& job) const;

  // Whether the step is ready for a launch, has been answered, or rests.
  Admission admit_step(Job& job);
  // Of a step that was begun and that no call waits for: whether what comes behind it wants it to go on, to end, or
  // neither.
  Admission take_up(Job& job, const absl::Status& why);
  // Ends the steps, and readings under way, of batches that jobs in hand are going to end.
  void end_jobs_of_ending_batches();
  // Whether other batches wait, or were in a launch lately, so that a step of theirs may come at any time.
  bool has_company(const std::vector<Job*>& ready);
  bool should_wait(const std::vector<Job*>& ready, absl::Duration& timeout) const;
  // The ready steps that the next launch is for (launch_plan.hpp, quick).
  std::vector<Job*> choose(const std::vector<Job*>& ready);
  void launch(const std::vector<Job*>& ready);
  void step_entries(std::span<Entry> entries);
  void measure(std::span<const Entry> entries, absl::Duration duration, const StepStatistics& statistics);
  void advance(Entry& entry);
  // The job's answer as of the stretch just made, with the outcome of the request so far.
  absl::Status complete_answer(const Entry& entry);
  void answer(Job& job);
  void succeed(Job& job);  // its sink is told and its answer remembered
  void fail(Entry& entry, const Error& error);
  void end_job(Job& job, const absl::Status& status);
  // Ends a step that was begun and can not be taken up again.
  void give_up(Job& job, const absl::Status& status);
  void forget(std::unique_ptr<Job>& job);  // that has ended, and its place in the queue
  void forget_ended();
  void refuse_all(const absl::Status& status);
  void take_fault(const Error& error);
  void update_device_info() ABSL_LOCKS_EXCLUDED(device_mutex_);

  const StepBatcherOptions options_;
  Registry& registry_;
  Observer& observer_;
  JobQueue<std::unique_ptr<Job>> queue_;

  // The device's owner only: it is handed on through the queue.
  std::unique_ptr<Engine> engine_;
  std::vector<std::unique_ptr<Job>> waiting_;  // in order of admission; null once ended
  std::size_t resting_ = 0, away_ = 0;         // of them; away: a pass of it is done by another thread
  Turns turns_;
  LaunchPacer pacer_;
  absl::Time launch_begin_;                          // of the launch under way
  bool launched_quick_ = false;                      // the latest launch was of quick steps alone
  absl::Status fault_;                               // of the device; OK as long as it works
  const BatchHandle* last_batch_ = nullptr;          // of the latest launch; never followed
  absl::Time company_until_ = absl::InfinitePast();  // until then more than one batch counts as stepping

  mutable absl::Mutex device_mutex_;
  DeviceInfo device_ ABSL_GUARDED_BY(device_mutex_);

  CancelFlag stop_;  // give up what is left
  absl::Notification ended_;
  std::thread thread_;
};

}  // namespace axion::server::schedule
