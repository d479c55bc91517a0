#include "server/schedule/step_rules.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {
namespace {

absl::Status deadline_exceeded(std::int64_t steps_done) {
  return make_failure(absl::StatusCode::kDeadlineExceeded,
                      absl::StrCat("the deadline passed after ", steps_done, " steps of the request"),
                      {.reason = std::string(reason::kDeadline)});
}

template <typename T>
OutputView view_of(Field field, std::vector<T>& values, std::size_t first) {
  return {.field = field, .data = reinterpret_cast<std::byte*>(values.data() + first), .world_stride = sizeof(T)};
}

}  // namespace

absl::Status abandoned(const Call& call, absl::Time now, std::int64_t steps_done) {
  if (call.cancel != nullptr && call.cancel->is_set()) return cancelled();
  if (call.deadline <= now) return deadline_exceeded(steps_done);
  return absl::OkStatus();
}

absl::Status given_up(const Job& job, absl::string_view why) {
  const auto& work = std::get<StepWork>(job.work);
  const std::string worlds = job.worlds_done == 0 ? ""
                                                  : absl::StrCat(", and ", job.worlds_done, " of its worlds after ",
                                                                 job.steps_done + job.pass_steps);
  return make_failure(absl::StatusCode::kAborted,
                      absl::StrCat("request_id: \"", shown(work.request_id), "\" was given up after ", job.steps_done,
                                   " of ", work.step_count, " steps", worlds, ": ", why),
                      {.reason = std::string(reason::kGivenUp), .field = "request_id"});
}

absl::Status batch_deleted(const Job& job) {
  std::string told = absl::StrCat(job.batch->info.name, " is deleted");
  if (std::holds_alternative<StepWork>(job.work)) {
    absl::StrAppend(&told, "; ", job.steps_done, " steps of the request were made");
  }
  return make_failure(absl::StatusCode::kAborted, told, {.reason = std::string(reason::kCancelled)});
}

absl::Status check_incarnation(const BatchHandle& batch, const StepWork& work) {
  const std::int64_t is = batch.info.incarnation;
  if (!work.expected_incarnation || *work.expected_incarnation == is) return absl::OkStatus();
  return make_failure(
      absl::StatusCode::kAborted,
      absl::StrCat("expected_incarnation: is ", *work.expected_incarnation, " but the batch is ", is,
                   ": it has gone back to a checkpoint, since the server ended without saving, and world 0 is at step ",
                   batch.engine->step_index(0), "; look where the worlds stand and go on from there"),
      {.reason = std::string(reason::kRolledBack), .field = "expected_incarnation"});
}

absl::Status check_expected_step(const BatchHandle& batch, const StepWork& work) {
  if (!work.expected_step) return absl::OkStatus();
  for (std::size_t i = 0; i < world_count_of(work.world_indices, batch); ++i) {
    const std::int32_t world = world_at(work.world_indices, i);
    const std::int64_t at = batch.engine->step_index(world);
    if (at != *work.expected_step) {
      return make_failure(
          absl::StatusCode::kAborted,
          absl::StrCat("expected_step: is ", *work.expected_step, " but world ", world, " is at step ", at),
          {.reason = std::string(reason::kStepMismatch), .field = "expected_step"});
    }
  }
  return absl::OkStatus();
}

void carry_into_records(const BatchHandle& batch, const StepWork& work, const Stretch& stretch) {
  for (const OutputView& view : stretch.outputs) {
    if (view.field != Field::kOutcome) continue;
    for (std::size_t i = 0; i < stretch.world_count; ++i) {
      const std::int32_t world = world_at(work.world_indices, stretch.first_world + i);
      const std::uint32_t carried = batch.carried_outcome[static_cast<std::size_t>(world)];
      for (std::int64_t r = 0; r < stretch.record_count; ++r) {
        std::byte* at = view.data + i * view.world_stride + static_cast<std::size_t>(r) * view.record_stride;
        std::uint32_t outcome = 0;
        std::memcpy(&outcome, at, sizeof(outcome));
        outcome = combine_outcomes(carried, outcome);
        std::memcpy(at, &outcome, sizeof(outcome));
      }
    }
  }
}

std::array<OutputView, 3> views_of(StepAnswer& answer, std::size_t first) {
  return {view_of(Field::kTime, answer.time, first), view_of(Field::kStepIndex, answer.step_index, first),
          view_of(Field::kOutcome, answer.outcome, first)};
}

bool write_answer(StepAnswer& answer, Stretch& stretch) {
  if (stretch.request.record_every > 0) return false;
  for (const OutputView& view : views_of(answer, stretch.first_world)) stretch.outputs.push_back(view);
  stretch.request.outputs = stretch.outputs;
  return true;
}

}  // namespace axion::server::schedule
