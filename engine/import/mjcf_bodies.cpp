// The tree of bodies: poses, masses, shapes and joints.

#include "engine/import/mass_limits.hpp"
#include "engine/import/mjcf.hpp"
#include "engine/import/mjcf_content.hpp"
#include "engine/import/mjcf_geom.hpp"
#include "engine/import/mjcf_joint.hpp"
#include "engine/import/mjcf_moved_mass.hpp"
#include "engine/import/mjcf_pose.hpp"
#include "engine/import/mjcf_scene.hpp"
#include "engine/import/mjcf_softness.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

using math::Mat3;
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

model::ShapeKind shape_kind(GeomType type) {
  using model::ShapeKind;
  switch (type) {
    case GeomType::kPlane:
      return ShapeKind::kPlane;
    case GeomType::kCapsule:
      return ShapeKind::kCapsule;
    case GeomType::kBox:
      return ShapeKind::kBox;
    case GeomType::kCylinder:
      return ShapeKind::kCylinder;
    case GeomType::kEllipsoid:
      return ShapeKind::kEllipsoid;
    case GeomType::kMesh:
      return ShapeKind::kMesh;
    case GeomType::kHfield:
      return ShapeKind::kHeightField;
    default:
      return ShapeKind::kSphere;
  }
}

class BodyReader {
 public:
  explicit BodyReader(MjcfScene& scene) : s_(scene), contents_(scene.defaults, scene.documents) {}

  void read_world() {
    for (const XmlElement& section : s_.root.children) {
      if (section.tag == "worldbody") read_geoms(section, model::kWorldBody, world_place(section), false);
    }
    for (const XmlElement& section : s_.root.children) {
      if (section.tag == "worldbody") read_children(section, model::kWorldBody, world_place(section), {});
    }
    keep_ends_of_chains_apart();
    if (s_.settings.total_mass > 0) scale_masses(s_.spec, s_.settings.total_mass);
    for (const FreeBody& body : free_bodies_) add_armature(body);
  }

 private:
  // A body on a <joint type="free">, for the armature of that.
  struct FreeBody {
    int body;
    Attributes joint;
  };

  Place world_place(const XmlElement& section) const {
    Place place;
    place.childclass = s_.defaults.find(section, "childclass", DefaultClasses::kMain);
    return place;
  }
  // Recursion is bounded by kMaxXmlDepth.
  void read_children(const XmlElement& element, int parent, const Place& place, const Pose& X_WP);
  void read_body(const XmlElement& element, int parent, const Place& outer, const Pose& X_WP);
  std::vector<MassProperties> read_geoms(const XmlElement& element, int body, const Place& place, bool adds_mass);
  void read_mass(const XmlElement& element, int body, const Place& place);
  void read_joint(const XmlElement& element, int parent, int body, const Place& place);
  int add_body(const XmlElement& element, model::BodySpec body);
  int add_part(const XmlElement& element, int body, int number);
  void add_joint(model::JointSpec joint, int parent, int child);
  void keep_ends_of_chains_apart();
  void add_armature(const FreeBody& of);
  void read_dry_friction(const MjcfJoint& joint, int joint_index);

  MjcfScene& s_;
  std::vector<FreeBody> free_bodies_;
  std::vector<model::ContactExcludeSpec> chains_;  // parents and bodies with parts between them
  ContentReader contents_;
};

void BodyReader::read_children(const XmlElement& element, int parent, const Place& place, const Pose& X_WP) {
  contents_.for_each(element, place, [&](const XmlElement& child, const Place& at) {
    if (child.tag == "body") read_body(child, parent, at, X_WP);
    const bool is_site = child.tag == "site";
    const std::string name = is_site || child.tag == "camera" ? copy_name(child, at) : "";
    if (!name.empty()) (is_site ? s_.sites : s_.cameras).emplace(name, SitePlace{&child, parent, at});
  });
}

int BodyReader::add_body(const XmlElement& element, model::BodySpec body) {
  const int index = static_cast<int>(s_.spec.bodies.size());
  if (index >= kMaxBodies) {
    refuse(element, "", "is one body too many: a scene may have " + std::to_string(kMaxBodies));
  }
  if (!body.name.empty() && !s_.body_index.emplace(body.name, index).second) {
    refuse(element, "name", "names a body a second time");
  }
  s_.spec.bodies.push_back(std::move(body));
  s_.body_elements.push_back(&element);
  return index;
}

void BodyReader::read_body(const XmlElement& element, int parent, const Place& outer, const Pose& X_WP) {
  const Attributes a(element);
  Place place;
  place.childclass = s_.defaults.find(element, "childclass", outer.childclass);
  place.suffix = outer.suffix;
  const Pose X_PB = read_pose(a, s_.documents.of(element));
  const Pose X_WB = X_WP * (outer.in_frame ? outer.X_BF * X_PB : X_PB);
  model::BodySpec body;
  body.X_WB = to_spec(X_WB);
  body.name = copy_name(element, outer);
  const int index = add_body(element, std::move(body));
  s_.spec.bodies.back().gravity_compensation = a.number("gravcomp", 0);
  read_mass(element, index, place);
  const std::size_t joint = s_.spec.joints.size();
  read_joint(element, parent, index, place);
  if (a.boolean("mocap", false)) {
    if (parent != model::kWorldBody || s_.spec.joints[joint].kind != model::JointKind::kFixed) {
      a.refuse("mocap", "is for a child of the world without joints");
    }
    s_.spec.bodies[static_cast<std::size_t>(index)].is_mocap = true;
  }
  read_children(element, index, place, X_WB);
}

std::vector<MassProperties> BodyReader::read_geoms(const XmlElement& element, int body, const Place& outer,
                                                   bool adds_mass) {
  std::vector<MassProperties> masses;
  const bool is_measured = s_.measured_bodies.contains(
      body == model::kWorldBody ? "world" : s_.spec.bodies[static_cast<std::size_t>(body)].name);
  contents_.for_each(element, outer, [&](const XmlElement& child, const Place& place) {
    if (child.tag != "geom") return;
    const Attributes a = s_.defaults.attributes(child, place.childclass, {"geom"});
    const std::string name = copy_name(child, place);
    const Geom geom =
        read_geom(a, s_.documents.of(a.element()), place.in_frame ? &place.X_BF : nullptr, adds_mass,
                  is_measured || s_.paired_geoms.contains(name), {s_.meshes, s_.height_fields, s_.spec}, s_.notes);
    if (adds_mass && geom.mass.mass > 0) masses.push_back(geom.mass), s_.inertial_frames[body] = geom.X_BG;
    const GeomPlace known{body, geom.X_BG, geom.is_placed, geom.type, geom.size[0]};
    if (!name.empty() && !s_.geom_places.try_emplace(name, known).second) {
      refuse(child, "name", "names a geom a second time");
    }
    if (geom.is_fluid_ellipsoid && body != model::kWorldBody) {
      s_.spec.bodies[static_cast<std::size_t>(body)].fluid_ellipsoids.push_back(geom.fluid_ellipsoid);
    }
    read_visual(s_, a, geom, body);
    if (!geom.is_shape) return;
    if (static_cast<int>(s_.spec.shapes.size()) >= kMaxShapes) {
      refuse(child, "", "is one shape too many: a scene may have " + std::to_string(kMaxShapes));
    }
    model::ShapeSpec shape;
    shape.name = name;
    shape.kind = shape_kind(geom.type);
    shape.mesh = geom.mesh, shape.height_field = geom.height_field;
    shape.body = body;
    shape.X_BS = to_spec(geom.X_BG);
    shape.size = geom.size;
    shape.friction = geom.friction;
    shape.contact_dimension = geom.contact_dimension;
    shape.contact_priority = geom.priority;
    shape.softness = geom.softness, shape.softness_mix = geom.softness_mix;
    shape.cone_dimension = geom.cone_dimension;
    shape.torsional_friction = geom.torsional_friction, shape.rolling_friction = geom.rolling_friction;
    shape.surface_velocity = model::to_spec(geom.surface_velocity);
    shape.surface_angular_velocity = model::to_spec(geom.surface_angular_velocity);
    shape.contact_type = s_.settings.contacts ? static_cast<std::uint32_t>(geom.contact_type) : 0;
    shape.contact_affinity = s_.settings.contacts ? static_cast<std::uint32_t>(geom.contact_affinity) : 0;
    s_.spec.shapes.push_back(shape);
    s_.shape_elements.push_back(&child);
    s_.shape_colors.push_back(s_.materials.of(a));
  });
  return masses;
}

void BodyReader::read_mass(const XmlElement& element, int index, const Place& place) {
  const XmlElement* inertial = nullptr;
  for (const XmlElement& child : element.children) {
    if (child.tag != "inertial") continue;
    if (inertial != nullptr) refuse(child, "", "is a second inertial of the same body");
    inertial = &child;
  }
  const InertiaFrom from = s_.documents.of(element).inertia_from;
  const bool from_geoms = from == InertiaFrom::kGeoms || (from == InertiaFrom::kWhatIsGiven && inertial == nullptr);
  const std::vector<MassProperties> parts = read_geoms(element, index, place, from_geoms);
  if (parts.size() > 1) s_.inertial_frames.erase(index);
  MassProperties mass;
  if (inertial != nullptr) mass = read_inertial(*inertial, s_.documents.of(element));
  if (inertial != nullptr && parts.empty() && inertial->find("fullinertia") == nullptr) {
    s_.inertial_frames[index] = read_pose(Attributes(*inertial), s_.documents.of(element));
  }
  if (!parts.empty()) mass = model::combine(parts);
  const XmlElement& source = inertial != nullptr && parts.empty() ? *inertial : element;
  correct_mass(source, source.find("fullinertia") != nullptr ? "fullinertia" : "diaginertia", s_.documents.of(element),
               mass);
  model::BodySpec& body = s_.spec.bodies[static_cast<std::size_t>(index)];
  body.mass = mass.mass;
  body.p_BoBcm = model::to_spec(mass.p_cm);
  body.I_Bcm = model::to_spec(mass.I_cm);
}

// A part of a body at its origin, for the first of joints that no one joint can be: as light as does not matter to the
// body's motion, and heavy enough for the numbers of float32.
int BodyReader::add_part(const XmlElement& element, int body, int number) {
  constexpr double kShare = 1e-4;
  model::BodySpec& whole = s_.spec.bodies[static_cast<std::size_t>(body)];
  model::BodySpec part = whole;
  if (!part.name.empty()) part.name += "_part" + std::to_string(number);
  part.mass = kShare * whole.mass, whole.mass -= part.mass;
  for (std::size_t i = 0; i < part.I_Bcm.size(); ++i) {
    part.I_Bcm[i] = kShare * whole.I_Bcm[i];
    whole.I_Bcm[i] -= part.I_Bcm[i];
  }
  part.ignores_medium = true;
  part.lender = body;
  return add_body(element, std::move(part));
}

void BodyReader::add_joint(model::JointSpec joint, int parent, int child) {
  joint.parent = parent;
  joint.child = child;
  s_.spec.joints.push_back(std::move(joint));
}

void BodyReader::read_joint(const XmlElement& element, int parent, int index, const Place& outer) {
  std::vector<MjcfJoint> joints;
  contents_.for_each(element, outer, [&](const XmlElement& child, const Place& place) {
    if (child.tag != "joint" && child.tag != "freejoint") return;
    Attributes a =
        child.tag == "joint" ? s_.defaults.attributes(child, place.childclass, {"joint"}) : Attributes(child);
    joints.push_back({std::move(a), place.in_frame ? place.X_BF : Pose{}, place.in_frame, copy_name(child, place)});
  });
  std::vector<model::JointSpec> chain = read_joints(joints, s_.documents.of(element), s_.notes);
  if (chain.front().kind == model::JointKind::kFree && parent != model::kWorldBody) {
    refuse(joints.front().attributes.element(), "", "is a free joint of a body that is not a child of the world");
  }
  if (chain.front().kind == model::JointKind::kFree && joints.front().attributes.element().tag == "joint") {
    free_bodies_.push_back({index, joints.front().attributes});
  }
  std::size_t at = 0;  // in joints
  int above = parent;
  for (std::size_t k = 0; k < chain.size(); ++k) {
    const int joint_index = static_cast<int>(s_.spec.joints.size());
    const std::size_t count = chain[k].kind == model::JointKind::kAxes ? chain[k].axes.size() : 1;
    for (std::size_t i = 0; i < count && at < joints.size(); ++i, ++at) {
      const JointPlace place{joint_index, static_cast<int>(i)};
      if (chain[k].kind == model::JointKind::kAxes) {
        read_force_range(joints[at].attributes, place, kNoTendon, s_);
      } else {
        read_dry_friction(joints[at], joint_index);
      }
      read_spring_damper(joints[at].attributes, place, s_);
      if (joints[at].name.empty()) continue;
      if (!s_.joint_place.emplace(joints[at].name, place).second) {
        refuse(joints[at].attributes.element(), "name", "names a joint a second time");
      }
    }
    const bool is_last = k + 1 == chain.size();
    const int child = is_last ? index : add_part(element, index, static_cast<int>(k));
    if (!is_last) s_.first_parts.try_emplace(index, child);
    add_joint(std::move(chain[k]), above, child);
    above = child;
  }
  if (chain.size() == 1) return;
  s_.notes.warn(element, "", "has joints that are not one joint here; between them are bodies of 1e-4 of its mass");
  chains_.push_back({parent, index});
}

// Of a ball or of a free joint.
void BodyReader::read_dry_friction(const MjcfJoint& joint, int joint_index) {
  const Attributes& a = joint.attributes;
  if (!s_.settings.dry_friction || a.element().tag == "freejoint") return;
  const double friction = a.bounded("frictionloss", s_.notes);
  if (friction == 0) return;
  s_.joint_frictions.push_back(
      {joint_index, friction, read_friction_softness(a, s_.notes), joint.name, &a.where("frictionloss")});
}

// With a part between them, parent and body are neighbours no more: they, and what is welded to either, are kept apart
// as neighbours are. Nothing is a neighbour of the world.
void BodyReader::keep_ends_of_chains_apart() {
  if (chains_.empty() || !s_.spec.filter_parent_child) return;
  const std::vector<int> root = weld_roots(s_.spec);
  std::vector<std::vector<int>> members(root.size());
  for (std::size_t b = 0; b < root.size(); ++b) {
    if (root[b] != model::kWorldBody) members[static_cast<std::size_t>(root[b])].push_back(static_cast<int>(b));
  }
  for (const model::ContactExcludeSpec& ends : chains_) {
    if (ends.body_a == model::kWorldBody || root[static_cast<std::size_t>(ends.body_a)] == model::kWorldBody) continue;
    for (int a : members[static_cast<std::size_t>(root[static_cast<std::size_t>(ends.body_a)])]) {
      for (int b : members[static_cast<std::size_t>(ends.body_b)]) {
        if (s_.spec.excludes.size() >= static_cast<std::size_t>(model::kMaxSceneExcludes)) {
          refuse(*s_.body_elements[static_cast<std::size_t>(b)], "",
                 "needs one exclude too many: a scene may have " + std::to_string(model::kMaxSceneExcludes));
        }
        s_.spec.excludes.push_back({a, b});
      }
    }
  }
}

// The armature a of a free joint is energy a/2 (|v|^2 + |omega|^2) of the frame's origin and of its turning, and weighs
// nothing: a body welded to that of the joint, with mass a at the origin and moments a, which gravity compensation
// holds.
void BodyReader::add_armature(const FreeBody& of) {
  const double armature = of.joint.bounded("armature", s_.notes);
  if (!(armature > 0)) return;
  const XmlElement& element = *s_.body_elements[static_cast<std::size_t>(of.body)];
  const model::BodySpec& body = s_.spec.bodies[static_cast<std::size_t>(of.body)];
  model::BodySpec part;
  part.X_WB = body.X_WB;
  if (!body.name.empty()) part.name = body.name + "_armature";
  part.mass = armature, part.gravity_compensation = 1;
  part.is_armature = true;
  part.I_Bcm = {armature, armature, armature, 0, 0, 0};
  model::JointSpec weld;
  weld.kind = model::JointKind::kFixed;
  add_joint(std::move(weld), of.body, add_body(element, std::move(part)));
  s_.notes.warn(of.joint.where("armature"), "armature",
                "of a free joint is a body of that mass and inertia without weight, welded to its own");
}

}  // namespace

void read_bodies(MjcfScene& scene) {
  scene.body_index.emplace("world", model::kWorldBody);
  BodyReader(scene).read_world();
}

}  // namespace axion::import
