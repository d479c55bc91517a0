// A task compiled for a model: names have become indices, and what it says has been checked.
//
// Immutable; made once per batch by compile_task, read by the device's owner.
#pragma once

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
  int body = -1, relative_to = -1;  // index into Robot::bodies
  int command = 0;                  // where its numbers begin among all commands'
  Vec3 point{};
  bool in_body_axes = false;
  int first = 0, size = 0;  // numbers of the whole quantity that are taken
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
};

struct RewardTerm {
  std::string name;
  double weight = 1;
  Measure measure = Measure::kSum;
  Quantity quantity{};  // size 0: kAlive
  Quantity target{};    // size 0: none
  double tracking_width = 1;
  double lower = -kInfinity, upper = kInfinity;
  int before = 0;  // kRate: where its numbers begin among the numbers of the state before
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
  std::vector<double> rest;                         // control of every actuator at a start
  int frame_skip = 1, delay = 0;
};

struct StartTerm {
  StartSpec spec;
  int first = 0, size = 0;                // in joint_position or joint_velocity
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
  std::vector<Field> fields{};  // that are read of a state, without repetition
  std::vector<int> field_sizes{};
  bool reads_contacts = false;
  double step_time = 0;  // s, of a step of the engine
  int observation_size = 0, before_size = 0, command_size = 0;
  int action_size() const { return static_cast<int>(action.actuators.size()); }
  // What a world carries as numbers from step to step (episodes.hpp).
  int memory_size() const { return observation_size + (2 + action.delay) * action_size() + command_size + before_size; }
};

// Errors name fields below the task: "reward[2].quantity.name". `dt` s.
Result<Task> compile_task(const TaskSpec& spec, const ModelInfo& info, double dt);

}  // namespace axion::server::task
