// The episodes of a batch with a task in the snapshots of its worlds.
//
//   | the engine's snapshot | Episodes::save | sum over all before, 8 | length of the second, 4 | "AXIONTSK" |
//
// little-endian. What has no such end is the engine's alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "engine/engine.hpp"

#include "server/schedule/batch_handle.hpp"

namespace axion::server::schedule {

std::string with_episode(std::string snapshot, const std::string& episode);

// The episodes among the snapshots of a state update. They are checked before the engine takes its part and loaded
// after it. A batch without a task leaves them alone; a snapshot without one leaves the world's episode as it is.
class EpisodesOfSnapshots {
 public:
  // Errors name fields below `field`.
  absl::Status take(const BatchHandle& batch, const StateUpdate& state, absl::string_view field);
  // For the engine; as long as the update that was taken.
  const StateUpdate& state() const { return state_; }
  // Into the worlds asked for whose indices are [first, last).
  absl::Status load(BatchHandle& batch, std::span<const std::int32_t> worlds, std::size_t first,
                    std::size_t last) const;

 private:
  StateUpdate state_;
  std::vector<std::string_view> episodes_;  // of each snapshot; empty: none
};

}  // namespace axion::server::schedule
