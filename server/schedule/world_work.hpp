// What goes over worlds, as passes (pass.hpp): changes of their state, how they begin, and what is read of them.
//
// A change is prepared first, which refuses what is wrong and works out worlds' own numbers beside the device where
// that is long; then it is made, some worlds at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "engine/engine.hpp"

#include "server/schedule/batch_handle.hpp"
#include "server/schedule/pass.hpp"
#include "server/schedule/task_snapshot.hpp"

namespace axion::server::schedule {

struct WorldChange {
  std::vector<std::int32_t> worlds = {};  // empty: all
  StateUpdate state = {};                 // what its views refer to lives as long as the change
  // Resets them first and adds the batch's initial noise, or begins their next episodes, except of worlds that start at
  // a snapshot; -1: at the initial state.
  std::optional<int> keyframe = {};
  std::vector<std::uint64_t> seeds =
      {};                       // one a world, or empty: the batch's seed, or of a task the seeds that the worlds have
  std::string field = "state";  // of the request, which errors name
};
std::vector<Pass> change_passes(std::shared_ptr<BatchHandle> batch, WorldChange change);

// Makes the worlds that a handle's info describes, without beginning them, and fills in what follows from them.
// RESOURCE_EXHAUSTED where they do not fit in the handle's memory, or the device's. The device's owner only.
absl::Status make_worlds(Engine& engine, BatchHandle& batch, const BatchOverrides& overrides);
// Then: their first state, with noise and episodes.
std::vector<Pass> start_passes(std::shared_ptr<BatchHandle> batch, const BatchOverrides& overrides);

// Of those asked for (none: all) the indices [first, last).
std::vector<std::int32_t> group_of(std::span<const std::int32_t> worlds, std::size_t first, std::size_t last);
// Views of what comes after the first so many worlds.
std::vector<OutputView> after(std::span<const OutputView> views, std::size_t worlds);

// ---- The device's owner only ----
// Fields of worlds, with outcomes of whole requests. Errors are the engine's.
absl::Status read_fields(const BatchHandle& batch, std::span<const std::int32_t> worlds,
                         std::span<const OutputView> outputs);
// Snapshots of worlds, in order, with outcomes of whole requests and, of a batch with a task, their episodes; ends with
// the error that `take` returns.
absl::Status read_snapshots(const BatchHandle& batch, std::span<const std::int32_t> worlds,
                            const std::function<absl::Status(std::string)>& take);

}  // namespace axion::server::schedule
