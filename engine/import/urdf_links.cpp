// Links: their mass, and the shapes that they collide with.
#include <algorithm>
#include <optional>

#include "engine/base/utf8.hpp"
#include "engine/import/mass_limits.hpp"
#include "engine/import/mjcf_geom.hpp"
#include "engine/import/mjcf_pose.hpp"
#include "engine/import/urdf_elements.hpp"
#include "engine/import/urdf_scene.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

using math::Mat3;
using model::MassProperties;
using model::Pose;

constexpr double kDensity = 1000;  // kg/m^3, of links that give no mass, as MuJoCo has it

// Of the mass of a link, to one that has none: as light as does not matter to the motion, and heavy enough for float32.
constexpr double kLentShare = 1e-4;

constexpr double kPointRadius = 1e-4;  // m, of spheres of radius 0, which stand for points that touch

// What an <inertial> leaves to the collision geometry: nothing, its inertia, or its mass too, at a density.
enum class LeftToShapes { kNothing, kInertia, kMass };

// What <contact> of a link says; the element is Bullet's.
struct Surface {
  double friction = 1, restitution = 0, stiffness = 0, damping = 0;
};

// The mass of a shape of unit density; none where it has no volume.
struct Solid {
  double volume = 0;
  MassProperties mass;  // in the frame of the link
};

class LinkReader {
 public:
  explicit LinkReader(UrdfScene& scene) : s_(scene) {}

  void read() {
    s_.body_of_link.assign(s_.tree.links.size(), model::kWorldBody);
    for (int index : s_.tree.order) read_link(index);
    if (s_.settings.total_mass > 0) scale_masses(s_.spec, s_.settings.total_mass);
    lend_masses();
  }

 private:
  void read_link(int index);
  bool is_alone(const UrdfLink& link) const;
  LeftToShapes left_to_shapes(const UrdfLink& link, const XmlElement& inertial) const;
  MassProperties read_mass(const UrdfLink& link, const XmlElement* inertial, LeftToShapes left,
                           const std::vector<Solid>& solids);
  MassProperties complete_inertial(const UrdfLink& link, const XmlElement& inertial, LeftToShapes left,
                                   const std::vector<MassProperties>& parts) const;
  MassProperties read_inertial(const XmlElement& inertial) const;
  std::optional<Solid> read_collision(const XmlElement& element, const UrdfLink& link, int body, const Surface& surface,
                                      bool adds_mass);
  bool read_geometry(const XmlElement& element, bool adds_mass, const UrdfLink& link, model::ShapeSpec& shape,
                     Pose& X_LS, Solid& solid);
  bool read_mesh(const XmlElement& element, bool adds_mass, const UrdfLink& link, model::ShapeSpec& shape, Pose& X_LS,
                 Solid& solid);
  bool read_plane(const XmlElement& element, const UrdfLink& link, model::ShapeSpec& shape, Pose& X_LS);
  Surface read_surface(const XmlElement& link);
  std::string shape_name(const XmlElement& element, const UrdfLink& link);
  void lend_masses();
  void lend_mass(const UrdfLink& from, const UrdfLink& to);

  UrdfScene& s_;
};

void LinkReader::read_link(int index) {
  const UrdfLink& link = s_.tree.links[static_cast<std::size_t>(index)];
  const XmlElement& element = *link.element;
  note_unknown(element, "name type", "inertial visual collision contact self_collision_checking sensor audio_source",
               s_.notes);
  int body = model::kWorldBody;
  if (!link.is_world) {
    body = static_cast<int>(s_.spec.bodies.size());
    model::BodySpec spec;
    spec.name = link.name;
    spec.X_WB = model::to_spec(link.X_WL);
    s_.spec.bodies.push_back(std::move(spec));
    s_.body_elements.push_back(&element);
    s_.body_of_link[static_cast<std::size_t>(index)] = body;
  }
  const XmlElement* inertial = first_child(element, "inertial", s_.notes);
  const LeftToShapes left = inertial != nullptr ? left_to_shapes(link, *inertial) : LeftToShapes::kMass;
  const InertiaFrom from = s_.settings.inertia_from;
  const bool is_massless = inertial == nullptr && s_.options.massless;
  const bool from_shapes = !is_massless && (from == InertiaFrom::kGeoms ||
                                            (from == InertiaFrom::kWhatIsGiven && left != LeftToShapes::kNothing));
  const bool in_group = s_.settings.inertia_group_first <= 0;  // collision geometry is of group 0
  const Surface surface = read_surface(element);
  std::vector<Solid> solids;
  const std::size_t first_shape = s_.spec.shapes.size();
  for (const XmlElement& child : element.children) {
    if (child.tag != "collision") continue;
    const std::optional<Solid> solid = read_collision(child, link, body, surface, from_shapes && in_group);
    if (solid) solids.push_back(*solid);
  }
  read_urdf_visuals(s_, link, body, first_shape);
  if (body == model::kWorldBody) return;
  const MassProperties mass = read_mass(link, inertial, left, solids);
  model::BodySpec& spec = s_.spec.bodies[static_cast<std::size_t>(body)];
  spec.mass = mass.mass;
  spec.p_BoBcm = model::to_spec(mass.p_cm);
  spec.I_Bcm = model::to_spec(mass.I_cm);
}

// Whether no other link is fixed to it.
bool LinkReader::is_alone(const UrdfLink& link) const {
  const auto together = [&](const UrdfLink& other) { return other.rigid_root == link.rigid_root; };
  return std::count_if(s_.tree.links.begin(), s_.tree.links.end(), together) == 1;
}

// Where only a density is given, as Isaac Gym has it; where there is no <inertia>; and where all of it is zero, as in
// documents written for Bullet, which computes it from the shapes. What is fixed to other links may be a point.
LeftToShapes LinkReader::left_to_shapes(const UrdfLink& link, const XmlElement& inertial) const {
  const XmlElement *mass = find_child(inertial, "mass"), *inertia = find_child(inertial, "inertia");
  if (mass == nullptr) {
    return find_child(inertial, "density") != nullptr ? LeftToShapes::kMass : LeftToShapes::kNothing;
  }
  if (inertia == nullptr) return LeftToShapes::kInertia;
  if (link.is_held || s_.settings.bound_inertia > 0 || !(Attributes(*mass).number("value", 0) > 0)) {
    return LeftToShapes::kNothing;
  }
  for (const char* name : {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"}) {
    if (Attributes(*inertia).number(name, 0) != 0) return LeftToShapes::kNothing;
  }
  return is_alone(link) ? LeftToShapes::kInertia : LeftToShapes::kNothing;
}

// What the shapes make of an <inertial> that leaves something to them.
MassProperties LinkReader::complete_inertial(const UrdfLink& link, const XmlElement& inertial, LeftToShapes left,
                                             const std::vector<MassProperties>& parts) const {
  if (left == LeftToShapes::kMass) {
    const double density = require_number(*find_child(inertial, "density"), "value");
    if (!(density > 0)) refuse(*find_child(inertial, "density"), "value", "must be above zero");
    if (parts.empty() && !link.is_held) require_child(inertial, "mass");
    note_unknown(inertial, "", "origin density", s_.notes);
    MassProperties mass = parts.empty() ? MassProperties{} : model::combine(parts);
    mass.mass *= density / kDensity, mass.I_cm = (density / kDensity) * mass.I_cm;
    return mass;
  }
  const double mass = require_number(require_child(inertial, "mass"), "value");
  if (mass < 0) refuse(require_child(inertial, "mass"), "value", "must not be negative");
  if (parts.empty() && find_child(inertial, "inertia") != nullptr) return read_inertial(inertial);
  if (parts.empty() && mass > 0 && !link.is_held) require_child(inertial, "inertia");
  note_unknown(inertial, "", "origin mass inertia", s_.notes);
  MassProperties whole{mass, read_origin(inertial).position, {}};
  if (parts.empty()) return whole;
  const MassProperties shapes = model::combine(parts);
  whole.I_cm = (mass / shapes.mass) * shapes.I_cm;
  if (!link.is_held) {
    s_.notes.warn(inertial, "", "has a mass and no inertia: it takes that of the link's collision geometry");
  }
  return whole;
}

// The sum of the shapes where they are to give it, else what <inertial> says. Of a link that the world holds it has no
// effect.
MassProperties LinkReader::read_mass(const UrdfLink& link, const XmlElement* inertial, LeftToShapes left,
                                     const std::vector<Solid>& solids) {
  std::vector<MassProperties> parts;
  for (const Solid& solid : solids) {
    if (solid.volume > 0) parts.push_back(solid.mass);
  }
  const bool left_out = inertial != nullptr && left != LeftToShapes::kNothing;
  MassProperties mass;
  if (left_out) {
    mass = complete_inertial(link, *inertial, left, parts);
  } else if (inertial != nullptr) {
    mass = read_inertial(*inertial);
  }
  if (!parts.empty() && (!left_out || s_.settings.inertia_from == InertiaFrom::kGeoms)) {
    mass = model::combine(parts);
    if (inertial == nullptr && !link.is_held) {
      s_.notes.warn(*link.element, "", "has no <inertial>: its mass is that of its collision geometry at 1000 kg/m^3");
    }
  }
  const bool given = inertial != nullptr && parts.empty();
  const XmlElement* inertia = given ? find_child(*inertial, "inertia") : nullptr;
  if (link.is_held) return mass;
  const XmlElement& source = inertia != nullptr ? *inertia : *link.element;
  if (!s_.settings.balance_inertia && raise_moments(mass)) {
    s_.notes.warn(source, "", "has principal moments with A + B < C, which no body has; A and B are raised to make C");
  }
  correct_mass(source, "", s_.settings, mass);
  return mass;
}

MassProperties LinkReader::read_inertial(const XmlElement& inertial) const {
  note_unknown(inertial, "", "origin mass inertia", s_.notes);
  const double mass = require_number(require_child(inertial, "mass"), "value");
  if (mass < 0) refuse(require_child(inertial, "mass"), "value", "must not be negative");
  const XmlElement& inertia = require_child(inertial, "inertia");
  note_unknown(inertia, "ixx iyy izz ixy ixz iyz", "", s_.notes);
  std::array<double, 6> I{};
  const char* names[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
  for (std::size_t k = 0; k < 6; ++k) {
    I[k] = k < 3 ? require_number(inertia, names[k]) : Attributes(inertia).number(names[k], 0);
  }
  const bool has_inertia = std::any_of(I.begin(), I.end(), [](double x) { return x != 0; });
  if (mass == 0 && has_inertia) {
    s_.notes.warn(inertia, "", "is that of a link without mass, and is not used");
    I = {};
  }
  return re_express(read_origin(inertial), {mass, {}, model::to_matrix(I)});
}

std::string LinkReader::shape_name(const XmlElement& element, const UrdfLink& link) {
  const XmlAttribute* given = element.find("name");
  const bool usable = given != nullptr && !given->value.empty() && given->value.size() <= model::kMaxNameBytes &&
                      is_printable(given->value);
  const std::string stem = std::string(utf8_prefix(link.name, model::kMaxNameBytes - 24)) + "_collision";
  std::string name = usable ? given->value : stem;
  for (int copy = 2; !s_.shape_names.insert(name).second; ++copy) name = stem + std::to_string(copy);
  return name;
}

std::optional<Solid> LinkReader::read_collision(const XmlElement& element, const UrdfLink& link, int body,
                                                const Surface& surface, bool adds_mass) {
  note_unknown(element, "name group concave", "origin geometry material verbose", s_.notes);
  if (s_.spec.shapes.size() >= static_cast<std::size_t>(kMaxShapes)) {
    refuse(element, "", "is one shape too many: a robot may have " + std::to_string(kMaxShapes));
  }
  model::ShapeSpec shape;
  shape.body = body;
  shape.friction = surface.friction;
  shape.restitution = surface.restitution;
  shape.contact_stiffness = surface.stiffness;
  shape.contact_damping = surface.damping;
  if (!s_.options.self_collision) shape.contact_affinity = 0;
  if (!s_.settings.contacts) shape.contact_type = shape.contact_affinity = 0;
  Pose X_LS = read_origin(element);
  Solid solid;
  if (!read_geometry(require_child(element, "geometry"), adds_mass, link, shape, X_LS, solid)) return std::nullopt;
  shape.name = shape_name(element, link);
  // What stands on the world belongs to it; planes may not be elsewhere.
  if (shape.kind == model::ShapeKind::kPlane || body == model::kWorldBody) {
    shape.body = model::kWorldBody;
    X_LS = link.X_WL * X_LS;
  }
  shape.X_BS = model::to_spec(X_LS);
  s_.spec.shapes.push_back(std::move(shape));
  s_.shape_elements.push_back(&element);
  return solid;
}

// False where the shape is left out.
bool LinkReader::read_geometry(const XmlElement& element, bool adds_mass, const UrdfLink& link, model::ShapeSpec& shape,
                               Pose& X_LS, Solid& solid) {
  using model::ShapeKind;
  const XmlElement* kind = nullptr;
  for (const XmlElement& child : element.children) {
    if (!is_listed("box sphere cylinder capsule mesh plane", child.tag)) continue;
    if (kind != nullptr) refuse(child, "", "is a second shape of " + describe(element));
    kind = &child;
  }
  if (kind == nullptr) refuse(element, "", "has none of <box>, <sphere>, <cylinder>, <capsule>, <mesh>");
  if (kind->tag == "mesh") return read_mesh(*kind, adds_mass, link, shape, X_LS, solid);
  if (kind->tag == "plane") return read_plane(*kind, link, shape, X_LS);
  GeomType type = GeomType::kBox;
  if (kind->tag == "box") {
    note_unknown(*kind, "size", "", s_.notes);
    if (kind->find("size") == nullptr) refuse(*kind, "size", "is required");
    const math::Vec3<double> size = Attributes(*kind).vec3("size", {});
    if (!(std::min({size.x, size.y, size.z}) > 0 && std::max({size.x, size.y, size.z}) <= model::kMaxMagnitude)) {
      refuse(*kind, "size", "must have three numbers above zero and at most 1e9");
    }
    shape.kind = ShapeKind::kBox;
    shape.size = model::to_spec(0.5 * size);
  } else {
    note_unknown(*kind, kind->tag == "sphere" ? "radius" : "radius length", "", s_.notes);
    const bool round = kind->tag == "sphere", capped = kind->tag == "capsule";
    if (round && require_number(*kind, "radius") == 0) {
      shape.size[0] = kPointRadius;
      s_.notes.warn(*kind, "radius", "is 0, a point: it is a sphere of 0.1 mm");
    } else {
      shape.size[0] = require_length(*kind, "radius");
    }
    if (!round) shape.size[1] = require_length(*kind, "length") / 2;
    shape.kind = round ? ShapeKind::kSphere : capped ? ShapeKind::kCapsule : ShapeKind::kCylinder;
    type = round ? GeomType::kSphere : capped ? GeomType::kCapsule : GeomType::kCylinder;
  }
  if (!adds_mass) return true;
  solid.volume = volume(type, shape.size);
  const double mass = kDensity * solid.volume;
  const math::Vec3<double> I = principal_inertia(type, shape.size, mass);
  solid.mass = re_express(X_LS, {mass, {}, Mat3<double>::diagonal(I.x, I.y, I.z)});
  return true;
}

// A mesh is its convex hull, in the frame of its own principal axes.
bool LinkReader::read_mesh(const XmlElement& element, bool adds_mass, const UrdfLink& link, model::ShapeSpec& shape,
                           Pose& X_LS, Solid& solid) {
  note_unknown(element, "filename scale", "", s_.notes);
  UrdfMeshes::Mesh* mesh = s_.meshes.get(element, s_.notes);
  if (mesh == nullptr) return false;
  s_.meshes.add_hull(element, *mesh, s_.spec, s_.notes);
  shape.kind = model::ShapeKind::kMesh;
  shape.mesh = mesh->name;
  X_LS = X_LS * mesh->mass.X_MC;
  if (!adds_mass || link.is_held) return true;
  if (mesh->no_mass) refuse(element, "filename", "gives the link its mass, but its inertia " + *mesh->no_mass);
  solid.volume = mesh->mass.volume;
  const math::Vec3<double> I = kDensity * mesh->mass.moments;
  solid.mass = re_express(X_LS, {kDensity * solid.volume, {}, Mat3<double>::diagonal(I.x, I.y, I.z)});
  return true;
}

// Bullet's <plane normal="0 0 1"/>.
bool LinkReader::read_plane(const XmlElement& element, const UrdfLink& link, model::ShapeSpec& shape, Pose& X_LS) {
  if (!link.is_held) refuse(element, "", "belongs to a link that moves; a plane must be held by the world");
  const Attributes a(element);
  const math::Vec3<double> normal = a.vec3("normal", {0, 0, 1});
  if (!(math::norm(normal) > 1e-6)) a.refuse("normal", "must not be zero");
  shape.kind = model::ShapeKind::kPlane;
  X_LS.rotation = X_LS.rotation * rotation_from_z(normal);
  return true;
}

Surface LinkReader::read_surface(const XmlElement& link) {
  Surface surface;
  const XmlElement* contact = find_child(link, "contact");
  if (contact == nullptr) return surface;
  note_unknown(*contact, "",
               "lateral_friction restitution stiffness damping rolling_friction spinning_friction inertia_scaling "
               "contact_cfm contact_erp friction_anchor",
               s_.notes);
  const auto value = [&](const char* tag, double otherwise) {
    const XmlElement* element = find_child(*contact, tag);
    if (element == nullptr) return otherwise;
    const double given = require_number(*element, "value");
    if (given < 0) refuse(*element, "value", "must not be negative");
    return given;
  };
  surface.friction = value("lateral_friction", surface.friction);
  surface.restitution = std::min(value("restitution", surface.restitution), 1.0);
  surface.stiffness = value("stiffness", 0);
  surface.damping = surface.stiffness > 0 ? value("damping", 0) : 0;
  for (const XmlElement& element : contact->children) {
    if (!is_listed("rolling_friction spinning_friction inertia_scaling contact_cfm contact_erp", element.tag)) continue;
    s_.notes.warn(element, "", "is not used: contacts slide and stick, and are rigid unless a stiffness is given");
  }
  return surface;
}

// What moves needs a mass, of its own or of what is fixed to it. A link between two joints that has none, as documents
// have them in place of joints of several axes, takes a part of the heaviest link that it carries, at that one's place.
void LinkReader::lend_masses() {
  const std::vector<UrdfLink>& links = s_.tree.links;
  const auto root_of = [&](int link) {
    return static_cast<std::size_t>(links[static_cast<std::size_t>(link)].rigid_root);
  };
  std::vector<double> total(links.size(), 0);                              // [rigid root]
  std::vector<int> heaviest(links.size(), -1), carried(links.size(), -1);  // [rigid root] a member, a link carried
  const auto mass_of = [&](int link) {
    const int body = link < 0 ? model::kWorldBody : s_.body_of_link[static_cast<std::size_t>(link)];
    return body == model::kWorldBody ? 0 : s_.spec.bodies[static_cast<std::size_t>(body)].mass;
  };
  for (int link : s_.tree.order) {
    total[root_of(link)] += mass_of(link);
    int& most = heaviest[root_of(link)];
    if (most < 0 || mass_of(link) > mass_of(most)) most = link;
  }
  // What is carried comes before what carries it.
  for (std::size_t k = s_.tree.order.size(); k-- > 0;) {
    const int index = s_.tree.order[k];
    const UrdfLink& link = links[static_cast<std::size_t>(index)];
    if (link.rigid_root != index || link.is_held) continue;
    const auto self = static_cast<std::size_t>(index);
    if (!(total[self] >= model::kMinMass)) {
      if (mass_of(carried[self]) * kLentShare < model::kMinMass) {
        refuse(*link.element, "",
               "moves and has no mass, nor has what it carries: give it an <inertial>, or fix its joint");
      }
      lend_mass(links[static_cast<std::size_t>(carried[self])], link);
      heaviest[self] = carried[self];
      s_.notes.warn(*link.element, "", "moves and has no mass: it takes 1e-4 of that of the link that it carries");
    }
    if (link.joint < 0) continue;
    int& most = carried[root_of(s_.tree.joints[static_cast<std::size_t>(link.joint)].parent)];
    if (mass_of(heaviest[self]) > mass_of(most)) most = heaviest[self];
  }
}

void LinkReader::lend_mass(const UrdfLink& from, const UrdfLink& to) {
  const auto body_of = [&](const UrdfLink& link) -> model::BodySpec& {
    const auto index = static_cast<std::size_t>(&link - s_.tree.links.data());
    return s_.spec.bodies[static_cast<std::size_t>(s_.body_of_link[index])];
  };
  model::BodySpec &whole = body_of(from), &part = body_of(to);
  const MassProperties lent =
      re_express(inverse(to.X_WL) * from.X_WL,
                 {kLentShare * whole.mass, model::to_vec3(whole.p_BoBcm), kLentShare * model::to_matrix(whole.I_Bcm)});
  part.mass = lent.mass, part.p_BoBcm = model::to_spec(lent.p_cm), part.I_Bcm = model::to_spec(lent.I_cm);
  part.lender = s_.body_of_link[static_cast<std::size_t>(&from - s_.tree.links.data())];
  whole.mass -= lent.mass;
  for (double& moment : whole.I_Bcm) moment *= 1 - kLentShare;
}

}  // namespace

void read_urdf_links(UrdfScene& scene) { LinkReader(scene).read(); }

}  // namespace axion::import
