#include "engine/import/urdf_elements.hpp"

#include <cmath>

#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

using Quat = math::Quat<double>;

Quat turn_about(int axis, double angle) {
  Quat q{std::cos(angle / 2), 0, 0, 0};
  (axis == 0 ? q.x : axis == 1 ? q.y : q.z) = std::sin(angle / 2);
  return q;
}

}  // namespace

bool is_listed(std::string_view list, std::string_view word) {
  if (word.empty()) return false;
  for (std::size_t at = list.find(word); at != std::string_view::npos; at = list.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

const XmlElement* find_child(const XmlElement& element, std::string_view tag) {
  const XmlElement* found = nullptr;
  for (const XmlElement& child : element.children) {
    if (child.tag != tag) continue;
    if (found != nullptr) refuse(child, "", "is a second <" + child.tag + "> of " + describe(element));
    found = &child;
  }
  return found;
}

const XmlElement* first_child(const XmlElement& element, std::string_view tag, Notes& notes) {
  const XmlElement* found = nullptr;
  for (const XmlElement& child : element.children) {
    if (child.tag != tag) continue;
    if (found != nullptr) {
      notes.warn(child, "", "is a second <" + child.tag + "> of " + describe(element) + ", and was left out");
    } else {
      found = &child;
    }
  }
  return found;
}

const XmlElement& require_child(const XmlElement& element, std::string_view tag) {
  const XmlElement* found = find_child(element, tag);
  if (found == nullptr) refuse(element, "", "has no <" + std::string(tag) + ">, which it must have");
  return *found;
}

std::string require_text(const XmlElement& element, std::string_view attribute) {
  const XmlAttribute* given = element.find(attribute);
  if (given == nullptr || given->value.empty()) refuse(element, attribute, "is required");
  if (given->value.size() > model::kMaxNameBytes) {
    refuse(
        element, attribute,
        "has " + std::to_string(given->value.size()) + " bytes; it may have " + std::to_string(model::kMaxNameBytes));
  }
  return given->value;
}

double require_number(const XmlElement& element, std::string_view attribute) {
  if (element.find(attribute) == nullptr) refuse(element, attribute, "is required");
  return Attributes(element).number(attribute, 0);
}

double require_length(const XmlElement& element, std::string_view attribute) {
  const double length = require_number(element, attribute);
  if (!(length > 0 && length <= model::kMaxMagnitude)) refuse(element, attribute, "must be above zero and at most 1e9");
  return length;
}

model::Pose read_origin(const XmlElement& element) {
  const XmlElement* origin = find_child(element, "origin");
  if (origin == nullptr) return {};
  const Attributes a(*origin);
  model::Pose X;
  X.position = a.vec3("xyz", {});
  if (a.has("quat_xyzw")) {
    if (a.has("rpy")) a.refuse("quat_xyzw", "is given together with rpy");
    double q[4] = {0, 0, 0, 1};
    a.numbers("quat_xyzw", q, 4);
    if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0) a.refuse("quat_xyzw", "is a zero quaternion");
    X.rotation = model::to_quat({q[3], q[0], q[1], q[2]});
    return X;
  }
  const math::Vec3<double> rpy = a.vec3("rpy", {});
  if (rpy.x != 0 || rpy.y != 0 || rpy.z != 0) {
    X.rotation = math::normalized(turn_about(2, rpy.z) * (turn_about(1, rpy.y) * turn_about(0, rpy.x)));
  }
  return X;
}

void note_unknown(const XmlElement& element, std::string_view attributes, std::string_view children, Notes& notes) {
  for (const XmlAttribute& attribute : element.attributes) {
    const std::string_view name = attribute.name;
    if (name.find(':') != std::string_view::npos || name == "xmlns" || is_listed(attributes, name)) continue;
    notes.warn(element, name, "is not an attribute that this element has in URDF, and was left out");
  }
  for (const XmlElement& child : element.children) {
    if (child.tag.find(':') != std::string::npos || is_listed(children, child.tag)) continue;
    notes.warn(child, "", "is not an element that <" + element.tag.substr(0, 64) + "> has in URDF, and was left out");
  }
}

}  // namespace axion::import
