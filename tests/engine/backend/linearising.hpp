// What tests of linearisations share: the answer, a robot with every kind of joint, and a step from a state that is
// set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/backend/scenes.hpp"

namespace axion::testing {

// The answer to a linearisation, with room for all of it.
struct Answer {
  Answer(const ModelInfo& info, std::size_t worlds, std::size_t steps)
      : nv(static_cast<std::size_t>(info.joint_velocity_count)),
        na(static_cast<std::size_t>(field_shape(info, Field::kActivation).front())),
        nu(info.actuators.size()),
        ny(static_cast<std::size_t>(info.sensor_size)),
        x(2 * nv + na) {
    const std::size_t n = worlds * steps, states = worlds * (steps + 1);
    A.resize(n * x * x), B.resize(n * x * nu), C.resize(n * ny * x), D.resize(n * ny * nu);
    position.resize(states * static_cast<std::size_t>(info.joint_position_count));
    velocity.resize(states * nv), activation.resize(states * na), sensors.resize(n * ny);
    outcome.resize(n), kink.resize(n * (x + nu)), method.resize(n), law.resize(n);
  }
  LinearisationOutput views() {
    return {A, B, C, D, position, velocity, activation, sensors, outcome, kink, method, law};
  }
  bool operator==(const Answer&) const = default;

  std::size_t nv, na, nu, ny, x;
  std::vector<double> A, B, C, D, position, velocity, activation, sensors;
  std::vector<std::uint32_t> outcome;
  std::vector<std::int32_t> kink;
  std::vector<LinearisationMethod> method;
  std::vector<LawWithoutDerivative> law;
};

inline Answer linearised(Engine& engine, const Batch& batch, const LinearisationSpec& spec,
                         std::size_t piece = 1000000) {
  const ModelInfo& info = batch.spec().model->info();
  const std::size_t n = spec.worlds.empty() ? batch.spec().world_count : spec.worlds.size();
  const auto steps = static_cast<std::size_t>(spec.step_count);
  Answer answer(info, n, steps);
  const auto made = take(linearise(engine, batch, spec, answer.views()));
  const std::size_t items = linearisation_items(engine.device(), info, n, steps);
  for (std::size_t first = 0; first < items; first += piece) check(made->run(first, std::min(first + piece, items)));
  return answer;
}

inline Error refusal(Engine& engine, const Batch& batch, const LinearisationSpec& spec) {
  Answer answer(batch.spec().model->info(), batch.spec().world_count, static_cast<std::size_t>(spec.step_count));
  const auto made = linearise(engine, batch, spec, answer.views());
  return made.ok() ? Error{ErrorCode::kInternal, "", "it was taken"} : made.error();
}

// A base whose centre of mass is not its origin, with every kind of joint.
inline model::SceneSpec robot() {
  model::SceneSpec scene = all_joints();
  scene.bodies[0].p_BoBcm = {0.07, -0.02, 0.04};
  return scene;
}

// The robot with sensors of a turn, a force and a place on its fourth body.
inline model::SceneSpec robot_with_sensors() {
  model::SceneSpec scene = robot();
  for (const model::SensorKind kind :
       {model::SensorKind::kGyro, model::SensorKind::kAccelerometer, model::SensorKind::kFramePosition}) {
    model::SensorSpec sensor;
    sensor.kind = kind, sensor.name = "s" + std::to_string(static_cast<int>(kind)), sensor.frame.body = 3;
    scene.sensors.push_back(sensor);
  }
  return scene;
}

inline BatchSpec tight_spec(std::shared_ptr<const Model> model, int worlds) {
  BatchSpec spec = batch_spec(std::move(model), worlds);
  spec.options.tolerance = 1e-11, spec.options.max_newton_iterations = 100;
  return spec;
}

struct Motion {
  std::vector<double> position, velocity, activation, control;
};

// What a step of world `world` leads to: positions, rates, activations; and its sensors.
struct After {
  std::vector<double> position, velocity, activation, sensors;
};

inline After stepped(Engine& engine, Batch& batch, int world, const Motion& motion) {
  StateUpdate state;
  state.joint_position = input(motion.position, static_cast<int>(motion.position.size()));
  state.joint_velocity = input(motion.velocity, static_cast<int>(motion.velocity.size()));
  if (!motion.activation.empty())
    state.activation = input(motion.activation, static_cast<int>(motion.activation.size()));
  const std::int32_t index = world;
  check(batch.reset({{&index, 1}, -1, state}));
  StepRequest request;
  request.batch = &batch, request.world_indices = {&index, 1};
  if (!motion.control.empty()) request.control = input(motion.control, static_cast<int>(motion.control.size()));
  take(engine.step({&request, 1}));
  return {read(batch, Field::kJointPosition, {world}), read(batch, Field::kJointVelocity, {world}),
          read(batch, Field::kActivation, {world}), read(batch, Field::kSensorData, {world})};
}

struct Linearised {
  explicit Linearised(const model::SceneSpec& scene, int worlds = 1, const std::function<void(BatchSpec&)>& change = {})
      : engine(cpu_engine()) {
    BatchSpec spec = tight_spec(compile_scene(scene), worlds);
    if (change) change(spec);
    batch = take(engine->create_batch(spec));
  }
  const ModelInfo& info() const { return batch->spec().model->info(); }
  // Where world `world` is, with these controls.
  Motion motion(int world, std::vector<double> control) const {
    return {read(*batch, Field::kJointPosition, {world}), read(*batch, Field::kJointVelocity, {world}),
            read(*batch, Field::kActivation, {world}), std::move(control)};
  }

  std::unique_ptr<Engine> engine;
  std::unique_ptr<Batch> batch;
};

// The keyframe, on the limit of no axis.
inline void bend(Batch& batch) {
  ResetRequest reset;
  reset.keyframe = 0;
  check(batch.reset(reset));
}

}  // namespace axion::testing
