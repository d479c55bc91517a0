#include "engine/backend/engine_model.hpp"

#include <cmath>
#include <new>
#include <utility>

#include "engine/base/hash.hpp"
#include "engine/model/loop_joints.hpp"
#include "engine/model/scene_warnings.hpp"
#include "engine/model/sensor_layout.hpp"

namespace axion::backend {
namespace {

model::Vec3d unit(const model::Vec3d& a) {
  const double length = std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
  return {a[0] / length, a[1] / length, a[2] / length};
}

// Initial pose of the body frame from that of the principal frame.
model::PoseSpec body_pose(const model::CompiledModel& compiled, int internal) {
  const auto q = math::normalized(compiled.q[internal] * math::conjugate(compiled.q_BC[internal]));
  const auto p = compiled.x[internal] - math::rotate(q, compiled.p_BC[internal]);
  return {{p.x, p.y, p.z}, {q.w, q.x, q.y, q.z}};
}

ModelInfo make_info(const model::CompiledModel& compiled, const UserArrays<double>& user,
                    const model::SceneSpec& source) {
  const model::SceneSpec& scene = compiled.welded.scene;
  ModelInfo info;
  info.name = scene.name;
  std::vector<model::BodySpec> bodies = scene.bodies;
  model::read_masses(compiled.welded.unread, bodies);
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const model::BodySpec& body = bodies[b];
    info.bodies.push_back(
        {body.name, body.mass, body.I_Bcm, body.p_BoBcm, body_pose(compiled, compiled.internal_body[b])});
  }
  for (const model::Weld& weld : compiled.welded.welds) {
    info.welds.push_back({weld.name, weld.body, weld.X_BW, weld.mocap});
  }
  for (std::size_t i = 0; i < compiled.welded.mocaps.size(); ++i) {
    const auto body = static_cast<std::size_t>(compiled.welded.mocaps[i]);
    info.mocaps.push_back({source.bodies[body].name, compiled.welded.mocap_poses[i], {}});
  }
  for (std::size_t i = 0; i < compiled.welded.shape_part.size() && !info.mocaps.empty(); ++i) {
    const int part = compiled.welded.shape_part[i];
    const int mocap = part < 0 ? -1 : compiled.welded.mocap_of_body[static_cast<std::size_t>(part)];
    if (mocap >= 0) info.mocaps[static_cast<std::size_t>(mocap)].shapes.push_back(static_cast<int>(i));
  }
  for (std::size_t j = 0; j < scene.joints.size(); ++j) {
    const model::JointSpec& joint = scene.joints[j];
    JointInfo joint_info{joint.name,
                         joint.kind,
                         joint.parent,
                         joint.child,
                         user.joints[j].position_start,
                         model::position_count(joint, compiled.closes_loop[j]),
                         user.joints[j].velocity_start,
                         model::velocity_count(joint, compiled.closes_loop[j]),
                         joint.axes,
                         compiled.closes_loop[j],
                         joint.lock_stiffness,
                         joint.lock_damping};
    for (model::AxisSpec& axis : joint_info.axes) axis.axis = unit(axis.axis);
    info.joints.push_back(std::move(joint_info));
  }
  info.shapes = scene.shapes;
  info.meshes = scene.meshes, info.height_fields = scene.height_fields;
  info.actuators = scene.actuators;
  info.keyframes = scene.keyframes;
  info.tendons = scene.tendons, info.equalities = scene.equalities;
  for (const model::SensorSpec& sensor : source.sensors) {
    const int size = model::sensor_size(sensor);
    info.sensors.push_back({sensor.name, sensor.kind, info.sensor_size, size, sensor.cutoff, sensor.noise});
    info.sensor_size += size;
  }
  info.gravity = scene.gravity;
  info.timestep = scene.timestep;
  info.joint_position_count = user.position_count;
  info.joint_velocity_count = user.velocity_count;
  info.contact_capacity = compiled.arrays.contact_capacity;
  info.warnings = model::scene_warnings(source);
  info.warnings.insert(info.warnings.end(), compiled.warnings.begin(), compiled.warnings.end());
  info.scene = source;
  info.fingerprint = model::fingerprint(source);
  return info;
}

std::uint64_t hash_of_pairs(const model::ModelView<double>& m) {
  Hash hash;
  for (int i = 0; i < m.pair_count; ++i) {
    hash.add(std::uint64_t(std::uint32_t(m.pairs[i].shape_a)) << 32 | std::uint32_t(m.pairs[i].shape_b));
  }
  return hash.value();
}

}  // namespace

template <typename Real>
UserArrays<Real> make_user_arrays(const model::CompiledModel& compiled) {
  UserArrays<Real> user;
  user.external_body = compiled.external_body;
  for (const auto& p : compiled.p_BC) user.p_BC.push_back(math::cast<Real>(p));
  for (const auto& q : compiled.q_BC) user.q_BC.push_back(math::cast<Real>(q));
  const auto& joints = compiled.welded.scene.joints;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    const bool loop = compiled.closes_loop[j];
    const int positions = model::position_count(joints[j], loop);
    user.joints.push_back({joints[j].kind, compiled.joint_of_scene[j], compiled.internal_body[joints[j].child],
                           user.position_count, user.velocity_count, positions > 0});
    user.position_count += positions;
    user.velocity_count += model::velocity_count(joints[j], loop);
  }
  return user;
}

template UserArrays<float> make_user_arrays<float>(const model::CompiledModel&);
template UserArrays<double> make_user_arrays<double>(const model::CompiledModel&);

template <typename Real>
model::UserLayout<Real> UserArrays<Real>::view() const {
  return {static_cast<int>(joints.size()),
          position_count,
          velocity_count,
          external_body.data(),
          p_BC.data(),
          q_BC.data(),
          joints.data()};
}

template struct UserArrays<float>;
template struct UserArrays<double>;

EngineModel::EngineModel(model::CompiledModel compiled, const model::SceneSpec& scene)
    : compiled_(std::move(compiled)),
      arrays_float_(model::to_float(compiled_.arrays)),
      user_float_(make_user_arrays<float>(compiled_)),
      user_double_(make_user_arrays<double>(compiled_)),
      info_(make_info(compiled_, user_double_, scene)),
      pairs_hash_(hash_of_pairs(compiled_.arrays.view())) {}

}  // namespace axion::backend

namespace axion {

Result<std::shared_ptr<const Model>> compile_model(const model::SceneSpec& scene) {
  try {
    Result<model::CompiledModel> compiled = model::compile(scene);
    if (!compiled.ok()) return compiled.error();
    return std::shared_ptr<const Model>(std::make_shared<backend::EngineModel>(std::move(compiled).value(), scene));
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kResourceExhausted, "", "There is not enough memory to compile the scene."};
  }
}

}  // namespace axion
