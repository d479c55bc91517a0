// Tendons all of whose path is on one body, or on the world: their length is constant, so that whatever acts along them
// moves nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/solver_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::still_tendons_test {
namespace {

using model::TendonSpec;

model::TendonPointSpec site(int body, double z) {
  model::TendonPointSpec point;
  point.frame.body = body, point.frame.X_BF.position = {0, 0, z};
  return point;
}

model::TendonPointSpec pulley() {
  model::TendonPointSpec point;
  point.kind = model::TendonPointKind::kPulley, point.divisor = 2;
  return point;
}

// A double pendulum, whose tendon is added by each test.
model::SceneSpec double_pendulum() {
  model::SceneSpec scene;
  for (int b = 0; b < 2; ++b) {
    scene.bodies.push_back(testing::solid_box("link" + std::to_string(b), 1, {0.02, 0.02, 0.1}, {0, 0, -0.3 * b}));
    model::JointSpec joint;
    joint.name = "joint" + std::to_string(b), joint.kind = model::JointKind::kAxes;
    joint.parent = b == 0 ? model::kWorldBody : 0, joint.child = b;
    joint.axes = {testing::hinge(joint.name, {0, 1, 0}, {0, 0, 0.15})};
    scene.joints.push_back(joint);
  }
  scene.gravity = {3, 0, -9.81};
  return scene;
}

struct Named {
  std::string name;
  model::SceneSpec scene;
};

// Everything that may act along a tendon, or read it, on each of the paths, alone and beside each other.
std::vector<Named> scenes() {
  const std::vector<std::pair<std::string, std::vector<model::TendonPointSpec>>> paths = {
      {"one body", {site(1, 0), site(1, 0.1)}},
      {"two branches", {site(0, 0), site(0, 0.1), pulley(), site(1, 0), site(1, 0.1)}}};
  std::vector<Named> made;
  for (const auto& [where, path] : paths) {
    const auto add = [&, &at = where, &along = path](const char* what, auto&& change) {
      model::SceneSpec scene = double_pendulum();
      TendonSpec tendon;
      tendon.name = "still", tendon.path = along;
      scene.tendons = {tendon};
      change(scene, scene.tendons[0]);
      made.push_back({at + ": " + what, std::move(scene)});
    };
    const auto drive = [](model::SceneSpec& scene, model::ActuatorKind kind, bool bounded) {
      model::ActuatorSpec actuator;
      actuator.name = "pull", actuator.tendon = 0, actuator.kind = kind, actuator.kp = 9, actuator.kd = 1;
      actuator.effort_limited = bounded, actuator.effort_lower = -1, actuator.effort_upper = 1;
      scene.actuators.push_back(actuator);
    };
    add("limit", [](auto&, TendonSpec& t) { t.limited = true, t.lower = 0, t.upper = 0.01; });
    add("spring and damper", [](auto&, TendonSpec& t) { t.stiffness = 100, t.damping = 3; });
    add("friction", [](auto&, TendonSpec& t) { t.friction_loss = 2; });
    add("armature", [](auto&, TendonSpec& t) { t.armature = 0.1; });
    add("motor", [&](auto& scene, TendonSpec&) { drive(scene, model::ActuatorKind::kMotor, false); });
    add("drive", [&](auto& scene, TendonSpec&) { drive(scene, model::ActuatorKind::kPosition, false); });
    add("bounded drive", [&](auto& scene, TendonSpec&) { drive(scene, model::ActuatorKind::kPosition, true); });
    add("sensor", [](auto& scene, TendonSpec&) {
      model::SensorSpec sensor;
      sensor.name = "length", sensor.kind = model::SensorKind::kTendonPosition, sensor.tendon = 0;
      scene.sensors = {sensor};
    });
    add("equality", [](auto& scene, TendonSpec&) {
      model::EqualitySpec equality;
      equality.name = "held", equality.first.tendon = 0;
      scene.equalities = {equality};
    });
    add("all laws", [&](auto& scene, TendonSpec& t) {
      t.limited = true, t.lower = 0, t.upper = 0.01, t.stiffness = 100, t.damping = 3, t.friction_loss = 2;
      t.armature = 0.1;
      drive(scene, model::ActuatorKind::kPosition, false);
    });
  }
  return made;
}

template <typename Real>
class StillTendons : public ::testing::Test {};
TYPED_TEST_SUITE(StillTendons, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(StillTendons, move_nothing_whatever_acts_along_them) {
  const auto swing = [](const model::SceneSpec& scene, auto&& look) {
    for (const model::Preset preset : {model::Preset::kDefault, model::Preset::kVelocity}) {
      testing::SingleWorld<TypeParam> world(scene, model::make_options(preset), 2e-3);
      for (int a = 0; a < world.model().control_count; ++a) world.world().control[a] = TypeParam(0.7);
      for (int i = 0; i < 100; ++i) {
        world.step();
        ASSERT_TRUE(world.converged()) << i;
      }
      look(world);
    }
  };
  std::vector<double> free;
  swing(double_pendulum(), [&](auto& world) { free.push_back(double(world.world().x[1].x)); });
  ASSERT_GT(std::abs(free[0]), 1e-3);
  for (const auto& [name, scene] : scenes()) {
    SCOPED_TRACE(name);
    std::size_t k = 0;
    swing(scene, [&](auto& world) { EXPECT_NEAR(double(world.world().x[1].x), free[k++], 1e-6); });
  }
}

}  // namespace
}  // namespace axion::still_tendons_test
