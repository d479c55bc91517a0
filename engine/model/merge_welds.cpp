#include "engine/model/merge_welds.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/model/loop_joints.hpp"
#include "engine/model/sensor_layout.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_inertia.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::model {
namespace {

// What a body of the input becomes part of.
struct Part {
  int root = kWorldBody;  // body of the input that it moves with, or kWorldBody
  int mocap = -1;         // of those that stand in the world: the mocap body that it stands on
  Pose X_RB;              // its frame in the root's frame, or in the world
};

class Merger {
 public:
  explicit Merger(const SceneSpec& scene) : in_(scene), closes_loop_(find_loop_joints(scene)) {}
  Result<WeldedScene> run();

 private:
  void find_parts();
  void find_mocaps();
  Status bodies();
  void add_lifts();
  void add_unread();
  void add_fluid_parts();
  void joints();
  JointSpec moved_loop_joint(const JointSpec& joint) const;
  FrameSpec moved_frame(const FrameSpec& frame) const;
  void contents();
  void keyframes();
  MassProperties mass_of(std::size_t body) const;

  const SceneSpec& in_;
  const std::vector<bool> closes_loop_;  // [joint of the input]
  std::vector<Part> parts_;              // [body of the input]
  std::vector<int> joint_map_;           // [joint of the input] -> joint of the result, -1 if it is gone
  WeldedScene out_;
};

// The scene is valid, so the joints that close no loop form a tree; bodies may still come in any order.
void Merger::find_parts() {
  std::vector<int> weld_of(in_.bodies.size(), -1);
  for (std::size_t j = 0; j < in_.joints.size(); ++j) {
    if (is_weld(in_.joints[j], closes_loop_[j])) weld_of[in_.joints[j].child] = static_cast<int>(j);
  }
  parts_.resize(in_.bodies.size());
  std::vector<int> root_of(in_.bodies.size(), -2);  // -2: not known yet
  std::vector<int> path;
  for (std::size_t start = 0; start < in_.bodies.size(); ++start) {
    int b = static_cast<int>(start);
    path.clear();
    while (b != kWorldBody && root_of[b] == -2 && weld_of[b] >= 0) {
      path.push_back(b);
      b = in_.joints[weld_of[b]].parent;
    }
    const int root = b == kWorldBody ? kWorldBody : (root_of[b] == -2 ? b : root_of[b]);
    if (b != kWorldBody) root_of[b] = root;
    for (int member : path) root_of[member] = root;
    const Pose X_WB = to_pose(in_.bodies[start].X_WB);
    parts_[start].root = root;
    if (root == kWorldBody) {
      parts_[start].X_RB = X_WB;
    } else if (root != static_cast<int>(start)) {
      parts_[start].X_RB = inverse(to_pose(in_.bodies[root].X_WB)) * X_WB;
    }
  }
}

MassProperties Merger::mass_of(std::size_t b) const {
  const BodySpec& body = in_.bodies[b];
  return re_express(parts_[b].X_RB, {body.mass, to_vec3(body.p_BoBcm), to_matrix(body.I_Bcm)});
}

Status Merger::bodies() {
  std::vector<std::vector<MassProperties>> added(in_.bodies.size());  // [root] what is welded to it
  out_.body_map.assign(in_.bodies.size(), kWorldBody);
  for (std::size_t b = 0; b < in_.bodies.size(); ++b) {
    if (parts_[b].root == static_cast<int>(b)) {
      out_.body_map[b] = static_cast<int>(out_.scene.bodies.size());
      out_.scene.bodies.push_back(in_.bodies[b]);
    } else if (parts_[b].root != kWorldBody) {
      added[parts_[b].root].push_back(mass_of(b));
    }
  }
  for (std::size_t b = 0; b < in_.bodies.size(); ++b) {
    if (parts_[b].root == static_cast<int>(b)) continue;
    out_.body_map[b] = parts_[b].root == kWorldBody ? kWorldBody : out_.body_map[parts_[b].root];
    out_.welds.push_back({in_.bodies[b].name, out_.body_map[b], parts_[b].mocap, to_spec(parts_[b].X_RB)});
  }
  for (std::size_t b = 0; b < in_.bodies.size(); ++b) {
    if (added[b].empty()) continue;  // a body alone keeps its numbers bit for bit; validate_scene has checked them
    added[b].push_back(mass_of(b));
    const MassProperties sum = combine(added[b]);
    BodySpec& root = out_.scene.bodies[out_.body_map[b]];
    root.mass = sum.mass;
    root.p_BoBcm = to_spec(sum.p_cm);
    root.I_Bcm = to_spec(sum.I_cm);
    Status status = validate_inertia(root.I_Bcm, "bodies[" + std::to_string(b) + "].I_Bcm");
    if (!status.ok()) return status;
  }
  return {};
}

void Merger::add_lifts() {
  out_.lifts.resize(out_.scene.bodies.size());
  for (std::size_t b = 0; b < in_.bodies.size(); ++b) {
    if (out_.body_map[b] == kWorldBody || in_.bodies[b].gravity_compensation == 0) continue;
    Lift& lift = out_.lifts[out_.body_map[b]];
    const MassProperties part = mass_of(b);
    const double held = in_.bodies[b].gravity_compensation * part.mass;
    lift.mass += held;
    lift.moment = to_spec(to_vec3(lift.moment) + held * part.p_cm);
  }
}

// A part that stands for something else is not read where it is; what it has from a lender is read there.
void Merger::add_unread() {
  std::map<int, UnreadMass> unread;
  const auto add = [&](int body, const MassProperties& part, double sign, bool is_armature) {
    if (body == kWorldBody) return;
    UnreadMass& of = unread.try_emplace(body, UnreadMass{body}).first->second;
    add_part(part, sign, of);
    if (is_armature) of.armature += part.mass;
  };
  for (std::size_t b = 0; b < in_.bodies.size(); ++b) {
    const BodySpec& body = in_.bodies[b];
    if (!body.is_armature && body.lender < 0) continue;
    add(out_.body_map[b], mass_of(b), 1, body.is_armature);
    if (body.lender < 0) continue;
    const auto lender = static_cast<std::size_t>(body.lender);
    const Pose X_LB = inverse(to_pose(in_.bodies[lender].X_WB)) * to_pose(body.X_WB);
    const MassProperties own{body.mass, to_vec3(body.p_BoBcm), to_matrix(body.I_Bcm)};
    add(out_.body_map[lender], re_express(parts_[lender].X_RB * X_LB, own), -1, false);
  }
  for (const auto& [body, of] : unread) out_.unread.push_back(of);
}

void Merger::add_fluid_parts() {
  if (in_.medium.density == 0 && in_.medium.viscosity == 0) return;
  for (std::size_t b = 0; b < in_.bodies.size(); ++b) {
    if (out_.body_map[b] == kWorldBody || in_.bodies[b].mass == 0) continue;
    if (in_.bodies[b].ignores_medium) continue;
    if (in_.bodies[b].fluid_ellipsoids.empty()) out_.fluid_parts.push_back({out_.body_map[b], mass_of(b)});
    for (FluidEllipsoidSpec ellipsoid : in_.bodies[b].fluid_ellipsoids) {
      ellipsoid.X_BE = to_spec(parts_[b].X_RB * to_pose(ellipsoid.X_BE));
      out_.fluid_parts.push_back({out_.body_map[b], {}, true, ellipsoid});
    }
  }
  std::stable_sort(out_.fluid_parts.begin(), out_.fluid_parts.end(),
                   [](const FluidPart& a, const FluidPart& b) { return a.body < b.body; });
}

// Anchors and axes of a joint of the tree are in the frame of its child, which is a root and keeps its frame.
void Merger::joints() {
  joint_map_.assign(in_.joints.size(), -1);
  for (std::size_t j = 0; j < in_.joints.size(); ++j) {
    if (is_weld(in_.joints[j], closes_loop_[j])) continue;
    joint_map_[j] = static_cast<int>(out_.scene.joints.size());
    JointSpec joint = closes_loop_[j] ? moved_loop_joint(in_.joints[j]) : in_.joints[j];
    if (joint.parent != kWorldBody) joint.parent = out_.body_map[joint.parent];
    joint.child = out_.body_map[joint.child];
    out_.scene.joints.push_back(std::move(joint));
    out_.closes_loop.push_back(closes_loop_[j]);
    const JointSpec& in = in_.joints[j];
    const int standing = in.parent != kWorldBody && parts_[in.parent].root == kWorldBody ? in.parent : in.child;
    out_.mocap_of_joint.push_back(parts_[standing].mocap);
  }
}

// What stands on a mocap body stands in the world as far as the engine goes.
void Merger::find_mocaps() {
  for (std::size_t b = 0; b < in_.bodies.size(); ++b) {
    if (!in_.bodies[b].is_mocap) continue;
    out_.mocaps.push_back(static_cast<int>(b));
    out_.mocap_poses.push_back(in_.bodies[b].X_WB);
  }
  out_.mocap_of_body.assign(in_.bodies.size(), -1);
  if (out_.mocaps.empty()) return;
  std::vector<int> parent(in_.bodies.size(), kWorldBody);
  for (std::size_t j = 0; j < in_.joints.size(); ++j) {
    if (is_weld(in_.joints[j], closes_loop_[j])) parent[in_.joints[j].child] = in_.joints[j].parent;
  }
  for (std::size_t b = 0; b < in_.bodies.size(); ++b) {
    if (parts_[b].root != kWorldBody) continue;
    int base = static_cast<int>(b);
    while (!in_.bodies[base].is_mocap && parent[base] != kWorldBody) base = parent[base];
    const auto found = std::find(out_.mocaps.begin(), out_.mocaps.end(), base);
    if (found != out_.mocaps.end()) parts_[b].mocap = static_cast<int>(found - out_.mocaps.begin());
    out_.mocap_of_body[b] = parts_[b].mocap;
  }
}

// The joint in the frame of what its child is part of. A child that is part of the world changes places with the
// parent; validate_scene has seen to it that the axes are then of one kind, and that the parent can move.
JointSpec Merger::moved_loop_joint(const JointSpec& in) const {
  JointSpec joint = in;
  const bool turn_round = parts_[in.child].root == kWorldBody;
  if (in.holds_pose) {
    const Pose X_RP = in.parent == kWorldBody ? Pose{} : parts_[in.parent].X_RB;
    const Pose X_PC = X_RP * to_pose(in.X_PC) * inverse(parts_[in.child].X_RB);
    joint.X_PC = to_spec(turn_round ? inverse(X_PC) : X_PC);
  }
  if (!turn_round && parts_[in.child].root == in.child) return joint;
  if (turn_round) {
    std::swap(joint.parent, joint.child);
    std::reverse(joint.axes.begin(), joint.axes.end());
  }
  const Part& part = parts_[joint.child];
  const Pose X_WR = to_pose(in_.bodies[part.root].X_WB);
  const Pose X_RC = inverse(X_WR) * to_pose(in_.bodies[in.child].X_WB);
  joint.anchor = to_spec(X_RC * to_vec3(in.anchor));
  for (AxisSpec& axis : joint.axes) {
    axis.anchor = to_spec(X_RC * to_vec3(axis.anchor));
    axis.axis = to_spec((turn_round ? -1.0 : 1.0) * math::rotate(X_RC.rotation, to_vec3(axis.axis)));
  }
  return joint;
}

FrameSpec Merger::moved_frame(const FrameSpec& in) const {
  if (in.body == kWorldBody) return in;
  FrameSpec frame = in;
  if (parts_[in.body].root != in.body) frame.X_BF = to_spec(parts_[in.body].X_RB * to_pose(in.X_BF));
  frame.body = out_.body_map[in.body];
  return frame;
}

// Whether a coordinate is the length of a path each branch of which lies on one body.
bool is_constant(const std::vector<TendonSpec>& tendons, const CoordinateSpec& coordinate) {
  if (coordinate.tendon < 0) return false;
  const std::vector<TendonPointSpec>& path = tendons[static_cast<std::size_t>(coordinate.tendon)].path;
  const auto is_wrench = [](const TendonPointSpec& point) { return point.kind == TendonPointKind::kWrench; };
  if (std::any_of(path.begin(), path.end(), is_wrench)) return false;
  for (std::size_t k = 1; k < path.size(); ++k) {
    const bool in_one_branch = path[k].kind != TendonPointKind::kPulley && path[k - 1].kind != TendonPointKind::kPulley;
    if (in_one_branch && path[k].frame.body != path[k - 1].frame.body) return false;
  }
  return !path.empty();
}

void Merger::contents() {
  for (ShapeSpec shape : in_.shapes) {
    if (shape.body != kWorldBody && parts_[shape.body].root != shape.body) {
      shape.X_BS = to_spec(parts_[shape.body].X_RB * to_pose(shape.X_BS));
    }
    out_.shape_part.push_back(shape.body);
    if (shape.body != kWorldBody) shape.body = out_.body_map[shape.body];
    out_.scene.shapes.push_back(std::move(shape));
  }
  out_.scene.meshes = in_.meshes, out_.scene.height_fields = in_.height_fields;
  for (ActuatorSpec actuator : in_.actuators) {
    for (FrameSpec* frame : {&actuator.site, &actuator.site_reference}) *frame = moved_frame(*frame);
    if (actuator.adheres) actuator.adhesive_body = std::max(0, out_.body_map[actuator.adhesive_body]);
    if (actuator.tendon < 0 && !actuator.on_site) actuator.joint = joint_map_[actuator.joint];
    out_.scene.actuators.push_back(std::move(actuator));
  }
  for (TendonSpec tendon : in_.tendons) {
    for (TendonTermSpec& term : tendon.terms) term.joint = joint_map_[term.joint];
    for (TendonPointSpec& point : tendon.path) {
      for (FrameSpec* frame : {&point.frame, &point.side}) *frame = moved_frame(*frame);
    }
    out_.scene.tendons.push_back(std::move(tendon));
  }
  out_.senses_tendon.assign(in_.tendons.size(), false);
  for (const SensorSpec& sensor : in_.sensors) {
    if (sensor_traits(sensor.kind).of == SensorOf::kTendon) out_.senses_tendon[sensor.tendon] = true;
  }
  for (EqualitySpec equality : in_.equalities) {
    for (CoordinateSpec* coordinate : {&equality.first, &equality.second}) {
      if (coordinate == &equality.second && !equality.has_second) continue;
      if (coordinate->tendon < 0) coordinate->joint = joint_map_[coordinate->joint];
    }
    const std::vector<TendonSpec>& tendons = out_.scene.tendons;
    if (is_constant(tendons, equality.first) && (!equality.has_second || is_constant(tendons, equality.second))) {
      continue;  // nothing that it could move
    }
    out_.scene.equalities.push_back(std::move(equality));
  }
  out_.part_excludes = in_.excludes;
  std::vector<int> size(in_.bodies.size() + 1, 0);  // [1 + root, or 0 for the world] bodies that are one with it
  for (const Part& part : parts_) ++size[part.root + 1];
  const auto is_whole = [&](int body) {
    if (body == kWorldBody) return size[0] == 0;
    return parts_[body].root != kWorldBody && size[parts_[body].root + 1] == 1;
  };
  out_.scene.contact_pairs = in_.contact_pairs;  // shapes keep their order
  for (const ContactExcludeSpec& exclude : in_.excludes) {
    if (!is_whole(exclude.body_a) || !is_whole(exclude.body_b)) continue;
    const auto merged = [&](int body) { return body == kWorldBody ? body : out_.body_map[body]; };
    out_.scene.excludes.push_back({merged(exclude.body_a), merged(exclude.body_b)});
  }
}

// The velocity of a free body is that of its centre of mass, which what is welded to it has moved:
//   v' = v + ω × R (p' − p)
//
// That of a ball turns with the axes of its parent, which are now those of the parent's root.
void Merger::keyframes() {
  for (KeyframeSpec key : in_.keyframes) {
    std::size_t q = 0, v = 0;
    for (std::size_t j = 0; j < in_.joints.size() && !key.joint_velocity.empty(); ++j) {
      const JointSpec& joint = in_.joints[j];
      if (joint.kind == JointKind::kFree) {
        const double* qj = key.joint_position.data() + q;
        double* vj = key.joint_velocity.data() + v;
        const BodySpec& after = out_.scene.bodies[out_.body_map[joint.child]];
        const math::Vec3<double> moved = to_vec3(after.p_BoBcm) - to_vec3(in_.bodies[joint.child].p_BoBcm);
        const math::Vec3<double> moved_W = math::rotate(to_quat({qj[3], qj[4], qj[5], qj[6]}), moved);
        const math::Vec3<double> dv = math::cross(math::Vec3<double>{vj[3], vj[4], vj[5]}, moved_W);
        for (int i = 0; i < 3; ++i) vj[i] += dv[i];
      }
      if (joint.kind == JointKind::kBall && !closes_loop_[j] && joint.parent != kWorldBody) {
        double* vj = key.joint_velocity.data() + v;
        const math::Vec3<double> turned = math::rotate(parts_[joint.parent].X_RB.rotation, {vj[0], vj[1], vj[2]});
        for (int i = 0; i < 3; ++i) vj[i] = turned[i];
      }
      q += static_cast<std::size_t>(position_count(joint, closes_loop_[j]));
      v += static_cast<std::size_t>(velocity_count(joint, closes_loop_[j]));
    }
    out_.scene.keyframes.push_back(std::move(key));
  }
}

Result<WeldedScene> Merger::run() {
  out_.scene.name = in_.name;
  out_.scene.gravity = in_.gravity;
  out_.scene.medium = in_.medium;
  out_.scene.timestep = in_.timestep;
  out_.scene.filter_parent_child = in_.filter_parent_child;
  find_parts();
  find_mocaps();
  if (Status status = bodies(); !status.ok()) return status.error();
  add_lifts();
  add_unread();
  add_fluid_parts();
  joints();
  contents();
  keyframes();
  return std::move(out_);
}

}  // namespace

Result<WeldedScene> merge_welds(const SceneSpec& scene) {
  if (Status status = validate_scene(scene); !status.ok()) return status.error();
  return Merger(scene).run();
}

}  // namespace axion::model
