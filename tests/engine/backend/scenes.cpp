#include "tests/engine/backend/scenes.hpp"

#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

#include "engine/import/mjcf.hpp"
#include "engine/model/sensor_layout.hpp"

namespace axion::testing {

using model::AxisSpec;
using model::BodySpec;
using model::JointKind;
using model::JointSpec;
using model::SceneSpec;
using model::ShapeKind;
using model::ShapeSpec;

void check(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error().field + ": " + status.error().message);
}

namespace {

BodySpec body(const char* name, double mass, model::Vec3d position) {
  BodySpec b;
  b.name = name, b.mass = mass, b.X_WB.position = position;
  b.I_Bcm = {0.02 * mass, 0.03 * mass, 0.04 * mass, 0, 0, 0};
  return b;
}

ShapeSpec shape(const char* name, ShapeKind kind, int owner, model::Vec3d size) {
  ShapeSpec s;
  s.name = name, s.kind = kind, s.body = owner, s.size = size;
  return s;
}

JointSpec joint(const char* name, JointKind kind, int parent, int child) {
  JointSpec j;
  j.name = name, j.kind = kind, j.parent = parent, j.child = child;
  return j;
}

AxisSpec axis(const char* name, model::AxisKind kind, model::Vec3d direction, model::Vec3d anchor) {
  AxisSpec a;
  a.name = name, a.kind = kind, a.axis = direction, a.anchor = anchor;
  return a;
}

}  // namespace

SceneSpec box_and_sphere() {
  SceneSpec scene;
  scene.name = "box and sphere";
  scene.bodies = {body("box", 1, {0, 0, 0.3}), body("sphere", 2, {0.6, 0, 0.25})};
  scene.joints = {joint("box", JointKind::kFree, model::kWorldBody, 0),
                  joint("sphere", JointKind::kFree, model::kWorldBody, 1)};
  scene.shapes = {shape("floor", ShapeKind::kPlane, model::kWorldBody, {}),
                  shape("box", ShapeKind::kBox, 0, {0.1, 0.2, 0.15}),
                  shape("sphere", ShapeKind::kSphere, 1, {0.2, 0, 0})};
  return scene;
}

SceneSpec all_joints() {
  using model::AxisKind;
  SceneSpec scene;
  scene.name = "all joints";
  scene.bodies = {body("base", 3, {0, 0, 1}), body("ball", 1, {0.5, 0, 1}), body("arm", 1, {0.9, 0, 1}),
                  body("hand", 0.5, {1.3, 0, 1})};
  scene.bodies[0].I_Bcm = {0.06, 0.08, 0.1, 0.01, -0.005, 0.008};
  scene.bodies[1].p_BoBcm = {0.05, 0.02, -0.03};
  scene.bodies[1].I_Bcm = {0.02, 0.03, 0.04, 0.004, 0.002, -0.003};
  scene.joints = {joint("root", JointKind::kFree, model::kWorldBody, 0), joint("ball", JointKind::kBall, 0, 1),
                  joint("arm", JointKind::kAxes, 1, 2), joint("hand", JointKind::kAxes, 2, 3)};
  scene.joints[1].anchor = {-0.2, 0, 0};
  scene.joints[1].ball_damping = 0.05;
  scene.joints[2].axes = {axis("reach", AxisKind::kSlide, {1, 0, 0}, {}),
                          axis("lift", AxisKind::kHinge, {0, 1, 0}, {-0.2, 0, 0}),
                          axis("turn", AxisKind::kHinge, {0.3, 0, 1}, {-0.2, 0, 0})};
  scene.joints[2].axes[1].limited = true, scene.joints[2].axes[1].lower = -0.5, scene.joints[2].axes[1].upper = 0.5;
  scene.joints[3].axes = {axis("wrist", AxisKind::kHinge, {0, 1, 0.2}, {-0.2, 0, 0})};
  scene.joints[3].axes[0].damping = 0.02, scene.joints[3].axes[0].armature = 0.01;
  scene.joints[3].axes[0].reference = 0.3, scene.joints[3].axes[0].initial_position = 0.3;
  model::ActuatorSpec motor, drive;
  motor.name = "reach", motor.joint = 2, motor.axis = 0, motor.gear = 2;
  motor.control_limited = true, motor.control_lower = -1, motor.control_upper = 1;
  drive.name = "wrist", drive.kind = model::ActuatorKind::kPosition, drive.joint = 3, drive.kp = 5, drive.kd = 0.2;
  scene.actuators = {motor, drive};
  model::KeyframeSpec bent;
  bent.name = "bent", bent.time = 2.5;
  bent.joint_position = {0.1, 0.2, 1.5, 0.8, 0, 0.6, 0, 0.9, 0.1, 0.3, 0.2, 0.1, 0.2, -0.4, 0.7};
  bent.joint_velocity = {0.1, 0, -0.2, 0.3, 0.2, 0.1, 0.4, -0.3, 0.2, 0.1, 0.5, -0.6, 0.9};
  scene.keyframes = {bent};
  return scene;
}

SceneSpec quadruped() {
  std::ifstream file(AXION_SOURCE_DIR "/clients/examples/models/quadruped.xml");
  std::stringstream text;
  text << file.rdbuf();
  return take(import::import_mjcf(text.str(), {})).scene;
}

model::SceneSpec with_sensors(model::SceneSpec scene) {
  using model::SensorOf;
  for (int k = 0; k < model::kSensorKindCount; ++k) {
    const auto kind = static_cast<model::SensorKind>(k);
    const SensorOf of = model::sensor_traits(kind).of;
    const auto add = [&](const auto& change) {
      model::SensorSpec sensor;
      sensor.name = "sensor" + std::to_string(scene.sensors.size());
      sensor.kind = kind;
      sensor.zone_size = {0.4, 0.4, 0.4};
      change(sensor);
      scene.sensors.push_back(sensor);
    };
    if (of == SensorOf::kWorld) add([](auto&) {});
    for (int s = 1; of == SensorOf::kPair && s < static_cast<int>(scene.shapes.size()); ++s) {
      add([&](model::SensorSpec& sensor) {
        sensor.cutoff = 2;
        sensor.contact.first = {model::ContactSideKind::kShape, s};
        sensor.contact.second = {model::ContactSideKind::kBody, 0};
      });
    }
    for (int b = 0; (of == SensorOf::kFrame || of == SensorOf::kBody) && b < static_cast<int>(scene.bodies.size());
         ++b) {
      if (model::needs_reference(kind) && b == 0) continue;
      add([&](model::SensorSpec& sensor) {
        sensor.frame = {b, {{0.1, -0.05, 0.2}, {0.9, 0.1, -0.3, 0.2}}};
        sensor.has_reference = model::takes_reference(kind) && b > 0;
        if (sensor.has_reference) sensor.reference = {b - 1, {{0, 0.1, 0}, {0.8, 0.6, 0, 0}}};
      });
    }
    for (int j = 0; j < static_cast<int>(scene.joints.size()); ++j) {
      const model::JointSpec& joint = scene.joints[static_cast<std::size_t>(j)];
      if (of == SensorOf::kBall && joint.kind == model::JointKind::kBall) add([&](auto& sensor) { sensor.joint = j; });
      for (int a = 0; of == SensorOf::kAxis && a < static_cast<int>(joint.axes.size()); ++a) {
        add([&](auto& sensor) { sensor.joint = j, sensor.axis = a; });
      }
    }
    for (int i = 0; of == SensorOf::kActuator && i < static_cast<int>(scene.actuators.size()); ++i) {
      add([&](auto& sensor) { sensor.actuator = i; });
    }
  }
  return scene;
}

std::shared_ptr<const Model> compile_scene(const SceneSpec& scene) { return take(compile_model(scene)); }

std::unique_ptr<Engine> cpu_engine(int threads, std::int64_t memory_limit) {
  return take(create_engine({.device = AXION_TEST_DEVICE, .threads = threads, .memory_limit_bytes = memory_limit}));
}

BatchSpec batch_spec(std::shared_ptr<const Model> model, int worlds, model::Precision precision) {
  BatchSpec spec;
  spec.model = std::move(model);
  spec.world_count = worlds;
  spec.options.precision = precision;
  return spec;
}

std::vector<double> read(const Batch& batch, Field field, std::vector<std::int32_t> worlds) {
  std::size_t count = 1;
  for (const std::int64_t extent : batch.field_shape(field)) count *= static_cast<std::size_t>(extent);
  const std::size_t size = size_of(batch.field_dtype(field));
  const std::size_t n = worlds.empty() ? batch.spec().world_count : worlds.size();
  std::vector<std::byte> bytes(n * count * size);
  const OutputView out{field, bytes.data(), count * size, 0};
  check(batch.get(worlds, {&out, 1}));
  std::vector<double> values;
  for (std::size_t i = 0; i < n * count; ++i) {
    const std::byte* p = bytes.data() + i * size;
    switch (batch.field_dtype(field)) {
      case DType::kFloat32:
        values.push_back(*reinterpret_cast<const float*>(p));
        break;
      case DType::kFloat64:
        values.push_back(*reinterpret_cast<const double*>(p));
        break;
      case DType::kInt32:
        values.push_back(*reinterpret_cast<const std::int32_t*>(p));
        break;
      case DType::kUint32:
        values.push_back(*reinterpret_cast<const std::uint32_t*>(p));
        break;
      case DType::kInt64:
        values.push_back(static_cast<double>(*reinterpret_cast<const std::int64_t*>(p)));
        break;
    }
  }
  return values;
}

std::string state_bytes(const Batch& batch, int world) {
  std::string all;
  for (int f = 0; f < kFieldCount; ++f) {
    const Field field = static_cast<Field>(f);
    std::size_t bytes = size_of(batch.field_dtype(field));
    for (const std::int64_t extent : batch.field_shape(field)) bytes *= static_cast<std::size_t>(extent);
    std::string part(bytes, '\0');
    const OutputView out{field, reinterpret_cast<std::byte*>(part.data()), bytes, 0};
    const std::int32_t index = world;
    check(batch.get({&index, 1}, {&out, 1}));
    all += part;
  }
  return all;
}

InputView input(const std::vector<double>& values, int columns) {
  return {reinterpret_cast<const std::byte*>(values.data()), DType::kFloat64, columns * sizeof(double), 0};
}

std::vector<double> noise(int count, double scale, unsigned seed) {
  std::minstd_rand generator(seed);
  std::vector<double> values(count);
  for (double& value : values) value = scale * (2.0 * generator() / double(std::minstd_rand::max()) - 1.0);
  return values;
}

StepStatistics step(Engine& engine, Batch& batch, int steps, const std::vector<double>& control) {
  StepRequest request;
  request.batch = &batch;
  request.step_count = steps;
  if (!control.empty()) request.control = input(control, static_cast<int>(control.size()) / batch.spec().world_count);
  return take(engine.step({&request, 1}));
}

void scatter_worlds(Batch& batch) {
  const int n = batch.spec().world_count, columns = static_cast<int>(batch.field_shape(Field::kBodyVelocity)[0]) * 6;
  const std::vector<double> velocity = noise(n * columns, 0.3, 7);
  StateUpdate state;
  state.body_velocity = input(velocity, columns);
  check(batch.set_state({}, state));
}

}  // namespace axion::testing
