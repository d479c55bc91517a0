// What the last step of each world left besides its state: contacts, and what the solver did. The device's owner only.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "axion/v1/solver.pb.h"
#include "axion/v1/state.pb.h"

#include "server/schedule/batch_handle.hpp"
#include "server/schedule/limits.hpp"

namespace axion::server::rpc {

// RESOURCE_EXHAUSTED where the answer would be too large.
absl::Status read_contacts(const schedule::BatchHandle& batch, const std::vector<std::int32_t>& worlds,
                           const schedule::Limits& limits, v1::GetContactsResponse& response);

absl::Status read_world_statistics(const schedule::BatchHandle& batch, const std::vector<std::int32_t>& worlds,
                                   v1::WorldSolverStats& message);

}  // namespace axion::server::rpc
