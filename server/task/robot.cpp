#include "server/task/robot.hpp"

#include <map>

namespace axion::server::task {
namespace {

Vec3 to_vec3(const model::Vec3d& a) { return {a[0], a[1], a[2]}; }

Mat3 to_matrix(const model::Quatd& a) {
  return math::to_matrix(math::normalized(math::Quat<double>{a[0], a[1], a[2], a[3]}));
}

Mat3 to_inertia(const std::array<double, 6>& I) {  // xx yy zz xy xz yz
  return {{{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}}};
}

// The body that hangs on the world and carries `body`.
int root_of(int body, const std::vector<int>& parent) {
  for (std::size_t depth = 0; depth < parent.size() && parent[static_cast<std::size_t>(body)] >= 0; ++depth) {
    body = parent[static_cast<std::size_t>(body)];
  }
  return body;
}

// The first joint that has a body as its child carries it.
std::vector<int> parents_of(const model::SceneSpec& scene) {
  std::vector<int> parent(scene.bodies.size(), model::kWorldBody);
  std::vector<bool> carried(scene.bodies.size());
  for (const model::JointSpec& joint : scene.joints) {
    const auto child = static_cast<std::size_t>(joint.child);
    if (!carried[child]) parent[child] = joint.parent;
    carried[child] = true;
  }
  return parent;
}

std::vector<EffortShare> efforts_of(const ModelInfo& info) {
  std::vector<EffortShare> efforts;
  for (std::size_t i = 0; i < info.actuators.size(); ++i) {
    const model::ActuatorSpec& actuator = info.actuators[i];
    const auto add = [&](int joint, int axis, double gear) {
      const int start = info.joints[static_cast<std::size_t>(joint)].velocity_start;
      efforts.push_back({static_cast<int>(i), start + axis, gear});
    };
    if (actuator.tendon < 0) {
      add(actuator.joint, actuator.axis, actuator.gear);
      continue;
    }
    for (const model::TendonTermSpec& term : info.tendons[static_cast<std::size_t>(actuator.tendon)].terms) {
      add(term.joint, term.axis, actuator.gear * term.coefficient);
    }
  }
  return efforts;
}

void add_joints(const ModelInfo& info, std::vector<std::string>& names, std::vector<Coordinates>& joints) {
  const auto add = [&](const std::string& name, const Coordinates& coordinates) {
    names.push_back(name);
    joints.push_back(coordinates);
  };
  for (std::size_t j = 0; j < info.joints.size(); ++j) {
    const JointInfo& joint = info.joints[j];
    if (joint.closes_loop) continue;
    const int index = static_cast<int>(j);
    for (std::size_t a = 0; a < joint.axes.size(); ++a) {
      const int axis = static_cast<int>(a);
      add(joint.axes[a].name, {joint.position_start + axis, 1, joint.velocity_start + axis, 1, false, index, axis});
    }
    if (joint.axes.size() == 1 && joint.axes[0].name == joint.name) continue;
    add(joint.name, {joint.position_start, joint.position_count, joint.velocity_start, joint.velocity_count,
                     joint.kind == model::JointKind::kFree, index, -1});
  }
}

}  // namespace

Robot::Robot(const ModelInfo& info) : efforts(efforts_of(info)) {
  struct Owner {
    int body = model::kWorldBody;
    model::PoseSpec X;
  };
  std::map<std::string, Owner> owners;
  for (std::size_t i = 0; i < info.bodies.size(); ++i) {
    owners[info.bodies[i].name] = {static_cast<int>(i), {}};
    p_BoBcm.push_back(to_vec3(info.bodies[i].p_BoBcm));
  }
  for (const WeldInfo& weld : info.welds) owners[weld.name] = {weld.body, weld.X_BW};
  const std::vector<int> parent = parents_of(info.scene);
  for (std::size_t i = 0; i < info.scene.bodies.size(); ++i) {
    const model::BodySpec& spec = info.scene.bodies[i];
    const Owner& owner = owners[spec.name];
    bodies.push_back({.name = spec.name,
                      .owner = owner.body,
                      .p_owner = to_vec3(owner.X.position),
                      .R_owner = to_matrix(owner.X.rotation),
                      .mass = spec.mass,
                      .p_BoBcm = to_vec3(spec.p_BoBcm),
                      .I_Bcm = to_inertia(spec.I_Bcm),
                      .root = root_of(static_cast<int>(i), parent)});
    body_names.push_back(spec.name);
    mass += spec.mass;
  }
  for (const model::ShapeSpec& shape : info.scene.shapes) body_of_shape.push_back(shape.body);
  add_joints(info, joint_names, joints);
  for (const JointInfo& joint : info.joints) {
    if (joint.kind != model::JointKind::kFree || joint.closes_loop) continue;
    free_roots.push_back({joint.child, joint.position_start, joint.velocity_start});
  }
}

int Robot::find_body(const std::string& name) const {
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    if (bodies[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace axion::server::task
