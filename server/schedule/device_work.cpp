// Work at the device beside steps, in pieces.
#include <algorithm>
#include <memory>
#include <utility>

#include "server/schedule/failure.hpp"
#include "server/schedule/memory_budget.hpp"
#include "server/schedule/step_batcher.hpp"

namespace axion::server::schedule {
namespace {

constexpr double kPiecesPart = 1.0 / 3;  // of a shared slice: what is done between two launches
constexpr double kPiecePart = 1.0 / 6;   // and what one piece takes of it
constexpr double kMaxGrowth = 16;        // of a piece over the one before, whose cost may be another

}  // namespace

void StepBatcher::do_pieces(std::vector<Job*>& works) {
  const absl::Time end = steady_now() + kPiecesPart * options_.shared_slice;
  while (!works.empty()) {
    turns_.sort(works);
    std::vector<Job*> left;
    for (Job* job : works) {
      if (do_piece(*job) && job->beside == nullptr) left.push_back(job);
      if (options_.max_piece_items == 0 && steady_now() >= end) return;
    }
    if (options_.max_piece_items > 0) return;
    works = std::move(left);
  }
}

bool StepBatcher::do_piece(Job& job) {
  const auto& work = std::get<DeviceWork>(job.work);
  absl::Status status;
  if (!job.committed) status = stop_.is_set() ? draining() : abandoned(job.call, options_.clock());
  if (status.ok() && !job.work_begun) status = begin_work(job);
  if (const auto beside = std::exchange(job.beside, nullptr)) {
    status.Update(beside->status);
    ++job.pass;
  }
  if (status.ok() && job.pass < work.passes.size()) {
    const Pass& pass = work.passes[job.pass];
    if (pass.beside) {
      status = do_beside(job, pass);
      if (job.beside != nullptr) return true;
    } else if (pass.count > 0) {
      status = do_items(job, pass);
    }
    if (pass.beside || job.items_done == pass.count) {
      job.items_done = 0, job.item_cost = 0;
      ++job.pass;
    }
    if (status.ok() && job.pass < work.passes.size()) return true;
  }
  end_work(job, status);
  return false;
}

absl::Status StepBatcher::begin_work(Job& job) {
  const auto& work = std::get<DeviceWork>(job.work);
  if (!work.overtakes_steps) observer_.on_queue_wait(options_.clock() - job.admitted_at);
  job.work_begun = !work.overtakes_steps;
  if (job.call.times != nullptr) job.call.times->add({.begin = options_.clock()});
  if (job.batch == nullptr) return absl::OkStatus();
  if (job.batch->engine == nullptr) return not_found("batch", job.batch->info.name);
  if (work.effect != Effect::kReads) ++job.batch->changes;
  return absl::OkStatus();
}

absl::Status StepBatcher::do_items(Job& job, const Pass& pass) {
  const std::size_t first = job.items_done;
  const double slice = kPiecePart * absl::ToDoubleSeconds(options_.shared_slice);
  double portion = static_cast<double>(options_.max_piece_items);
  if (portion == 0) {
    portion = job.item_cost > 0 ? slice / job.item_cost : 1;
    if (first > 0) portion = std::min(portion, kMaxGrowth * static_cast<double>(first));
  }
  const std::size_t count = std::min(pass.count - first, static_cast<std::size_t>(std::clamp(portion, 1.0, 1e9)));
  const absl::Time start = steady_now();
  const absl::Status status = guarded([&] { return pass.run(*engine_, first, first + count); });
  const double seconds = absl::ToDoubleSeconds(steady_now() - start);
  job.item_cost = seconds / static_cast<double>(count);
  job.items_done += count;
  job.committed = job.committed || pass.changes;
  turns_.served(job, seconds);
  return status;
}

absl::Status StepBatcher::do_beside(Job& job, const Pass& pass) {
  const auto run = [this, &pass] { return guarded([&] { return pass.run(*engine_, 0, pass.count); }); };
  if (!options_.beside) return run();
  job.beside = std::make_shared<PassBeside>();
  const auto task = [this, run, beside = job.beside](const absl::Status& turn) {
    const StopScope scope([this] { return stop_.is_set(); });
    beside->status = turn.ok() ? run() : turn;
    beside->done.store(true, std::memory_order_release);
    queue_.wake();
  };
  absl::Status submitted = options_.beside(job.call, task);
  if (!submitted.ok()) job.beside = nullptr;
  return submitted;
}

bool StepBatcher::is_away(const Job& job) const {
  return job.beside != nullptr && !job.beside->done.load(std::memory_order_acquire);
}

void StepBatcher::end_work(Job& job, const absl::Status& status) {
  const auto& work = std::get<DeviceWork>(job.work);
  if (job.work_begun && job.batch != nullptr && work.renews_lease) registry_.touch(*job.batch, options_.clock());
  // Only making and deleting batches changes what the device holds.
  if (job.batch == nullptr || job.batch->engine == nullptr) update_device_info();
  work.finish(status);
  end_job(job, absl::OkStatus());
}

}  // namespace axion::server::schedule
