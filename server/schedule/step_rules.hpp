// What a step is refused with, and how its answer is made of stretches. The device's owner only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "engine/engine.hpp"

#include "server/schedule/job.hpp"
#include "server/schedule/launch_plan.hpp"

namespace axion::server::schedule {

// Why a repetition of a request is refused that was begun and given up.
inline constexpr absl::string_view kNobodyWaited =
    "nobody waited for it any more, and other work on its batch followed";
inline constexpr absl::string_view kServerEnded = "the server ended";
absl::Status given_up(const Job& job, absl::string_view why = kNobodyWaited);
absl::Status batch_deleted(const Job& job);
absl::Status check_incarnation(const BatchHandle& batch, const StepWork& work);
absl::Status check_expected_step(const BatchHandle& batch, const StepWork& work);

// The engine's outcomes of a stretch begin anew; a request has one outcome, so recorded ones take up what came before.
void carry_into_records(const BatchHandle& batch, const StepWork& work, const Stretch& stretch);
// Where time, step index and outcome of the answer go, from world `first` on.
std::array<OutputView, 3> views_of(StepAnswer& answer, std::size_t first);
// The launch itself writes the answer, on the threads that step, where it makes one record or none: the answer is of
// its last step. False where it makes several.
bool write_answer(StepAnswer& answer, Stretch& stretch);

}  // namespace axion::server::schedule
