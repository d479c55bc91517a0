// How steps end that do not succeed: refused, given up, or lost with the device.
#include <algorithm>
#include <variant>

#include "server/schedule/failure.hpp"
#include "server/schedule/step_batcher.hpp"
#include "server/schedule/step_rules.hpp"

namespace axion::server::schedule {

void StepBatcher::fail(Entry& entry, const Error& error) {
  entry.ended = true;
  end_job(*entry.job, from_engine(error));
}

// Ends a job: with a status that is not OK its sink is told. The slot in waiting_ is dropped by forget_ended.
void StepBatcher::end_job(Job& job, const absl::Status& status) {
  if (!status.ok()) {
    if (auto* step = std::get_if<StepWork>(&job.work)) {
      step->sink->fail(status);
    } else {
      std::get<DeviceWork>(job.work).finish(status);
    }
  }
  forget(*std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& held) { return held.get() == &job; }));
}

void StepBatcher::forget(std::unique_ptr<Job>& job) {
  queue_.finished(job->call.client);
  job.reset();
}

void StepBatcher::forget_ended() {
  const auto before = waiting_.size();
  std::erase(waiting_, nullptr);
  if (waiting_.size() != before) observer_.on_queue_depth(static_cast<std::int64_t>(queue_.depth()));
}

void StepBatcher::take_fault(const Error& error) {
  if (!fault_.ok()) return;
  fault_ = device_fault(error.message);
  queue_.close();
  if (options_.on_fault) options_.on_fault(error.message);
}

void StepBatcher::refuse_all(const absl::Status& status) {
  for (auto& job : waiting_) {
    if (job == nullptr || is_away(*job)) continue;  // one that is away comes back soon
    if (job->committed && fault_.ok()) {
      while (do_piece(*job)) {
      }
      continue;
    }
    // A client that hears that a step of which some was made could not be made tries again, and makes it twice.
    const auto* work = std::get_if<StepWork>(&job->work);
    // After a fault the batch goes back to a checkpoint, and its steps can be made again.
    if (work == nullptr || !job->begun() || !fault_.ok()) {
      end_job(*job, status);
      continue;
    }
    const absl::Status why = given_up(*job, kServerEnded);
    if (!work->request_id.empty())
      job->batch->replays.put(work->request_id,
                              {.memory = nullptr, .refusal = why, .request_hash = work->request_hash});
    ++job->batch->changes;
    end_job(*job, why);
  }
}

}  // namespace axion::server::schedule
