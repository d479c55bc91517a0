// Whole batches as bytes, and back: schema version 1, whose messages are in proto/axion/v1/snapshot.proto.
//
// A saved batch is a list of parts: one StoredBatch, then StoredWorlds of some megabytes each. In the store they lie as
// they are, each with a checksum; in a client's hands they are one string:
//
//   | "AXIONBAT" | schema version, 4 | number of parts, 4 | for each: length, 8, bytes | SHA-256 of all before, 32 |
//
// little-endian. Bytes from a client are hostile: they are checked as requests are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "axion/v1/snapshot.pb.h"

#include "engine/engine.hpp"

#include "server/schedule/batch_handle.hpp"
#include "server/schedule/pass.hpp"
#include "server/schedule/registry.hpp"

namespace axion::server::rpc {

inline constexpr int kSnapshotSchemaVersion = 1;

struct SavedBatch {
  v1::StoredBatch head;
  std::vector<std::string> worlds;  // snapshots of the engine, in order
  std::int64_t min_step_index = 0, max_step_index = 0;
};

struct SceneOfModel {
  schedule::ModelContent content;
  model::SceneSpec scene;
};

// Without the model. The device's owner only; in passes, or at once.
std::vector<schedule::Pass> save_passes(const std::shared_ptr<schedule::BatchHandle>& batch,
                                        const std::shared_ptr<SavedBatch>& saved);
absl::StatusOr<SavedBatch> save_batch(const schedule::BatchHandle& batch);

std::vector<std::string> to_parts(const SavedBatch& saved);
// INVALID_ARGUMENT says what is wrong with them; RESOURCE_EXHAUSTED where what they become does not fit in `memory`,
// which holds it from then on.
absl::StatusOr<SavedBatch> of_parts(std::span<const std::string> parts, schedule::MemoryHold& memory);

std::string to_content(std::span<const std::string> parts);
absl::StatusOr<std::vector<std::string>> parts_of_content(absl::string_view content);

v1::StoredModel to_stored(const schedule::ModelRecord& model);
// As of_parts.
absl::StatusOr<SceneOfModel> of_stored(const v1::StoredModel& model, schedule::MemoryHold& memory);

// A handle of such a batch, without worlds and name, for that tenant. What it keeps is of the budget of `memory`.
absl::StatusOr<std::shared_ptr<schedule::BatchHandle>> handle_of(const v1::StoredBatch& head,
                                                                 const schedule::ModelRecord& model,
                                                                 const std::string& tenant,
                                                                 const schedule::MemoryHold& memory);
// Each answer holds what it takes of the budget of `memory`.
absl::StatusOr<schedule::ReplayCache> replays_of(const v1::StoredBatch& head, const schedule::MemoryHold& memory);

// Makes of the worlds of `batch` the saved ones, of which there are as many. Errors name `field`. Nothing is
// changed where it fails.
std::vector<schedule::Pass> restore_passes(const std::shared_ptr<schedule::BatchHandle>& batch,
                                           const std::shared_ptr<const SavedBatch>& saved, const std::string& field);
// Makes worlds of a handle that has none first.
std::vector<schedule::Pass> remake_passes(const std::shared_ptr<schedule::BatchHandle>& batch,
                                          const std::shared_ptr<const SavedBatch>& saved, const std::string& field);

}  // namespace axion::server::rpc
