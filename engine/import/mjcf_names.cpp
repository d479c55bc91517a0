#include "engine/import/mjcf_names.hpp"

#include "engine/import/mjcf.hpp"
#include "engine/import/mjcf_attributes.hpp"

namespace axion::import {
namespace {

struct Reference {
  std::string_view attribute;
  NameKind kind;
};

// No attribute refers to things of two kinds but objname and refname, whose kind another attribute says.
constexpr Reference kReferences[] = {
    {"body", NameKind::kBody},         {"body1", NameKind::kBody},     {"body2", NameKind::kBody},
    {"subtree1", NameKind::kBody},     {"subtree2", NameKind::kBody},  {"joint", NameKind::kJoint},
    {"joint1", NameKind::kJoint},      {"joint2", NameKind::kJoint},   {"jointinparent", NameKind::kJoint},
    {"geom", NameKind::kGeom},         {"geom1", NameKind::kGeom},     {"geom2", NameKind::kGeom},
    {"site", NameKind::kSite},         {"site1", NameKind::kSite},     {"site2", NameKind::kSite},
    {"sidesite", NameKind::kSite},     {"refsite", NameKind::kSite},   {"cranksite", NameKind::kSite},
    {"slidersite", NameKind::kSite},   {"camera", NameKind::kCamera},  {"tendon", NameKind::kTendon},
    {"tendon1", NameKind::kTendon},    {"tendon2", NameKind::kTendon}, {"actuator", NameKind::kActuator},
    {"mesh", NameKind::kMesh},         {"class", NameKind::kClass},    {"childclass", NameKind::kClass},
    {"hfield", NameKind::kHeightField}};

constexpr Reference kObjectTypes[] = {{"body", NameKind::kBody},     {"xbody", NameKind::kBody},
                                      {"joint", NameKind::kJoint},   {"geom", NameKind::kGeom},
                                      {"site", NameKind::kSite},     {"camera", NameKind::kCamera},
                                      {"tendon", NameKind::kTendon}, {"actuator", NameKind::kActuator}};

}  // namespace

std::optional<NameKind> kind_of_reference(const XmlElement& element, std::string_view attribute) {
  if (attribute == "objname" || attribute == "refname") {
    const XmlAttribute* type = element.find(attribute == "objname" ? "objtype" : "reftype");
    for (const Reference& object : kObjectTypes) {
      if (type != nullptr && type->value == object.attribute) return object.kind;
    }
    return std::nullopt;
  }
  for (const Reference& reference : kReferences) {
    if (reference.attribute == attribute) return reference.kind;
  }
  return std::nullopt;
}

bool is_in_bodies(NameKind kind, std::string_view value) {
  if (kind == NameKind::kBody && value == "world") return false;
  return kind != NameKind::kMesh && kind != NameKind::kHeightField && kind != NameKind::kClass;
}

std::optional<NameKind> kind_of_section(std::string_view section) {
  if (section == "tendon") return NameKind::kTendon;
  if (section == "actuator") return NameKind::kActuator;
  return std::nullopt;
}

void for_each_reference(XmlElement& element, const std::function<void(NameKind, std::string&)>& visit) {
  for (XmlAttribute& attribute : element.attributes) {
    const std::optional<NameKind> kind = kind_of_reference(element, attribute.name);
    if (kind && is_in_bodies(*kind, attribute.value)) visit(*kind, attribute.value);
  }
  for (XmlElement& child : element.children) for_each_reference(child, visit);
}

std::string Copies::suffix(int i) const {
  const std::size_t width = std::to_string(count - 1).size();
  const std::string number = std::to_string(i);
  std::string text = separator;
  return text.append(width - number.size(), '0').append(number);
}

Copies read_copies(const XmlElement& replicate) {
  const Attributes a(replicate);
  if (!a.has("count")) refuse(replicate, "count", "is required");
  const int count = a.integer("count", 0);
  if (count < 1 || count > kMaxShapes) a.refuse("count", "must be from 1 to " + std::to_string(kMaxShapes));
  return {count, a.text("sep", "")};
}

}  // namespace axion::import
