// N worlds of one model on the server: step, read, write.
//
// n is the number of worlds that a call is about: `worlds` (distinct indices), or all when that is empty. A refused
// call changes nothing. INVALID_ARGUMENT names the field and the value, NOT_FOUND the batch (its lease may have run
// out), RESOURCE_EXHAUSTED the limit and when to retry, ABORTED an expected_step that does not match.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "axion/v1/simulation.pb.h"
#include "clients/cpp/step.hpp"
#include "clients/cpp/task.hpp"

namespace axion::client {

class Connection;

// New state of n worlds; empty parts keep their value. Give body_* or joint_*, not both.
struct StateArguments {
  std::span<const double> body_pose = {};       // [n, nb, 7] x y z (m), quaternion w x y z
  std::span<const double> body_velocity = {};   // [n, nb, 6] linear of the centre of mass, then angular
  std::span<const double> joint_position = {};  // [n, nq]
  std::span<const double> joint_velocity = {};  // [n, nv]
  std::span<const double> time = {};            // [n], s
  std::span<const double> activation = {};      // [n, activations]
  std::span<const double> mocap_pose = {};      // [n, mocap bodies, 7]
  // What get_state({"snapshot"}) gave: [n], or one for all worlds; alone. All that a world carries: the same bits
  // follow.
  std::span<const std::string> snapshot = {};
};

// Rays, in the world or in the frame of a body.
struct RayArguments {
  std::span<const double> origin = {};     // [rays, 3] for all worlds alike, m
  std::span<const double> direction = {};  // likewise, of any length above zero
  bool is_per_world = false;               // both are [n, rays, 3]
  std::optional<std::int32_t> body = {};   // index into Model.bodies, in whose frame both are; none: the world
  bool heading_only = false;               // of that frame the origin and the rotation about the vertical alone
  double max_distance = 0;                 // m; 0: any
  std::span<const std::int32_t> ignored_bodies = {};  // which rays go through; -1 is the world
};

// What of the joint tree is asked for.
struct DynamicsArguments {
  std::span<const v1::FrameSpec> frames = {};  // whose poses and Jacobians
  bool mass_matrix = true, bias_force = true;
};

// What is linearised: steps one after the other.
struct LinearizeArguments {
  std::span<const double> control = {};  // [n, k, nu]; empty: one step with the last control of each world
  std::int64_t step_count = 1;           // k of `control`
  StateArguments start = {};             // on top of the worlds' own state; without snapshot
  bool sensors = true;                   // C, D and sensor_data
  double difference = 0;                 // by which coordinates and controls are moved; 0: the server's choice
  bool by_differences = false;           // whether also what has an exact derivative is
};

// What a gradient is wanted of, and by what.
struct StepGradientArguments {
  std::int64_t step_count = 1, record_every = 0;  // as of steps
  std::span<const double> control = {};           // [n, k, nu], or [n, nu] held; empty: the last control of each world
  StateArguments start = {};                      // on top of the worlds' own state; without snapshot
  // dL/d(field) by its name, [n, records, ...]; without record_every [n, ...].
  std::map<std::string, std::span<const double>> output_gradients = {};
  std::span<const double> state_gradient = {};  // [n, x], of the state after the last step; empty: zero
  std::vector<std::string> inputs = {};         // beside start and controls: "mass_scale", "body_mass", "gravity" ...
  std::vector<std::string> outputs = {};        // fields whose values are wanted
  std::span<const double> body_wrench = {};     // [n, nb, 6], held
  double difference = 0;                        // 0: the server's choice
};

// A handle; movable. One that Client::create_batch made deletes the worlds when it goes out of scope, unless released.
// Thread-safe except for moves.
class Batch {
 public:
  Batch(std::shared_ptr<Connection> connection, v1::Batch info, bool owned);
  ~Batch();
  Batch(Batch&& other) noexcept;
  Batch& operator=(Batch&& other) noexcept;

  const std::string& name() const { return info_.name(); }
  int world_count() const { return info_.world_count(); }
  double dt() const { return info_.dt(); }         // s
  const v1::Batch& info() const { return info_; }  // as it was when this handle was made
  // Elements for one world of a field, for example nb * 7 of "body_pose"; 0 for an unknown field.
  std::int64_t field_size(std::string_view field) const;

  absl::StatusOr<StepResult> step(const StepArguments& arguments) const;
  // A stream on which steps are sent ahead of their answers.
  StepStream stream() const;

  // One step of the task that the batch was made with (task.hpp).
  absl::StatusOr<TaskResult> step_task(const TaskStepArguments& arguments) const;
  // Begins episodes of the task; `observation` of the answer is what is observed first.
  absl::StatusOr<v1::TaskAnswer> begin_episodes(const EpisodeArguments& arguments = {}) const;

  // To the initial state, or a keyframe, with `state` on top. Clears warm starts and outcomes.
  absl::Status reset(std::span<const std::int32_t> worlds = {}, const std::string& keyframe = "",
                     const StateArguments& state = {}) const;
  absl::Status set_state(const StateArguments& state, std::span<const std::int32_t> worlds = {}) const;
  // No fields: all of them, without "snapshot", whose answer is the response's snapshot().
  absl::StatusOr<v1::GetStateResponse> get_state(const std::vector<std::string>& fields = {},
                                                 std::span<const std::int32_t> worlds = {}) const;
  absl::StatusOr<v1::GetContactsResponse> contacts(std::span<const std::int32_t> worlds = {}) const;
  // What rays meet first: distances, m, and shapes, [n, rays]; -1 where nothing.
  absl::StatusOr<v1::CastRaysResponse> cast_rays(const RayArguments& rays,
                                                 std::span<const std::int32_t> worlds = {}) const;
  // How far pairs of shapes (indices into Model.shapes) are apart, m, [n, pairs], and their nearest points. Shapes
  // further apart than max_distance, m, are not looked at; 0: the server's choice.
  absl::StatusOr<v1::GetDistancesResponse> distances(std::span<const std::pair<std::int32_t, std::int32_t>> shape_pairs,
                                                     double max_distance = 0,
                                                     std::span<const std::int32_t> worlds = {}) const;
  // Poses and Jacobians of frames, mass matrices and bias forces of the joint tree.
  absl::StatusOr<v1::GetDynamicsResponse> dynamics(const DynamicsArguments& asked = {},
                                                   std::span<const std::int32_t> worlds = {}) const;
  // How each of k steps depends on the state that it begins with and on its control: A [n, k, x, x], B [n, k, x, nu], C
  // [n, k, y, x] and D [n, k, y, nu], in the coordinates that the answer lists. Nothing of the batch changes.
  absl::StatusOr<v1::LinearizeResponse> linearize(const LinearizeArguments& asked = {},
                                                  std::span<const std::int32_t> worlds = {}) const;
  // From the gradient of a loss by what k steps lead to, the gradient by the start, the controls and the inputs.
  absl::StatusOr<v1::StepGradientResponse> step_gradient(const StepGradientArguments& asked,
                                                         std::span<const std::int32_t> worlds = {}) const;
  // batch_only leaves out the rows of the worlds.
  absl::StatusOr<v1::GetSolverStatsResponse> solver_stats(bool batch_only = true,
                                                          std::span<const std::int32_t> worlds = {}) const;
  // A snapshot of the whole batch, which the server keeps from when this returns; with return_content its bytes, too.
  absl::StatusOr<v1::Snapshot> save_snapshot(const std::string& display_name = "", bool return_content = false,
                                             bool skip_store = false) const;
  absl::Status keep_alive() const;  // renews the lease; every other call does too

  // Gives up ownership: the worlds stay until they are deleted or their lease ends.
  void release() { owned_ = false; }
  // Deletes the worlds now; the destructor does so too but cannot tell whether it worked.
  absl::Status remove();

 private:
  absl::StatusOr<v1::StepResponse> send_step(absl::StatusOr<v1::StepRequest> request) const;
  absl::StatusOr<v1::StateUpdate> state_update(const StateArguments& state, std::int64_t world_count) const;

  std::shared_ptr<Connection> connection_;
  v1::Batch info_;
  bool owned_ = false;
};

}  // namespace axion::client
