#include "engine/model/compile_sensors.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/model/loop_joints.hpp"
#include "engine/model/sensor_layout.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class SensorCompiler {
 public:
  SensorCompiler(const SceneSpec& scene, CompiledModel& model)
      : scene_(scene), model_(model), out_(model.arrays.sensors), closes_loop_(find_loop_joints(scene)) {}

  void run() {
    if (scene_.sensors.empty()) return;
    walk_joints();
    for (std::size_t b = 0; b < scene_.bodies.size(); ++b) add_part(static_cast<int>(b));
    for (const SensorSpec& sensor : scene_.sensors) add(sensor);
  }

 private:
  int internal(int body) const {
    const int merged = body == kWorldBody ? kWorldBody : model_.welded.body_map[at(body)];
    return merged == kWorldBody ? -1 : model_.internal_body[at(merged)];
  }

  // The frame of a body in the principal frame of what it is part of, or in the world.
  Pose in_principal(int body) const {
    if (body == kWorldBody) return {};
    const Pose X_WB = to_pose(scene_.bodies[at(body)].X_WB);
    const int merged = model_.welded.body_map[at(body)], b = internal(body);
    if (b < 0) return X_WB;
    Pose X_RB;  // of the root itself the identity, without rounding
    if (is_welded_[at(body)]) X_RB = inverse(to_pose(model_.welded.scene.bodies[at(merged)].X_WB)) * X_WB;
    return inverse(Pose{model_.q_BC[at(b)], model_.p_BC[at(b)]}) * X_RB;
  }

  // Parents by the joints of the tree, welds among them; where joints that are no welds went; parts of loop joints.
  void walk_joints() {
    parent_.assign(scene_.bodies.size(), kWorldBody), is_welded_.assign(scene_.bodies.size(), false);
    joint_.assign(scene_.joints.size(), -1);
    int kept = 0;
    for (std::size_t j = 0; j < scene_.joints.size(); ++j) {
      const JointSpec& joint = scene_.joints[j];
      const bool weld = is_weld(joint, closes_loop_[j]);
      if (!closes_loop_[j]) parent_[at(joint.child)] = joint.parent;
      if (weld) is_welded_[at(joint.child)] = true;
      if (weld) continue;
      joint_[j] = model_.joint_of_scene[at(kept++)];
      if (!closes_loop_[j]) continue;
      LoopParts parts{joint.parent + 1, joint.child + 1};
      if (internal(joint.child) < 0) std::swap(parts.parent, parts.child);  // merge_welds turns it round
      out_.loops.push_back(parts);
    }
    list_children();
  }

  // children_ of each body, and of the world last.
  void list_children() {
    children_.resize(scene_.bodies.size() + 1);
    for (std::size_t b = 0; b < scene_.bodies.size(); ++b) {
      children_[parent_[b] == kWorldBody ? scene_.bodies.size() : at(parent_[b])].push_back(static_cast<int>(b));
    }
  }

  void add_part(int body) {
    const BodySpec& spec = scene_.bodies[at(body)];
    const MassProperties part =
        re_express(in_principal(body), {spec.mass, to_vec3(spec.p_BoBcm), to_matrix(spec.I_Bcm)});
    out_.parts.push_back({internal(body),
                          !is_welded_[at(body)],
                          part.mass,
                          part.p_cm,
                          {part.I_cm.row[0], part.I_cm.row[1], part.I_cm.row[2]}});
  }

  SensorFrame<double> compile(const FrameSpec& frame) const {
    const Pose X = in_principal(frame.body) * to_pose(frame.X_BF);
    return {internal(frame.body), frame.body + 1, X.position, X.rotation};
  }

  // All bodies that hang on `body`, itself among them: rising numbers as ShapeContactData::part has them.
  template <typename Parts>
  void list_subtree(int body, Parts& data) {
    const auto [known, is_new] = subtree_.try_emplace(body, static_cast<int>(out_.part_list.size()), 0);
    if (is_new)
      walk_subtree(body), known->second.second = static_cast<int>(out_.part_list.size()) - known->second.first;
    data.part_start = known->second.first, data.part_count = known->second.second;
  }

  void walk_subtree(int body) {
    const std::ptrdiff_t start = static_cast<std::ptrdiff_t>(out_.part_list.size());
    std::vector<int> open;
    if (body == kWorldBody) {
      open = children_.back();
    } else {
      open.push_back(body);
    }
    while (!open.empty()) {
      const int b = open.back();
      open.pop_back();
      if (!scene_.bodies[at(b)].is_armature) out_.part_list.push_back(b + 1);  // which no mass goes with
      open.insert(open.end(), children_[at(b)].begin(), children_[at(b)].end());
    }
    std::sort(out_.part_list.begin() + start, out_.part_list.end());
  }

  ContactSideData compile(const ContactSideSpec& side) {
    ContactSideData data{side.kind, side.index, 0, 0};
    if (side.kind == ContactSideKind::kBody || side.kind == ContactSideKind::kSubtree) data.index = side.index + 1;
    if (side.kind == ContactSideKind::kSubtree) list_subtree(side.index, data);
    return data;
  }

  void add(const SensorSpec& spec) {
    const SensorTraits traits = sensor_traits(spec.kind);
    SensorData<double> data{};
    data.kind = spec.kind;
    data.start = out_.size, data.size = sensor_size(spec);
    out_.size += data.size;
    data.sensed_start = -1;
    if (traits.is_sensed) {
      data.sensed_start = out_.sensed_size;
      out_.sensed_size += data.size;
    }
    data.frame = data.reference = compile(FrameSpec{});
    const bool is_contact = spec.kind == SensorKind::kContact;
    if (is_contact || traits.of == SensorOf::kPair) {
      data.contact = {compile(spec.contact.first), compile(spec.contact.second), spec.contact.reduction,
                      spec.contact.slots, spec.contact.data};
    }
    const bool has_zone = is_contact && spec.contact.first.kind == ContactSideKind::kZone;
    if (traits.of == SensorOf::kFrame || has_zone) data.frame = compile(spec.frame);
    data.has_reference = spec.has_reference;
    if (spec.has_reference) data.reference = compile(spec.reference);
    data.joint = data.axis = data.actuator = -1;
    if (traits.of == SensorOf::kAxis || traits.of == SensorOf::kBall) {
      data.joint = joint_[at(spec.joint)];
      data.axis = traits.of == SensorOf::kAxis ? spec.axis : 0;
    }
    if (traits.of == SensorOf::kTendon) data.axis = model_.axis_of_tendon[at(spec.tendon)];
    if (traits.of == SensorOf::kActuator) {
      const auto& actuators = model_.arrays.actuators;
      data.actuator =
          static_cast<int>(std::find_if(actuators.begin(), actuators.end(),
                                        [&](const auto& actuator) { return actuator.control == spec.actuator; }) -
                           actuators.begin());
    }
    if (traits.of == SensorOf::kBody || spec.kind == SensorKind::kForce || spec.kind == SensorKind::kTorque) {
      list_subtree(spec.frame.body, data);
    } else if (spec.kind == SensorKind::kPotentialEnergy) {
      list_subtree(kWorldBody, data);
    }
    data.zone = spec.zone;
    data.vector = to_vec3(spec.kind == SensorKind::kMagnetometer ? scene_.magnetic_field : spec.zone_size);
    data.focal[0] = spec.image.focal_x, data.focal[1] = spec.image.focal_y;
    data.centre[0] = spec.image.centre_x, data.centre[1] = spec.image.centre_y;
    data.scale = spec.scale, data.cutoff = spec.cutoff, data.cutoff_rule = traits.cutoff;
    out_.list.push_back(data);
  }

  const SceneSpec& scene_;
  CompiledModel& model_;
  SensorArrays<double>& out_;
  const std::vector<bool> closes_loop_;         // [joint]
  std::vector<int> parent_;                     // [body]
  std::vector<bool> is_welded_;                 // [body]
  std::vector<int> joint_;                      // [joint] -> index into arrays.joints
  std::vector<std::vector<int>> children_;      // [body, then the world]
  std::map<int, std::pair<int, int>> subtree_;  // body -> its range in part_list
};

}  // namespace

void add_sensors(const SceneSpec& scene, CompiledModel& model) { SensorCompiler(scene, model).run(); }

}  // namespace axion::model
