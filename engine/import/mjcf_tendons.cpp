// The <tendon> section, and the equalities of joints and tendons: coordinates that are weighted sums of others or
// lengths through space, and coordinates that are polynomials of others.
#include <algorithm>
#include <array>
#include <string>

#include "engine/import/mjcf_scene.hpp"
#include "engine/import/mjcf_softness.hpp"
#include "engine/model/list_spans.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

using model::CoordinateSpec;
using model::TendonPointKind;
using model::TendonPointSpec;
using model::TendonSpec;
using model::TendonTermSpec;

// The axis that an attribute names, of a hinge or slide.
JointPlace find_axis(const MjcfScene& scene, const XmlElement& element, const char* attribute) {
  const XmlAttribute* name = element.find(attribute);
  if (name == nullptr) refuse(element, attribute, "is required");
  const auto place = scene.joint_place.find(name->value);
  if (place == scene.joint_place.end()) refuse(element, attribute, "names a joint that does not exist");
  if (scene.spec.joints[static_cast<std::size_t>(place->second.joint)].kind != model::JointKind::kAxes) {
    refuse(element, attribute, "must name a hinge or a slide");
  }
  return place->second;
}

const model::AxisSpec& axis_at(const model::SceneSpec& spec, int joint, int axis) {
  return spec.joints[static_cast<std::size_t>(joint)].axes[static_cast<std::size_t>(axis)];
}

// A joint that comes more than once counts with the sum of its coefficients, one without a coefficient not at all.
std::vector<TendonTermSpec> read_terms(const MjcfScene& scene, const XmlElement& element) {
  std::vector<TendonTermSpec> terms;
  for (const XmlElement& child : element.children) {
    if (child.tag != "joint") continue;
    const JointPlace place = find_axis(scene, child, "joint");
    if (child.find("coef") == nullptr) refuse(child, "coef", "is required");
    const double coefficient = Attributes(child).number("coef", 0);
    const auto same = std::find_if(terms.begin(), terms.end(), [&](const TendonTermSpec& term) {
      return term.joint == place.joint && term.axis == place.axis;
    });
    if (same != terms.end()) {
      same->coefficient += coefficient;
    } else {
      terms.push_back({place.joint, place.axis, coefficient});
    }
  }
  if (terms.empty()) refuse(element, "", "has no joint");
  std::erase_if(terms, [](const TendonTermSpec& term) { return term.coefficient == 0; });
  return terms;
}

// springlength: where the spring rests, or a range in which it is slack; not given, the length in the reference
// configuration.
void read_spring(MjcfScene& scene, const Attributes& a, TendonSpec& tendon) {
  tendon.stiffness = scene.settings.springs ? a.linear("stiffness", scene.notes) : 0;
  tendon.spring_reference = reference_of(scene.spec, tendon);
  double rest[2] = {-1, -1};
  if (tendon.stiffness == 0 || !a.numbers("springlength", rest, 1)) return;
  if (rest[1] == -1) rest[1] = rest[0];
  if (rest[0] == -1) return;
  if (rest[0] > rest[1]) a.refuse("springlength", "must have the smaller length first");
  tendon.spring_reference = rest[0];
  tendon.spring_slack = rest[1] - rest[0];
}

model::FrameSpec read_site(const MjcfScene& scene, const XmlElement& element, const char* attribute) {
  model::FrameSpec frame;
  frame.X_BF = model::to_spec(site_pose(scene, element, attribute, frame.body));
  return frame;
}

// What a tendon wraps about.
TendonPointSpec read_object(const MjcfScene& scene, const XmlElement& element) {
  const XmlAttribute* name = element.find("geom");
  if (name == nullptr) refuse(element, "geom", "is required");
  const auto found = scene.geom_places.find(name->value);
  if (found == scene.geom_places.end()) refuse(element, "geom", "names a geom that does not exist");
  const GeomPlace& geom = found->second;
  if (geom.type != GeomType::kSphere && geom.type != GeomType::kCylinder) {
    refuse(element, "geom", "must name a sphere or a cylinder");
  }
  TendonPointSpec point;
  point.kind = geom.type == GeomType::kSphere ? TendonPointKind::kSphere : TendonPointKind::kCylinder;
  point.frame.body = geom.body, point.frame.X_BF = model::to_spec(geom.X_BG);
  point.radius = geom.radius;
  point.has_side = element.find("sidesite") != nullptr;
  if (point.has_side) point.side = read_site(scene, element, "sidesite");
  return point;
}

// Where the order of the points makes no path validate_scene says so, with the tendon's line.
std::vector<TendonPointSpec> read_path(const MjcfScene& scene, const XmlElement& element) {
  std::vector<TendonPointSpec> path;
  for (const XmlElement& child : element.children) {
    TendonPointSpec point;
    if (child.tag == "site") {
      point.frame = read_site(scene, child, "site");
    } else if (child.tag == "geom") {
      point = read_object(scene, child);
    } else if (child.tag == "pulley") {
      point.kind = TendonPointKind::kPulley;
      if (child.find("divisor") == nullptr) refuse(child, "divisor", "is required");
      point.divisor = Attributes(child).number("divisor", 1);
      if (!(point.divisor > 0)) refuse(child, "divisor", "must be above 0");
    } else {
      continue;
    }
    path.push_back(point);
  }
  if (path.empty()) refuse(element, "", "has no site");
  return path;
}

// Whether nothing that a path leads over can move.
bool stands_still(const model::SceneSpec& spec, const std::vector<TendonPointSpec>& path) {
  const std::vector<int> root = weld_roots(spec);
  return std::all_of(path.begin(), path.end(), [&](const TendonPointSpec& point) {
    const int body = point.kind == TendonPointKind::kPulley ? model::kWorldBody : point.frame.body;
    return body == model::kWorldBody || root[static_cast<std::size_t>(body)] == model::kWorldBody;
  });
}

void read_tendon(MjcfScene& scene, const XmlElement& element, const Attributes& a) {
  TendonSpec tendon;
  const XmlAttribute* name = element.find("name");
  tendon.name = name == nullptr ? "" : name->value;
  if (element.tag == "spatial") {
    tendon.path = read_path(scene, element);
  } else {
    tendon.terms = read_terms(scene, element);
  }
  const bool is_string = tendon.path.size() > 1 && tendon.path.front().kind == TendonPointKind::kSite &&
                         tendon.path.back().kind == TendonPointKind::kSite;
  if (is_string ? stands_still(scene.spec, tendon.path) : tendon.terms.empty() && tendon.path.empty()) {
    scene.notes.warn(element, "",
                     is_string ? "leads over nothing that can move, and has no effect"
                               : "has no coefficient that is not 0, and no effect");
    if (!tendon.name.empty()) scene.tendon_index.emplace(tendon.name, kNoTendon);
    return;
  }
  read_spring(scene, a, tendon);
  tendon.damping = scene.settings.dampers ? a.linear("damping", scene.notes) : 0;
  tendon.friction_loss = scene.settings.dry_friction ? a.bounded("frictionloss", scene.notes) : 0;
  tendon.armature = a.bounded("armature", scene.notes);
  if (a.number("springyield", 0) != 0) {
    scene.notes.unsupported(a.where("springyield"), "springyield", "springs do not yield");
  }
  double range[2] = {0, 0};
  a.numbers("range", range, 2);
  tendon.lower = range[0], tendon.upper = range[1];
  tendon.limited = is_limited(a, "limited", "range", scene.documents.of(a.element()));
  if (tendon.limited && !(range[0] < range[1])) a.refuse("range", "must have the smaller limit first");
  tendon.limited = tendon.limited && scene.settings.limits;
  tendon.limit_softness = read_softness(a, "solreflimit", "solimplimit", scene.notes);
  tendon.friction_softness = read_friction_softness(a, scene.notes);
  if (scene.spec.tendons.size() >= static_cast<std::size_t>(model::kMaxSceneTendons)) {
    refuse(element, "", "is one tendon too many: a scene may have " + std::to_string(model::kMaxSceneTendons));
  }
  const int index = static_cast<int>(scene.spec.tendons.size());
  read_force_range(a, {-1, 0}, index, scene);
  scene.spec.tendons.push_back(std::move(tendon));
  scene.tendon_elements.push_back(&element);
  if (name != nullptr && !name->value.empty()) scene.tendon_index.emplace(name->value, index);
}

// P(x − x0) + y0 as a polynomial of x.
std::array<double, 5> shifted(const std::array<double, 5>& p, double x0, double y0) {
  std::array<double, 5> out{};
  for (int k = 4; k >= 0; --k) {  // out = out * (x − x0) + p_k
    for (int i = 4; i > 0; --i)
      out[static_cast<std::size_t>(i)] = out[static_cast<std::size_t>(i - 1)] - x0 * out[static_cast<std::size_t>(i)];
    out[0] = p[static_cast<std::size_t>(k)] - x0 * out[0];
  }
  out[0] += y0;
  return out;
}

}  // namespace

double reference_of(const model::SceneSpec& spec, const model::TendonSpec& tendon) {
  double sum = model::reference_length(spec, tendon.path);
  for (const TendonTermSpec& term : tendon.terms) {
    sum += term.coefficient * axis_at(spec, term.joint, term.axis).reference;
  }
  return sum;
}

int find_tendon(const MjcfScene& scene, const XmlElement& element, const char* attribute) {
  const XmlAttribute* name = element.find(attribute);
  if (name == nullptr) refuse(element, attribute, "is required");
  const auto found = scene.tendon_index.find(name->value);
  if (found == scene.tendon_index.end()) refuse(element, attribute, "names a tendon that does not exist");
  if (found->second == kNoTendon) scene.notes.unsupported(element, attribute, "names a tendon that moves nothing");
  return found->second;
}

void read_tendons(MjcfScene& scene) {
  std::set<std::string, std::less<>> names;
  for (const XmlElement& section : scene.root.children) {
    if (section.tag != "tendon") continue;
    for (const XmlElement& element : section.children) {
      const XmlAttribute* name = element.find("name");
      if (name != nullptr && !name->value.empty() && !names.insert(name->value).second) {
        refuse(element, "name", "names a tendon a second time");
      }
      const Attributes a = scene.defaults.attributes(element, DefaultClasses::kMain, {"tendon"});
      read_tendon(scene, element, a);
    }
  }
}

// y − y0 = P(x − x0), each measured from the reference configuration; y alone is held at y0 + P(0).
void read_coordinate_equality(MjcfScene& scene, const XmlElement& element, const Attributes& a) {
  const bool of_tendons = element.tag == "tendon";
  model::EqualitySpec equality;
  double reference[2] = {0, 0};
  const auto read = [&](const char* attribute, double& at, CoordinateSpec& coordinate) {
    if (of_tendons) {
      coordinate.tendon = find_tendon(scene, element, attribute);
      if (coordinate.tendon == kNoTendon) return false;
      at = reference_of(scene.spec, scene.spec.tendons[static_cast<std::size_t>(coordinate.tendon)]);
      return true;
    }
    const JointPlace place = find_axis(scene, element, attribute);
    coordinate.joint = place.joint, coordinate.axis = place.axis;
    at = axis_at(scene.spec, place.joint, place.axis).reference;
    return true;
  };
  const char *first = of_tendons ? "tendon1" : "joint1", *second = of_tendons ? "tendon2" : "joint2";
  if (!read(first, reference[0], equality.first)) return;
  equality.has_second = element.find(second) != nullptr;
  if (equality.has_second && !read(second, reference[1], equality.second)) return;
  std::array<double, 5> polynomial{0, 1, 0, 0, 0};
  a.numbers("polycoef", polynomial, 1);
  if (!equality.has_second) polynomial = {polynomial[0], 0, 0, 0, 0};
  equality.polynomial = shifted(polynomial, reference[1], reference[0]);
  equality.is_soft = true, equality.softness = read_softness(a, "solref", "solimp", scene.notes);
  const XmlAttribute* name = element.find("name");
  equality.name = name != nullptr && !name->value.empty()
                      ? name->value
                      : element.tag + "_equality" + std::to_string(scene.spec.equalities.size());
  const auto is_taken = [&] {
    return std::any_of(scene.spec.equalities.begin(), scene.spec.equalities.end(),
                       [&](const model::EqualitySpec& other) { return other.name == equality.name; });
  };
  while (is_taken()) equality.name += "_";
  if (scene.spec.equalities.size() >= static_cast<std::size_t>(model::kMaxSceneEqualities)) {
    refuse(element, "",
           "is one equality of coordinates too many: a scene may have " + std::to_string(model::kMaxSceneEqualities));
  }
  scene.spec.equalities.push_back(std::move(equality));
  scene.equality_elements.push_back(&element);
}

}  // namespace axion::import
