#include "tests/support/start_speeds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "engine/model/loop_joints.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::testing {
namespace {

using Vec3 = math::Vec3<double>;

// A number from 0 to 1 that depends on its arguments alone.
double draw(int index, std::size_t which) {
  std::uint64_t x = 0x9e3779b97f4a7c15U * (std::uint64_t(index) + 1) + 0xbf58476d1ce4e5b9U * (which + 1);
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return double((x ^ (x >> 31U)) >> 11U) * 0x1p-53;
}

Vec3 half_sides(const ModelInfo& model, const model::ShapeSpec& shape) {
  using model::ShapeKind;
  const auto& s = shape.size;
  switch (shape.kind) {
    case ShapeKind::kSphere:
      return {s[0], s[0], s[0]};
    case ShapeKind::kCapsule:
      return {s[0], s[0], s[0] + s[1]};
    case ShapeKind::kCylinder:
      return {s[0], s[0], s[1]};
    case ShapeKind::kBox:
    case ShapeKind::kEllipsoid:
      return {s[0], s[1], s[2]};
    default:
      break;
  }
  Vec3 most{};
  for (const model::MeshSpec& mesh : model.meshes) {
    if (mesh.name != shape.mesh) continue;
    for (const auto& v : mesh.vertices) {
      for (int k = 0; k < 3; ++k) most[k] = std::max(most[k], std::abs(double(v[std::size_t(k)])));
    }
  }
  return most;
}

// m, [body] of those without shapes twice the greatest radius of gyration.
std::vector<double> sizes(const ModelInfo& model) {
  std::vector<Vec3> low(model.bodies.size(), Vec3{1, 1, 1}), high(model.bodies.size(), Vec3{-1, -1, -1});
  std::vector<bool> seen(model.bodies.size(), false);
  for (const model::ShapeSpec& shape : model.shapes) {
    if (shape.body < 0) continue;
    const std::size_t b = std::size_t(shape.body);
    const auto X = model::to_pose(shape.X_BS);
    const Vec3 half = half_sides(model, shape);
    Vec3 reach{};
    for (int k = 0; k < 3; ++k) {
      Vec3 e{};
      e[k] = half[k];
      const Vec3 side = math::rotate(X.rotation, e);
      for (int i = 0; i < 3; ++i) reach[i] += std::abs(side[i]);
    }
    const Vec3 a = X.position - reach, c = X.position + reach;
    for (int i = 0; i < 3; ++i) {
      low[b][i] = seen[b] ? std::min(low[b][i], a[i]) : a[i];
      high[b][i] = seen[b] ? std::max(high[b][i], c[i]) : c[i];
    }
    seen[b] = true;
  }
  std::vector<double> size;
  for (std::size_t b = 0; b < model.bodies.size(); ++b) {
    const BodyInfo& body = model.bodies[b];
    const double gyration = std::sqrt(std::max({body.I_Bcm[0], body.I_Bcm[1], body.I_Bcm[2]}) / body.mass);
    const Vec3 sides = high[b] - low[b];
    size.push_back(seen[b] ? std::max({sides.x, sides.y, sides.z}) : 2 * gyration);
  }
  return size;
}

model::SceneSpec without_contacts(model::SceneSpec scene) {
  for (model::ShapeSpec& shape : scene.shapes) shape.contact_type = shape.contact_affinity = 0;
  scene.contact_pairs.clear();
  scene.equalities.clear();
  const std::vector<bool> closes = model::find_loop_joints(scene);
  std::vector<int> place(scene.joints.size(), -1);
  std::vector<model::JointSpec> kept;
  for (std::size_t j = 0; j < scene.joints.size(); ++j) {
    if (closes[j]) continue;
    place[j] = int(kept.size());
    kept.push_back(scene.joints[j]);
  }
  const auto moved = [&](int& joint) {
    if (joint >= 0) joint = place[std::size_t(joint)];
  };
  for (model::ActuatorSpec& actuator : scene.actuators) moved(actuator.joint);
  for (model::TendonSpec& tendon : scene.tendons) {
    for (model::TendonTermSpec& term : tendon.terms) moved(term.joint);
  }
  scene.sensors.clear();
  scene.joints = std::move(kept);
  return scene;
}

std::vector<double> field_of(const Batch& batch, Field field) {
  std::size_t count = 1;
  for (const std::int64_t n : batch.field_shape(field)) count *= std::size_t(n);
  std::vector<double> values(count);
  std::vector<float> narrow(count);
  const bool wide = batch.field_dtype(field) == DType::kFloat64;
  const OutputView out{
      field, wide ? reinterpret_cast<std::byte*>(values.data()) : reinterpret_cast<std::byte*>(narrow.data()), 0, 0};
  if (!batch.get({}, {&out, 1}).ok()) return {};
  if (!wide) std::copy(narrow.begin(), narrow.end(), values.begin());
  return values;
}

struct Run {
  std::vector<double> fastest;  // [body] m/s
  StepStatistics steps;
  std::string refused;
};

Run run(const model::SceneSpec& scene, const model::SolverOptions& options, double dt, int index) {
  Run result;
  const auto refuse = [&](const Error& error) {
    result.refused = error.field + ": " + error.message;
    return result;
  };
  const auto model = compile_model(scene);
  if (!model.ok()) return refuse(model.error());
  EngineOptions device;
  device.device = "cpu", device.threads = 1;
  const auto engine = std::move(create_engine(device)).value();
  BatchSpec spec;
  spec.model = model.value(), spec.dt = dt, spec.options = options;
  auto made = engine->create_batch(spec);
  if (!made.ok()) return refuse(made.error());
  Batch& batch = *made.value();
  const ModelInfo& info = model.value()->info();
  if (index > 0) {
    const std::vector<double> q = draw_start(info, field_of(batch, Field::kJointPosition), index);
    StateUpdate state;
    state.joint_position = {reinterpret_cast<const std::byte*>(q.data()), DType::kFloat64, 0, 0};
    if (const Status set = batch.set_state({}, state); !set.ok()) return refuse(set.error());
  }
  const std::size_t bodies = info.bodies.size();
  const int steps = int(std::lround(1 / dt)), stretch = 50;
  const bool wide = options.precision == model::Precision::kFloat64;
  const std::size_t element = wide ? 8 : 4, record = 6 * bodies * element;
  std::vector<std::byte> bytes(record * stretch);
  result.fastest.assign(bodies, 0);
  for (int done = 0; done < steps; done += stretch) {
    const int count = std::min(stretch, steps - done);
    StepRequest request;
    request.batch = &batch, request.step_count = count, request.record_every = 1;
    const OutputView out{Field::kBodyVelocity, bytes.data(), record * stretch, record};
    request.outputs = {&out, 1};
    if (const auto stepped = engine->step({&request, 1}); !stepped.ok()) return refuse(stepped.error());
    for (int i = 0; i < count; ++i) {
      for (std::size_t b = 0; b < bodies; ++b) {
        double square = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          const std::byte* at = bytes.data() + record * std::size_t(i) + (6 * b + k) * element;
          const double v = wide ? *reinterpret_cast<const double*>(at) : double(*reinterpret_cast<const float*>(at));
          square += v * v;
        }
        const double speed = std::isfinite(square) ? std::sqrt(square) : HUGE_VAL;
        result.fastest[b] = std::max(result.fastest[b], speed);
      }
    }
  }
  result.steps = batch.statistics().steps;
  if (result.steps.non_finite > 0) std::fill(result.fastest.begin(), result.fastest.end(), HUGE_VAL);
  return result;
}

}  // namespace

std::vector<double> draw_start(const ModelInfo& model, const std::vector<double>& reset, int index) {
  std::vector<double> q = reset;
  const std::vector<double> size = sizes(model);
  for (const JointInfo& joint : model.joints) {
    const std::size_t at = std::size_t(joint.position_start);
    if (joint.closes_loop || joint.position_count == 0) continue;
    const bool is_free = joint.kind == model::JointKind::kFree;
    if (is_free) q[at + 2] -= 2 * size[std::size_t(joint.child)] * draw(index, at);
    if (is_free || joint.kind == model::JointKind::kBall) {
      const std::size_t from = is_free ? at + 3 : at;
      std::array<double, 4> r{};
      double square = 0;
      for (std::size_t k = 0; k < 4; ++k) r[k] = draw(index, from + k) - 0.5, square += r[k] * r[k];
      for (std::size_t k = 0; k < 4; ++k) q[from + k] = r[k] / std::sqrt(square + 1e-12);
      continue;
    }
    for (std::size_t k = 0; k < joint.axes.size(); ++k) {
      const model::AxisSpec& axis = joint.axes[k];
      const double way = axis.kind == model::AxisKind::kHinge ? std::numbers::pi : 0.2;
      const double low = axis.limited ? axis.lower : reset[at + k] - way;
      const double high = axis.limited ? axis.upper : reset[at + k] + way;
      q[at + k] = low + (high - low) * draw(index, at + k);
    }
  }
  return q;
}

StartSpeeds measure_start(const model::SceneSpec& scene, const model::SolverOptions& options, double dt, int index) {
  const Run whole = run(scene, options, dt, index), alone = run(without_contacts(scene), options, dt, index);
  StartSpeeds result;
  result.refused = whole.refused.empty() ? alone.refused : whole.refused;
  if (!result.refused.empty()) return result;
  const auto model = compile_model(scene);
  const ModelInfo& info = model.value()->info();
  const std::vector<double> size = sizes(info);
  const double g = math::norm(model::to_vec3(info.gravity));
  double worst = -HUGE_VAL;
  for (std::size_t b = 0; b < info.bodies.size(); ++b) {
    const double allowed = alone.fastest[b] + 3 * (std::sqrt(2 * g * size[b]) + options.depenetration_velocity);
    if (!(whole.fastest[b] - allowed > worst)) continue;
    worst = whole.fastest[b] - allowed;
    result.body = info.bodies[b].name, result.speed = whole.fastest[b], result.allowed = allowed;
  }
  result.converged = double(whole.steps.converged) / double(std::max<std::int64_t>(1, whole.steps.world_steps));
  result.joint_error = whole.steps.max_joint_error;
  return result;
}

}  // namespace axion::testing
