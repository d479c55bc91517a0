// Numbers that worlds have of their own: a world moves as a world of a model with these numbers in its scene, and
// nothing else does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/engine/backend/scenes.hpp"

namespace axion::testing::parameters_test {
namespace {

using model::Precision;
using model::SceneSpec;
using ::testing::HasSubstr;

// The floor below all_joints, friction loss on an axis, something that holds a body up, and every sensor.
SceneSpec arm_on_floor() {
  SceneSpec scene = all_joints();
  model::ShapeSpec floor, hand;
  floor.name = "floor", floor.kind = model::ShapeKind::kPlane, floor.X_BS.position = {0, 0, 0.7};
  hand.name = "hand", hand.kind = model::ShapeKind::kCapsule, hand.body = 3, hand.size = {0.05, 0.1, 0};
  scene.shapes = {floor, hand};
  for (int b = 0; b < 3; ++b) {
    model::ShapeSpec box;
    box.name = "box" + std::to_string(b), box.kind = model::ShapeKind::kBox, box.body = b, box.size = {0.1, 0.08, 0.06};
    scene.shapes.push_back(box);
  }
  scene.joints[3].axes[0].friction_loss = 0.05;
  scene.joints[3].axes[0].stiffness = 0.2;
  scene.joints[2].axes[1].lower = -2e-3, scene.joints[2].axes[1].upper = 2e-3;
  scene.bodies[2].gravity_compensation = 0.5;
  scene.medium.density = 1.2, scene.medium.viscosity = 1.8e-5;
  return with_sensors(scene);
}

// What a number is changed by, for each of a parameter's.
double changed(Parameter parameter, double number, int i) {
  const double by = 0.02 * (1 + i % 3);
  switch (parameter) {
    case Parameter::kGravity:
    case Parameter::kBodyCenterOfMass:
    case Parameter::kAxisSpringReference:
    case Parameter::kAxisAnchor:
    case Parameter::kShapePosition:
      return number + by / 2;
    case Parameter::kAxisLower:
    case Parameter::kAxisUpper:
      return 1.5 * number;
    case Parameter::kBodyInertia:
      return 1.1 * number;
    case Parameter::kAxisDamping:
    case Parameter::kAxisArmature:
    case Parameter::kAxisStiffness:
    case Parameter::kShapeRestitution:
      return number + by;
    default:
      return number * (1 + 5 * by);
  }
}

// Calls f(number) for each number of a parameter in a scene without welds, in the order of the parameter.
void for_each_number(SceneSpec& scene, Parameter parameter, const std::function<void(double&, bool used)>& f) {
  const auto three = [&](model::Vec3d& v, bool used = true) {
    for (double& number : v) f(number, used);
  };
  const auto axes = [&](const auto& g) {
    for (model::JointSpec& joint : scene.joints) {
      for (model::AxisSpec& axis : joint.axes) g(axis);
    }
  };
  switch (parameter) {
    case Parameter::kGravity:
      return three(scene.gravity);
    case Parameter::kBodyMass:
      for (auto& body : scene.bodies) f(body.mass, true);
      return;
    case Parameter::kBodyCenterOfMass:
      for (auto& body : scene.bodies) three(body.p_BoBcm);
      return;
    case Parameter::kBodyInertia:
      for (auto& body : scene.bodies) {
        for (double& number : body.I_Bcm) f(number, true);
      }
      return;
    case Parameter::kAxisDamping:
      return axes([&](auto& axis) { f(axis.damping, true); });
    case Parameter::kAxisArmature:
      return axes([&](auto& axis) { f(axis.armature, true); });
    case Parameter::kAxisStiffness:
      return axes([&](auto& axis) { f(axis.stiffness, true); });
    case Parameter::kAxisSpringReference:
      return axes([&](auto& axis) { f(axis.spring_reference, true); });
    case Parameter::kAxisFrictionLoss:
      return axes([&](auto& axis) { f(axis.friction_loss, axis.friction_loss > 0); });
    case Parameter::kAxisLower:
      return axes([&](auto& axis) { f(axis.lower, axis.limited); });
    case Parameter::kAxisUpper:
      return axes([&](auto& axis) { f(axis.upper, axis.limited); });
    case Parameter::kAxisAnchor:
      return axes([&](auto& axis) { three(axis.anchor, axis.kind == model::AxisKind::kHinge); });
    case Parameter::kShapeFriction:
      for (auto& shape : scene.shapes) f(shape.friction, true);
      return;
    case Parameter::kShapeRestitution:
      for (auto& shape : scene.shapes) f(shape.restitution, true);
      return;
    case Parameter::kShapeSize:
      for (auto& shape : scene.shapes) three(shape.size, shape.kind != model::ShapeKind::kPlane);
      return;
    case Parameter::kShapePosition:
      for (auto& shape : scene.shapes) three(shape.X_BS.position);
      return;
    case Parameter::kActuatorGear:
      for (auto& actuator : scene.actuators) f(actuator.gear, true);
      return;
    case Parameter::kActuatorKp:
      for (auto& actuator : scene.actuators) f(actuator.kp, actuator.kind == model::ActuatorKind::kPosition);
      return;
    case Parameter::kActuatorKd:
      for (auto& actuator : scene.actuators) f(actuator.kd, actuator.kind != model::ActuatorKind::kMotor);
      return;
  }
}

// The scene with a parameter changed, and its numbers.
std::vector<double> change(SceneSpec& scene, Parameter parameter) {
  std::vector<double> values;
  for_each_number(scene, parameter, [&](double& number, bool used) {
    if (used) number = changed(parameter, number, static_cast<int>(values.size()));
    values.push_back(number);
  });
  return values;
}
std::vector<double> values_of(SceneSpec scene, Parameter parameter) {
  std::vector<double> values;
  for_each_number(scene, parameter, [&](double& number, bool) { values.push_back(number); });
  return values;
}

ParameterInput parameter_input(Parameter parameter, const std::vector<double>& rows, int worlds) {
  return {parameter, input(rows, static_cast<int>(rows.size()) / worlds)};
}

std::string name_of(Parameter parameter) { return description_of(parameter).name; }

// A model with the parameter's numbers in its scene, one world of it, after some steps: all that can be read.
std::string of_changed_scene(Engine& engine, const SceneSpec& scene, Precision precision, int steps,
                             const std::vector<double>& control) {
  const auto batch = take(engine.create_batch(batch_spec(compile_scene(scene), 1, precision)));
  step(engine, *batch, steps, control);
  return state_bytes(*batch, 0);
}

class EachParameter : public ::testing::TestWithParam<int> {};

TEST_P(EachParameter, gives_a_world_the_bits_of_a_model_with_these_numbers) {
  const auto parameter = static_cast<Parameter>(GetParam());
  const auto engine = cpu_engine(1);
  for (const SceneSpec& scene : {arm_on_floor(), with_sensors(quadruped())}) {
    for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
      SceneSpec other = scene;
      const std::vector<double> own = change(other, parameter), models = values_of(scene, parameter);
      if (own == models) continue;  // the scene has nothing of the kind
      std::vector<double> rows = models;
      rows.insert(rows.end(), own.begin(), own.end());
      rows.insert(rows.end(), models.begin(), models.end());
      const auto model = compile_scene(scene);
      BatchSpec spec = batch_spec(model, 3, precision);
      spec.overrides.parameters = {parameter_input(parameter, rows, 3)};
      const auto batch = take(engine->create_batch(spec));
      const int controls = static_cast<int>(batch->field_shape(Field::kControl)[0]);
      const std::vector<double> control = noise(controls, 0.5, 5);
      std::vector<double> all;
      for (int world = 0; world < 3; ++world) all.insert(all.end(), control.begin(), control.end());
      step(*engine, *batch, 60, all);
      const std::string plain = of_changed_scene(*engine, scene, precision, 60, control);
      EXPECT_TRUE(state_bytes(*batch, 0) == plain) << scene.name;
      EXPECT_TRUE(state_bytes(*batch, 2) == plain) << scene.name;
      EXPECT_TRUE(state_bytes(*batch, 1) == of_changed_scene(*engine, other, precision, 60, control)) << scene.name;
      if (scene.name == "all joints") {
        EXPECT_FALSE(state_bytes(*batch, 1) == plain) << "the number does nothing";
      }
      std::vector<double> read(rows.size());
      check(batch->parameters({}, parameter, read));
      EXPECT_EQ(read, rows);
    }
  }
}

TEST_P(EachParameter, may_be_set_between_steps_and_at_a_reset_and_be_taken_back) {
  const auto parameter = static_cast<Parameter>(GetParam());
  const auto engine = cpu_engine(1);
  const SceneSpec scene = arm_on_floor();
  SceneSpec other = scene;
  const std::vector<double> own = change(other, parameter), models = values_of(scene, parameter);
  const auto batch = take(engine->create_batch(batch_spec(compile_scene(scene), 2, Precision::kFloat64)));
  const std::vector<double> control{0.3, -0.2, 0.3, -0.2};
  step(*engine, *batch, 20, control);
  const std::vector<double> pose = read(*batch, Field::kBodyPose, {1});
  StateUpdate update;
  update.parameters = {parameter_input(parameter, own, 1)};
  const std::vector<std::int32_t> second{1};
  check(batch->set_state(second, update));
  const std::vector<double> kept = read(*batch, Field::kBodyPose, {1});
  for (std::size_t i = 0; i < pose.size(); ++i) EXPECT_NEAR(kept[i], pose[i], 1e-12);
  step(*engine, *batch, 20, control);
  ResetRequest reset;
  reset.world_indices = second;
  check(batch->reset(reset));
  step(*engine, *batch, 30, control);
  EXPECT_EQ(read(*batch, Field::kSensorData, {1}).size(), read(*batch, Field::kSensorData, {0}).size());
  const auto after_reset = [&](const SceneSpec& of) {
    const auto alone = take(engine->create_batch(batch_spec(compile_scene(of), 1, Precision::kFloat64)));
    step(*engine, *alone, 30, {0.3, -0.2});
    return state_bytes(*alone, 0);
  };
  EXPECT_TRUE(state_bytes(*batch, 1) == after_reset(other));
  reset.state.parameters = {parameter_input(parameter, models, 1)};
  check(batch->reset(reset));
  step(*engine, *batch, 30, control);
  EXPECT_TRUE(state_bytes(*batch, 1) == after_reset(scene));
}

INSTANTIATE_TEST_SUITE_P(Parameters, EachParameter, ::testing::Range(0, kParameterCount),
                         [](const auto& info) { return name_of(static_cast<Parameter>(info.param)); });

TEST(Parameters, another_centre_of_mass_leaves_the_motion_of_the_body_frame) {
  const auto engine = cpu_engine(1);
  const auto batch = take(engine->create_batch(batch_spec(compile_scene(box_and_sphere()), 1)));
  StateUpdate spin;
  const std::vector<double> velocity{0.3, -0.1, 0.2, 1, 2, 3, 0, 0, 0, 0, 0, 0};
  spin.body_velocity = input(velocity, 12);
  check(batch->set_state({}, spin));
  StateUpdate moved;
  const std::vector<double> centers{0.1, -0.2, 0.05, 0, 0, 0};
  moved.parameters = {parameter_input(Parameter::kBodyCenterOfMass, centers, 1)};
  check(batch->set_state({}, moved));
  // v + omega x (R c), at the pose without rotation
  const std::vector<double> after = read(*batch, Field::kBodyVelocity);
  const std::vector<double> expected{
      0.3 + 2 * 0.05 + 3 * 0.2, -0.1 + 3 * 0.1 - 1 * 0.05, 0.2 - 1 * 0.2 - 2 * 0.1, 1, 2, 3};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(after[i], expected[i], 1e-14);
}

TEST(Parameters, worlds_fall_as_their_own_gravity_says) {
  const auto engine = cpu_engine(2);
  const auto batch = take(engine->create_batch(batch_spec(compile_scene(box_and_sphere()), 4)));
  StateUpdate update;
  std::vector<double> gravity;
  for (int world = 0; world < 4; ++world) gravity.insert(gravity.end(), {0.1 * world, 0, -1.0 - world});
  update.parameters = {parameter_input(Parameter::kGravity, gravity, 4)};
  check(batch->set_state({}, update));
  step(*engine, *batch, 10);
  const std::vector<double> velocity = read(*batch, Field::kBodyVelocity);
  for (int world = 0; world < 4; ++world) {
    EXPECT_NEAR(velocity[12 * world], 0.1 * world * 0.05, 1e-12);
    EXPECT_NEAR(velocity[12 * world + 2], (-1.0 - world) * 0.05, 1e-12);
  }
}

TEST(Parameters, parts_that_are_welded_together_change_together) {
  SceneSpec scene = box_and_sphere();
  model::BodySpec lid = scene.bodies[0];
  lid.name = "lid", lid.X_WB.position = {0, 0.1, 0.5}, lid.mass = 0.5;
  scene.bodies.push_back(lid);
  model::JointSpec weld;
  weld.name = "weld", weld.kind = model::JointKind::kFixed, weld.parent = 0, weld.child = 2;
  scene.joints.push_back(weld);
  model::SensorSpec sensor;
  sensor.name = "centre", sensor.kind = model::SensorKind::kSubtreeCentre, sensor.frame.body = 0;
  scene.sensors = {sensor};
  const auto engine = cpu_engine(1);
  const auto model = compile_scene(scene);
  const auto batch = take(engine->create_batch(batch_spec(model, 1)));
  const std::vector<double> before = read(*batch, Field::kSensorData);
  StateUpdate update;
  const auto& bodies = model->info().bodies;
  ASSERT_EQ(bodies.size(), 2u);
  std::vector<double> mass{2 * bodies[0].mass, bodies[1].mass}, center;
  for (const BodyInfo& body : bodies) center.insert(center.end(), body.p_BoBcm.begin(), body.p_BoBcm.end());
  center[0] += 0.07;
  update.parameters = {parameter_input(Parameter::kBodyMass, mass, 1),
                       parameter_input(Parameter::kBodyCenterOfMass, center, 1)};
  check(batch->set_state({}, update));
  const std::vector<double> after = read(*batch, Field::kSensorData);
  EXPECT_NEAR(after[0], before[0] + 0.07, 1e-14);
  EXPECT_NEAR(after[1], before[1], 1e-14);
  EXPECT_NEAR(after[2], before[2], 1e-14);
}

TEST(Parameters, travel_with_snapshots_and_end_with_them) {
  const auto engine = cpu_engine(1);
  const SceneSpec scene = arm_on_floor();
  const auto model = compile_scene(scene);
  const auto a = take(engine->create_batch(batch_spec(model, 2, Precision::kFloat32)));
  const auto b = take(engine->create_batch(batch_spec(model, 3, Precision::kFloat32)));
  SceneSpec other = scene;
  const std::vector<double> own = change(other, Parameter::kBodyInertia);
  StateUpdate update;
  update.parameters = {parameter_input(Parameter::kBodyInertia, own, 1)};
  const std::vector<std::int32_t> first{0}, third{2};
  check(a->set_state(first, update));
  step(*engine, *a, 25);
  const auto taken = take(a->snapshots({}, {}));
  EXPECT_GT(taken[0].size(), taken[1].size());
  StateUpdate whole;
  whole.snapshots = {taken[0]};
  check(b->set_state(third, whole));
  step(*engine, *a, 25), step(*engine, *b, 25);
  EXPECT_TRUE(state_bytes(*b, 2) == state_bytes(*a, 0));
  EXPECT_FALSE(state_bytes(*b, 2) == state_bytes(*b, 1));
  // A world with the model's numbers takes them where it goes.
  whole.snapshots = {taken[1]};
  check(b->set_state(third, whole));
  step(*engine, *b, 25);
  EXPECT_TRUE(state_bytes(*b, 2) == state_bytes(*a, 1));
  std::vector<double> read(own.size());
  check(b->parameters(third, Parameter::kBodyInertia, read));
  EXPECT_EQ(read, values_of(scene, Parameter::kBodyInertia));
}

TEST(Parameters, that_no_model_can_have_are_refused_and_nothing_changes) {
  const auto engine = cpu_engine(1);
  const SceneSpec scene = arm_on_floor();
  const auto batch = take(engine->create_batch(batch_spec(compile_scene(scene), 2)));
  step(*engine, *batch, 5);
  const std::string before = state_bytes(*batch, 0) + state_bytes(*batch, 1);
  const auto refused = [&](Parameter parameter, int world, std::size_t number, double value) {
    std::vector<double> rows = values_of(scene, parameter);
    const std::size_t count = rows.size();
    for (std::size_t i = 0; i < count; ++i) rows.push_back(rows[i]);
    rows[world * count + number] = value;
    StateUpdate update;
    update.parameters = {parameter_input(parameter, rows, 2)};
    const Status status = batch->set_state({}, update);
    EXPECT_FALSE(status.ok()) << name_of(parameter) << " " << value;
    EXPECT_TRUE(state_bytes(*batch, 0) + state_bytes(*batch, 1) == before);
    return status.ok() ? Error{} : status.error();
  };
  const Error mass = refused(Parameter::kBodyMass, 1, 2, -1);
  EXPECT_EQ(mass.field, "parameters");
  EXPECT_THAT(mass.message, HasSubstr("world 1"));
  EXPECT_THAT(mass.message, HasSubstr("bodies[2].mass"));
  refused(Parameter::kBodyMass, 0, 0, 0);
  refused(Parameter::kBodyInertia, 0, 0, 100);  // no triangle
  refused(Parameter::kShapeFriction, 0, 1, -0.1);
  refused(Parameter::kShapeRestitution, 0, 1, 1.5);
  refused(Parameter::kShapeSize, 0, 3, 0);
  refused(Parameter::kAxisDamping, 1, 0, -1);
  refused(Parameter::kAxisLower, 0, 1, 2);  // above the upper limit
  EXPECT_THAT(refused(Parameter::kAxisLower, 0, 0, -1).message, HasSubstr("has no use"));
  EXPECT_THAT(refused(Parameter::kAxisFrictionLoss, 0, 0, 1).message, HasSubstr("has no use"));
  EXPECT_THAT(refused(Parameter::kActuatorKp, 0, 0, 1).message, HasSubstr("actuators[0].kp"));
  EXPECT_THAT(refused(Parameter::kGravity, 1, 2, std::nan("")).message, HasSubstr("parameters[\"gravity\"][1,2]"));
  StateUpdate twice;
  const std::vector<double> gravity(6, 1.0);
  twice.parameters = {parameter_input(Parameter::kGravity, gravity, 2),
                      parameter_input(Parameter::kGravity, gravity, 2)};
  EXPECT_THAT(batch->set_state({}, twice).error().message, HasSubstr("twice"));
}

TEST(Parameters, take_memory_of_the_budget_and_are_refused_beyond_it) {
  const auto model = compile_scene(arm_on_floor());
  const auto engine = cpu_engine(1, 64 << 20);
  const auto batch = take(engine->create_batch(batch_spec(model, 2)));
  const std::int64_t before = engine->device().memory_used_bytes, own = batch->memory_bytes();
  StateUpdate update;
  const std::vector<double> gravity(6, 1.0);
  update.parameters = {parameter_input(Parameter::kGravity, gravity, 2)};
  check(batch->set_state({}, update));
  const std::int64_t tables = 2 * 64, bound = batch->memory_bound();
  EXPECT_GE(engine->device().memory_used_bytes - before, tables);
  EXPECT_EQ(batch->memory_bytes() - own, engine->device().memory_used_bytes - before);
  EXPECT_LE(batch->memory_bytes(), bound);
  std::vector<double> rows = values_of(arm_on_floor(), Parameter::kBodyInertia);
  for (double& number : rows) number *= 1.1;
  rows.insert(rows.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(rows.size()));
  update.parameters = {parameter_input(Parameter::kBodyInertia, rows, 2)};
  check(batch->set_state({}, update));
  EXPECT_LE(batch->memory_bytes(), bound);
  EXPECT_GT(batch->memory_bytes() - own, 2 * tables);
}

}  // namespace
}  // namespace axion::testing::parameters_test
