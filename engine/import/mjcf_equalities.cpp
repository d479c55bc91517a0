// The <equality> section: points that two bodies share, and bodies that are held together, as joints that close loops;
// those of joints and tendons are in mjcf_tendons.cpp.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "engine/import/mjcf_scene.hpp"
#include "engine/import/mjcf_softness.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

using math::Vec3;
using model::JointKind;
using model::JointSpec;
using model::Pose;

constexpr double kSamePose = 1e-6;  // m and rad, as files round

class EqualityReader {
 public:
  EqualityReader(MjcfScene& scene, const XmlElement& element)
      : s_(scene),
        e_(element),
        a_(scene.defaults.attributes(element, DefaultClasses::kMain, {"equality"})),
        is_weld_(element.tag == "weld") {}

  // The joint, or false where there is none to make and that has been noted.
  bool read(JointSpec& joint);

 private:
  // A body of the equality, and the frame in it that is held to that of the other, as sites name them or body and
  // anchor do.
  struct End {
    int body = model::kWorldBody;
    Pose X_BF;
  };

  bool is_given(const char* attribute) const { return e_.find(attribute) != nullptr; }
  void read_ends(End& one, End& two);
  int body(const char* attribute, bool required);
  Pose pose_of(int body) const;
  void hold(const End& parent, const End& child, JointSpec& joint);
  void warn_of_filtered_contacts(int body1, int body2);

  MjcfScene& s_;
  const XmlElement& e_;
  Attributes a_;
  bool is_weld_;
};

int EqualityReader::body(const char* attribute, bool required) {
  const XmlAttribute* name = e_.find(attribute);
  if (name == nullptr) {
    if (required) refuse(e_, attribute, "is required");
    return model::kWorldBody;
  }
  const auto found = s_.body_index.find(name->value);
  if (found == s_.body_index.end()) refuse(e_, attribute, "names a body that does not exist");
  return found->second;
}

Pose EqualityReader::pose_of(int body) const {
  return body == model::kWorldBody ? Pose{} : model::to_pose(s_.spec.bodies[static_cast<std::size_t>(body)].X_WB);
}

// The ends of a connect are points, those of a weld frames that coincide where it is held. relpose is the pose of body2
// in body1; without a rotation it means that of the reference configuration.
void EqualityReader::read_ends(End& one, End& two) {
  if (is_given("site1") || is_given("site2")) {
    for (const char* site : {"site1", "site2"}) {
      if (!is_given(site)) refuse(e_, site, "is required beside the other site");
    }
    for (const char* other : {"body1", "body2", "anchor", "relpose"}) {
      if (is_given(other)) refuse(e_, other, "is given together with sites");
    }
    one.X_BF = site_pose(s_, e_, "site1", one.body);
    two.X_BF = site_pose(s_, e_, "site2", two.body);
    return;
  }
  one.body = body("body1", true), two.body = body("body2", false);
  if (!is_weld_ && !a_.has("anchor")) refuse(e_, "anchor", "is required");
  const Vec3<double> anchor = a_.vec3("anchor", {});
  double given[7] = {};
  a_.numbers("relpose", given, 7);
  const double* q = given + 3;
  const Pose X_W1 = pose_of(one.body), X_W2 = pose_of(two.body);
  Pose X_12 = inverse(X_W1) * X_W2;
  if (is_weld_ && (q[0] != 0 || q[1] != 0 || q[2] != 0 || q[3] != 0)) {
    X_12 = {math::normalized(model::to_quat({q[0], q[1], q[2], q[3]})), {given[0], given[1], given[2]}};
  }
  // The anchor of a connect is in body1, that of a weld in body2.
  if (is_weld_) {
    two.X_BF.position = anchor;
    one.X_BF = X_12 * two.X_BF;
  } else {
    one.X_BF.position = anchor;
    two.X_BF = inverse(X_12) * one.X_BF;
  }
}

// The joint's anchor, and the pose that it holds where that is not the one of the reference configuration.
void EqualityReader::hold(const End& parent, const End& child, JointSpec& joint) {
  joint.parent = parent.body, joint.child = child.body;
  joint.anchor = model::to_spec(child.X_BF.position);
  const Pose reference = inverse(pose_of(parent.body)) * pose_of(child.body);
  Pose X_PC = parent.X_BF * inverse(child.X_BF);
  if (joint.kind == JointKind::kBall) {
    X_PC = {reference.rotation, parent.X_BF.position - math::rotate(reference.rotation, child.X_BF.position)};
  }
  const math::Quat<double> turn = math::conjugate(reference.rotation) * X_PC.rotation;
  const double angle = 2 * std::sqrt(turn.x * turn.x + turn.y * turn.y + turn.z * turn.z);
  if (math::norm(X_PC.position - reference.position) < kSamePose && angle < kSamePose) return;
  joint.holds_pose = true;
  joint.X_PC = model::to_spec(X_PC);
}

void EqualityReader::warn_of_filtered_contacts(int body1, int body2) {
  if (!s_.spec.filter_parent_child || body1 == model::kWorldBody || body2 == model::kWorldBody) return;
  const std::vector<int> root = weld_roots(s_.spec);  // the world is no body's neighbour, with all that is welded to it
  for (const int body : {body1, body2}) {
    if (root[static_cast<std::size_t>(body)] == model::kWorldBody) return;
  }
  std::uint32_t type[2] = {0, 0}, affinity[2] = {0, 0};  // of all shapes of either body
  for (const model::ShapeSpec& shape : s_.spec.shapes) {
    if (shape.body != body1 && shape.body != body2) continue;
    type[shape.body == body2] |= shape.contact_type;
    affinity[shape.body == body2] |= shape.contact_affinity;
  }
  if ((type[0] & affinity[1]) == 0 && (type[1] & affinity[0]) == 0) return;
  s_.notes.warn(e_, "", "makes neighbours of its bodies, which then do not collide with each other");
}

bool EqualityReader::read(JointSpec& joint) {
  End one, two;
  read_ends(one, two);
  const int body1 = one.body, body2 = two.body;
  if (body1 == body2) refuse(e_, is_given("site2") ? "site2" : "body2", "must be of another body than the first");
  // A weld without torque is a connect.
  joint.kind = is_weld_ && a_.not_negative("torquescale", 1) > 0 ? JointKind::kFixed : JointKind::kBall;
  // Either body may be the child of the joint; the world is no joint's child.
  const End &anchored = is_weld_ ? two : one, &other = is_weld_ ? one : two;
  const bool swap = anchored.body == model::kWorldBody;
  hold(swap ? anchored : other, swap ? other : anchored, joint);
  joint.name = e_.find("name") == nullptr ? "" : e_.find("name")->value;
  const std::vector<int> root = weld_roots(s_.spec);
  const int parent_root =
      joint.parent == model::kWorldBody ? joint.parent : root[static_cast<std::size_t>(joint.parent)];
  if (parent_root == root[static_cast<std::size_t>(joint.child)]) {
    s_.notes.warn(e_, "", "joins what is one body already, which has no effect");
    return false;
  }
  joint.is_soft = true, joint.softness = read_softness(a_, "solref", "solimp", s_.notes);
  if (joint.kind == JointKind::kFixed) joint.turn_weight = a_.number("torquescale", 1);
  warn_of_filtered_contacts(body1, body2);
  return true;
}

// A name that no joint has yet.
std::string unused_name(const model::SceneSpec& spec, std::string name) {
  const auto taken = [&] {
    return std::any_of(spec.joints.begin(), spec.joints.end(), [&](const auto& joint) { return joint.name == name; });
  };
  while (taken()) name += "_";
  return name;
}

}  // namespace

void read_equalities(MjcfScene& scene) {
  std::set<std::string, std::less<>> names;
  for (const XmlElement& section : scene.root.children) {
    if (section.tag != "equality") continue;
    for (const XmlElement& element : section.children) {
      const XmlAttribute* name = element.find("name");
      if (name != nullptr && !name->value.empty() && !names.insert(name->value).second) {
        refuse(element, "name", "names an equality a second time");
      }
      const Attributes a = scene.defaults.attributes(element, DefaultClasses::kMain, {"equality"});
      if (!a.boolean("active", true)) {
        scene.notes.warn(element, "", "is inactive and was left out");
        continue;
      }
      if (!scene.settings.equalities) continue;
      if (element.tag == "joint" || element.tag == "tendon") {
        read_coordinate_equality(scene, element, a);
        continue;
      }
      if (element.tag != "connect" && element.tag != "weld") {
        scene.notes.unsupported(element, "", "bodies are rigid");
        continue;
      }
      JointSpec joint;
      if (!EqualityReader(scene, element).read(joint)) continue;
      if (scene.spec.joints.size() >= static_cast<std::size_t>(model::kMaxSceneJoints)) {
        refuse(element, "", "is one joint too many: a scene may have " + std::to_string(model::kMaxSceneJoints));
      }
      const std::string proposal = element.tag + std::to_string(scene.loop_elements.size());
      joint.name = unused_name(scene.spec, joint.name.empty() ? proposal : joint.name);
      scene.spec.joints.push_back(std::move(joint));
      scene.loop_elements.push_back(&element);
    }
  }
}

}  // namespace axion::import
