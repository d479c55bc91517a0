// A batch as the server knows it: what anybody may read, and what belongs to the device's owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "engine/engine.hpp"

#include "server/schedule/memory_budget.hpp"
#include "server/schedule/replay_cache.hpp"
#include "server/task/episodes.hpp"

namespace axion::server::schedule {

// Uniform noise on the coordinates of hinges and slides: half widths, rad or m, and per second.
struct InitialNoise {
  double joint_position = 0, joint_velocity = 0;
  bool present() const { return joint_position > 0 || joint_velocity > 0; }
};

struct FieldShape {
  Field field = Field::kBodyPose;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;  // of one world
  std::size_t bytes = 0;            // of one world
};

// Fixed when the batch is created; read from any thread.
struct BatchInfo {
  std::string name, model_name;
  std::shared_ptr<const Model> model;
  int world_count = 0;
  double dt = 0;  // s
  model::SolverOptions options;
  std::string device;
  std::int64_t memory_bytes = 0;
  DType real = DType::kFloat32;
  std::vector<FieldShape> fields;
  std::uint64_t seed = 0;
  InitialNoise noise;
  std::shared_ptr<const task::Task> task;  // none: the batch has no task
  std::string task_message;                // a v1.TaskSpec, as given
  absl::Duration idle_ttl;
  absl::Duration stream_ttl = absl::InfiniteDuration();  // in its place once the last stream that stepped it has ended
  absl::Time create_time;
  std::string tenant;              // whose it is
  std::string request_id;          // of the call that made it; empty: none
  std::uint64_t request_hash = 0;  // of what that call asked for; 0: not known
  std::int64_t incarnation = 0;  // another one whenever it went back to a checkpoint that may be older than its answers

  const FieldShape* find(Field field) const;
};

// Worlds that a batch holds of the server's budget; given back when destroyed.
class WorldReservation {
 public:
  WorldReservation() = default;
  explicit WorldReservation(std::shared_ptr<void> token) : token_(std::move(token)) {}

 private:
  std::shared_ptr<void> token_;
};

struct BatchHandle {
  BatchInfo info;

  // ---- Written by the device's owner, read from any thread ----
  // What a step of one world took in the latest launch that was this batch's alone, s; 0 until there was one.
  std::atomic<double> world_step_time = 0;

  // ---- The device's owner only ----
  std::uint64_t turn = 0;                    // when it was served last (turns.hpp)
  double world_step_cost = 0;                // what a step of one world takes of a launch, s; 0 until there was one
  std::unique_ptr<Batch> engine;             // none once the batch is deleted
  std::unique_ptr<task::Episodes> episodes;  // with a task
  WorldReservation reservation;
  MemoryHold memory;  // of its worlds, where they are in the machine's memory
  MemoryHold kept;    // of its task, and of what it remembers besides answers
  ReplayCache replays;
  std::int64_t replay_bytes = 0;  // of `kept`
  // A request of which some steps are made and that no call waits for: by its id, what a repetition is refused with
  // from a snapshot on that was taken meanwhile. None if the id is empty.
  std::pair<std::string, absl::Status> resting;
  std::uint64_t changes = 0;  // grows with everything that changes the batch
  // A request that is cut into several launches has one outcome: what its earlier launches left, per world.
  std::vector<std::uint32_t> carried_outcome;
};

// Outcome of two stretches of one request: OR, except CONVERGED, which is AND. kConverged is the neutral element.
constexpr std::uint32_t combine_outcomes(std::uint32_t a, std::uint32_t b) {
  return ((a | b) & ~std::uint32_t{kConverged}) | (a & b & kConverged);
}

// Index of the i-th world asked for; an empty list is all worlds in order.
inline std::int32_t world_at(std::span<const std::int32_t> worlds, std::size_t i) {
  return worlds.empty() ? static_cast<std::int32_t>(i) : worlds[i];
}
inline std::size_t world_count_of(std::span<const std::int32_t> worlds, const BatchHandle& batch) {
  return worlds.empty() ? static_cast<std::size_t>(batch.info.world_count) : worlds.size();
}

// Shapes of every field that a batch offers.
std::vector<FieldShape> field_shapes(const Batch& batch);
std::size_t element_count(std::span<const std::int64_t> shape);

// ---- The device's owner only ----
// Counts what the batch remembers of requests besides their answers, which hold their own, after it has changed.
void count_replays(BatchHandle& batch);

// The answer of a step of the task, and the episodes that begin with it.
absl::Status finish_task_step(BatchHandle& batch, const task::StepPlan& plan, std::span<const std::uint32_t> outcome,
                              task::StepAnswer& answer);

}  // namespace axion::server::schedule
