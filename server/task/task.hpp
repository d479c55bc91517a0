// A task compiled for a model: names have become indices, and what it says has been checked.
//
// Immutable; made once per batch by compile_task, read by the device's owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.hpp"

#include "server/task/robot.hpp"
#include "server/task/task_spec.hpp"

namespace axion::server::task {

struct Quantity {
  QuantityKind kind = QuantityKind::kField;
  Field field = Field::kJointPosition;
  std::vector<int> bodies{};   // indices into Robot::bodies
  int relative_to = -1;        // likewise
  int at = 0;                  // where its numbers begin, among all commands', draws', phases' or curricula's
  std::vector<int> tracked{};  // of a body that is looked at once a step: index into Task::tracked, for each
  std::vector<int> picks{};    // numbers of the whole quantity, in place of all of it
  Vec3 point{};
  bool in_body_axes = false;
  int first = 0, size = 0;  // numbers of the whole quantity, or of the picks, that are taken
  int whole = 0;            // numbers of the whole quantity
  Function function = Function::kIdentity;
  std::vector<double> scale{}, offset{};  // none, or one for each number
  double lower = -kInfinity, upper = kInfinity;
};

struct ObservationTerm {
  Quantity quantity;
  double noise = 0;
  Distribution noise_distribution = Distribution::kUniform;
  int history = 1;
  int start = 0;  // in the observation
  int delay = 0, most_delay = 0;
  int buffer = 0;  // with a delay: where its frames begin, among all late terms'
};

struct Measured {
  Measure measure = Measure::kSum;
  Quantity quantity{};  // size 0: kAlive
  Quantity target{};    // size 0: none
  double tracking_width = 1;
  bool has_threshold = false;
  double threshold = 0, power = 1;
  double lower = -kInfinity, upper = kInfinity;
  int before = 0;  // kRate: where its numbers begin among the numbers of the state before
};

struct RewardTerm {
  std::string name;
  double weight = 1;
  std::vector<Measured> factors;  // its own measure first
  double lower = -kInfinity, upper = kInfinity;
};

struct EndTerm {
  std::string name{};
  Condition condition = Condition::kOutside;
  Quantity quantity{};
  double lower = -kInfinity, upper = kInfinity;
  bool bounds_end = false;
  std::vector<int> bodies{};
  double force_above = 0;
  bool terminates = true;  // or truncates
};

struct ActionTerm {
  std::vector<int> actuators;
  std::vector<double> scale, offset, lower, upper;  // one each
  std::vector<std::uint8_t> is_delta;               // one each: added to the target of the step before
  std::vector<double> least_target, most_target;    // one each: within which a change leaves the target
  std::vector<double> rest;                         // control of every actuator at a start
  int frame_skip = 1, delay = 0, most_delay = 0;
};

struct StartTerm {
  StartSpec spec;
  std::vector<int> numbers{};  // in joint_position or joint_velocity; of a rotation that of the quaternion
  int size() const { return static_cast<int>(numbers.size()); }
  int body = 0;                           // velocities of a free joint: of which body; rotation: likewise
  std::vector<double> scale{}, offset{};  // none, or one for each number
  double longer_than = -1, shorter_than = kInfinity;
};

struct CommandTerm {
  CommandSpec spec;
  int start = 0, size = 0;  // among all commands'
};

struct PushTerm {
  PushSpec spec;
  std::vector<std::vector<int>> targets;  // bodies of the fields that each is of; one of a force
};

struct DrawTerm {
  DrawSpec spec;
  Parameter parameter{};
  std::vector<int> numbers{};  // of the parameter's of a world that it is of
  int start = 0, size = 0;     // among all draws'
};

struct PhaseTerm {
  PhaseSpec spec;
  int start = 0, size = 0;  // among all phases'
};

struct CurriculumTerm {
  CurriculumSpec spec;
  int reward_term = 0;
};

struct TrackedBody {  // whose touching is looked at once a step
  int body = 0;       // index into Robot::bodies
  double force_above = 0;
};
inline constexpr int kTrackedNumbers = 4;  // of each: times in the air, in contact, last in the air; first contact

struct Task {
  Robot robot;
  TaskSpec spec{};
  std::vector<ObservationTerm> observation{};
  std::vector<RewardTerm> reward{};
  std::vector<EndTerm> ends{};  // terminations, then truncations
  ActionTerm action{};
  int keyframe = -1;
  std::vector<StartTerm> start{};
  std::vector<CommandTerm> command{};
  std::vector<PushTerm> push{};
  std::vector<DrawTerm> draw{};
  std::vector<ObservationTerm> privileged{};
  std::vector<PhaseTerm> phase{};
  std::vector<CurriculumTerm> curriculum{};
  std::vector<int> curriculum_of{};  // of each command; -1: none
  std::vector<TrackedBody> tracked{};
  std::vector<Field> fields{};  // that are read of a state, without repetition
  std::vector<int> field_sizes{};
  bool reads_contacts = false;
  double step_time = 0;  // s, of a step of the engine
  int observation_size = 0, before_size = 0, command_size = 0;
  int privileged_size = 0, late_size = 0, draw_size = 0, phase_size = 0;
  int action_size() const { return static_cast<int>(action.actuators.size()); }
  // What a world carries as numbers from step to step (episodes.hpp).
  std::int64_t memory_size() const {
    return observation_size + std::int64_t(2 + action.most_delay) * action_size() + command_size + before_size +
           privileged_size + late_size + target_size() + draw_size + tracked_size() +
           2 * static_cast<std::int64_t>(curriculum.size());
  }
  // Of actions that are changes: a number for each action, else none.
  int target_size() const {
    return std::find(action.is_delta.begin(), action.is_delta.end(), 1) == action.is_delta.end() ? 0 : action_size();
  }
  int tracked_size() const { return kTrackedNumbers * static_cast<int>(tracked.size()); }
};

// Errors name fields below the task: "reward[2].quantity.name". `dt` s.
Result<Task> compile_task(const TaskSpec& spec, const ModelInfo& info, double dt);

}  // namespace axion::server::task
