// Requests about worlds: checked, and turned into the engine's views of the message's own bytes.
//
// The views point into the message, which must outlive the job.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "axion/v1/simulation.pb.h"
#include "axion/v1/state.pb.h"

#include "engine/engine.hpp"

#include "server/schedule/batch_handle.hpp"
#include "server/schedule/job.hpp"
#include "server/schedule/limits.hpp"
#include "server/schedule/memory_budget.hpp"

namespace axion::server::rpc {

// Of the worlds that a request names, all of the batch where it names none.
inline std::int64_t count_of(std::span<const std::int32_t> worlds, const schedule::BatchHandle& batch) {
  return static_cast<std::int64_t>(schedule::world_count_of(worlds, batch));
}

// At most so long.
absl::Status check_request_id(absl::string_view id);

// In range and distinct. Empty stays empty: all worlds.
absl::StatusOr<std::vector<std::int32_t>> worlds_of(const google::protobuf::RepeatedField<std::int32_t>& indices,
                                                    const schedule::BatchInfo& batch);

// Everything of a step but its sink. `memory` holds what the answer takes, parsed and on its way. Makes the output
// tensors in `response`, which the engine writes in place.
absl::StatusOr<schedule::StepWork> to_step(const v1::StepRequest& request, const schedule::BatchInfo& batch,
                                           const schedule::Limits& limits, schedule::MemoryHold& memory,
                                           v1::StepResponse& response);

// `count` worlds. Errors name fields below `path`.
absl::StatusOr<StateUpdate> to_state(const v1::StateUpdate& message, const schedule::BatchInfo& batch,
                                     std::int64_t count, absl::string_view path = "state");

absl::StatusOr<BatchOverrides> to_overrides(const v1::BatchOverrides& message, const ModelInfo& model,
                                            std::int64_t count);

struct ParameterReading {
  Parameter parameter;
  std::span<double> out;
};

struct Reading {
  std::vector<OutputView> views;
  std::vector<ParameterReading> parameters;
  bool snapshot = false;
};

// Makes the tensors of a reading of state in `response` and returns the views to fill. No names: all fields.
absl::StatusOr<Reading> to_reading(const v1::GetStateRequest& request, const schedule::BatchInfo& batch,
                                   std::int64_t count, const schedule::Limits& limits, schedule::MemoryHold& memory,
                                   v1::GetStateResponse& response);

// RESOURCE_EXHAUSTED if an answer of this size cannot be sent.
absl::Status check_answer_bytes(double bytes, const schedule::Limits& limits);

}  // namespace axion::server::rpc
