// The tree of bodies: poses, masses, shapes and joints.
#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/import/mjcf.hpp"
#include "engine/import/mjcf_geom.hpp"
#include "engine/import/mjcf_joint.hpp"
#include "engine/import/mjcf_pose.hpp"
#include "engine/import/mjcf_scene.hpp"
#include "engine/model/principal_axes.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_inertia.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

using math::Mat3;
using math::Vec3;
using model::MassProperties;
using model::Pose;

// What an <inertial> says, in the body's frame.
MassProperties read_inertial(const XmlElement& element, const MjcfSettings& settings) {
  const Attributes a(element);
  for (const char* required : {"pos", "mass"}) {
    if (!a.has(required)) refuse(element, required, "is required");
  }
  const Pose X_BI = read_pose(a, settings);
  double d[3] = {0, 0, 0}, f[6] = {};
  a.numbers("diaginertia", d, 3);
  MassProperties own{a.not_negative("mass", 0), {}, Mat3<double>::diagonal(d[0], d[1], d[2])};
  if (a.numbers("fullinertia", f, 6)) {
    if (a.has("diaginertia")) a.refuse("fullinertia", "is given together with diaginertia");
    for (const char* form : {"quat", "axisangle", "euler", "xyaxes", "zaxis"}) {
      if (a.has(form)) a.refuse(form, "is given together with fullinertia, which is in the body's axes");
    }
    own.I_cm = model::to_matrix({f[0], f[1], f[2], f[3], f[4], f[5]});
  }
  return re_express(X_BI, own);
}

// boundmass, boundinertia, balanceinertia, and the check that a body can have these moments.
void correct_mass(const XmlElement& source, const MjcfSettings& settings, MassProperties& mass) {
  mass.mass = std::max(mass.mass, settings.bound_mass);
  const double total = mass.mass + mass.I_cm(0, 0) + mass.I_cm(1, 1) + mass.I_cm(2, 2);
  if (!(total < model::kMaxMagnitude)) {
    refuse(source, "", "has a mass or inertia above " + std::to_string(static_cast<long>(model::kMaxMagnitude)));
  }
  Mat3<double> V;
  Vec3<double> d;
  model::symmetric_eigen(mass.I_cm, V, d);
  const double least = std::min({d.x, d.y, d.z}), trace = d.x + d.y + d.z;
  const double tolerance = model::kInertiaTriangleTolerance * trace;
  const char* attribute = source.find("fullinertia") != nullptr ? "fullinertia" : "diaginertia";
  if (!(least >= -tolerance)) refuse(source, attribute, "has a negative principal moment of inertia");
  if (least < settings.bound_inertia) {
    for (int i = 0; i < 3; ++i) d[i] = std::max(d[i], settings.bound_inertia);
    mass.I_cm = math::rotate_diagonal(V, d);
  }
  const double sum = d.x + d.y + d.z, greatest = std::max({d.x, d.y, d.z});
  if (sum - greatest >= greatest - tolerance) return;
  if (!settings.balance_inertia) {
    refuse(source, attribute, "has principal moments with A + B < C, which no body has; balanceinertia evens them out");
  }
  mass.I_cm = Mat3<double>::diagonal(sum / 3, sum / 3, sum / 3);
}

class BodyReader {
 public:
  explicit BodyReader(MjcfScene& scene) : s_(scene) {}

  void read_world() {
    for (const XmlElement& section : s_.root.children) {
      if (section.tag == "worldbody") read_geoms(section, model::kWorldBody, world_class(section), false);
    }
    for (const XmlElement& section : s_.root.children) {
      if (section.tag != "worldbody") continue;
      for (const XmlElement& child : section.children) {
        if (child.tag == "body") read_body(child, model::kWorldBody, world_class(section), {});
      }
    }
    if (s_.settings.total_mass > 0) scale_masses();
  }

 private:
  int world_class(const XmlElement& section) const {
    return s_.defaults.find(section, "childclass", DefaultClasses::kMain);
  }
  // Recursion is bounded by kMaxXmlDepth.
  void read_body(const XmlElement& element, int parent, int outer_class, const Pose& X_WP);
  std::vector<MassProperties> read_geoms(const XmlElement& element, int body, int childclass, bool adds_mass);
  void read_mass(const XmlElement& element, int body, int childclass);
  void read_joint(const XmlElement& element, int parent, int body, int childclass);
  void scale_masses();

  MjcfScene& s_;
};

void BodyReader::read_body(const XmlElement& element, int parent, int outer_class, const Pose& X_WP) {
  const int index = static_cast<int>(s_.spec.bodies.size());
  if (index >= kMaxBodies) {
    refuse(element, "", "is one body too many: a scene may have " + std::to_string(kMaxBodies));
  }
  const Attributes a(element);
  const int childclass = s_.defaults.find(element, "childclass", outer_class);
  const Pose X_WB = X_WP * read_pose(a, s_.settings);
  model::BodySpec body;
  body.X_WB = to_spec(X_WB);
  body.name = a.text("name", "");
  if (!body.name.empty() && !s_.body_index.emplace(body.name, index).second) {
    refuse(element, "name", "names a body a second time");
  }
  if (a.boolean("mocap", false)) s_.notes.unsupported(element, "mocap", "a body follows its joints or stands still");
  if (a.number("gravcomp", 0) != 0) s_.notes.unsupported(element, "gravcomp", "gravity acts on every body alike");
  s_.spec.bodies.push_back(body);
  s_.body_elements.push_back(&element);
  read_mass(element, index, childclass);
  read_joint(element, parent, index, childclass);
  for (const XmlElement& child : element.children) {
    if (child.tag == "body") read_body(child, index, childclass, X_WB);
  }
}

std::vector<MassProperties> BodyReader::read_geoms(const XmlElement& element, int body, int childclass,
                                                   bool adds_mass) {
  std::vector<MassProperties> masses;
  for (const XmlElement& child : element.children) {
    if (child.tag != "geom") continue;
    const Attributes a = s_.defaults.attributes(child, childclass, {"geom"});
    const Geom geom = read_geom(a, s_.settings, adds_mass, s_.notes);
    if (adds_mass && geom.mass.mass > 0) masses.push_back(geom.mass);
    const XmlAttribute* name = child.find("name");
    if (name != nullptr && !name->value.empty() && !s_.geom_names.insert(name->value).second) {
      refuse(child, "name", "names a geom a second time");
    }
    if (!geom.is_shape) continue;
    if (static_cast<int>(s_.spec.shapes.size()) >= kMaxShapes) {
      refuse(child, "", "is one shape too many: a scene may have " + std::to_string(kMaxShapes));
    }
    model::ShapeSpec shape;
    shape.name = name == nullptr ? "" : name->value;
    shape.kind = geom.type == GeomType::kPlane     ? model::ShapeKind::kPlane
                 : geom.type == GeomType::kSphere  ? model::ShapeKind::kSphere
                 : geom.type == GeomType::kCapsule ? model::ShapeKind::kCapsule
                                                   : model::ShapeKind::kBox;
    shape.body = body;
    shape.X_BS = to_spec(geom.X_BG);
    shape.size = geom.size;
    shape.friction = geom.friction;
    shape.contact_dimension = geom.contact_dimension;
    shape.contact_priority = geom.priority;
    shape.contact_type = s_.settings.contacts ? static_cast<std::uint32_t>(geom.contact_type) : 0;
    shape.contact_affinity = s_.settings.contacts ? static_cast<std::uint32_t>(geom.contact_affinity) : 0;
    s_.spec.shapes.push_back(shape);
    s_.shape_elements.push_back(&child);
  }
  return masses;
}

void BodyReader::read_mass(const XmlElement& element, int index, int childclass) {
  const XmlElement* inertial = nullptr;
  for (const XmlElement& child : element.children) {
    if (child.tag != "inertial") continue;
    if (inertial != nullptr) refuse(child, "", "is a second inertial of the same body");
    inertial = &child;
  }
  const InertiaFrom from = s_.settings.inertia_from;
  const bool from_geoms = from == InertiaFrom::kGeoms || (from == InertiaFrom::kWhatIsGiven && inertial == nullptr);
  const std::vector<MassProperties> parts = read_geoms(element, index, childclass, from_geoms);
  MassProperties mass;
  if (inertial != nullptr) mass = read_inertial(*inertial, s_.settings);
  if (!parts.empty()) mass = model::combine(parts);
  correct_mass(inertial != nullptr && parts.empty() ? *inertial : element, s_.settings, mass);
  model::BodySpec& body = s_.spec.bodies[static_cast<std::size_t>(index)];
  body.mass = mass.mass;
  body.p_BoBcm = model::to_spec(mass.p_cm);
  body.I_Bcm = model::to_spec(mass.I_cm);
}

void BodyReader::read_joint(const XmlElement& element, int parent, int index, int childclass) {
  std::vector<Attributes> joints;
  std::vector<std::string> names;
  for (const XmlElement& child : element.children) {
    if (child.tag == "joint") joints.push_back(s_.defaults.attributes(child, childclass, {"joint"}));
    if (child.tag == "freejoint") joints.push_back(Attributes(child));
    if (child.tag != "joint" && child.tag != "freejoint") continue;
    const XmlAttribute* name = child.find("name");
    names.push_back(name == nullptr ? "" : name->value);
  }
  model::JointSpec joint = read_joints(joints, s_.settings, s_.notes);
  if (joint.kind == model::JointKind::kFree && parent != model::kWorldBody) {
    refuse(joints.front().element(), "", "is a free joint of a body that is not a child of the world");
  }
  joint.parent = parent;
  joint.child = index;
  const int joint_index = static_cast<int>(s_.spec.joints.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    if (!s_.joint_place.emplace(names[i], JointPlace{joint_index, static_cast<int>(i)}).second) {
      refuse(joints[i].element(), "name", "names a joint a second time");
    }
  }
  if (joint.kind == model::JointKind::kFree || joint.kind == model::JointKind::kBall) joint.name = names.front();
  s_.spec.joints.push_back(std::move(joint));
}

// settotalmass: all bodies, also those that cannot move.
void BodyReader::scale_masses() {
  double total = 0;
  for (const model::BodySpec& body : s_.spec.bodies) total += body.mass;
  if (!(total > 0)) return;
  const double scale = s_.settings.total_mass / total;
  for (model::BodySpec& body : s_.spec.bodies) {
    body.mass *= scale;
    for (double& I : body.I_Bcm) I *= scale;
  }
}

}  // namespace

void read_bodies(MjcfScene& scene) {
  scene.body_index.emplace("world", model::kWorldBody);
  BodyReader(scene).read_world();
}

}  // namespace axion::import
