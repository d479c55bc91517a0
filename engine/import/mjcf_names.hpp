// Which attributes of an MJCF document name something, and what: for what rewrites documents (mjcf_attach,
// mjcf_copies).
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/import/xml_tree.hpp"

namespace axion::import {

enum class NameKind { kBody, kJoint, kGeom, kSite, kCamera, kTendon, kActuator, kMesh, kHeightField, kClass };

// Names of bodies, joints, geoms, sites, cameras, tendons and actuators.
using Names = std::set<std::pair<NameKind, std::string>>;

// The sections whose elements refer to bodies and what these contain, each after those that it refers to.
inline constexpr std::string_view kReferringSections[] = {"contact", "tendon", "equality", "actuator", "sensor"};

// What an attribute of an element refers to; nothing where it is no reference that matters to motion.
std::optional<NameKind> kind_of_reference(const XmlElement& element, std::string_view attribute);

// Whether `kind` is one of those that Names holds, and `value` is not the world.
bool is_in_bodies(NameKind kind, std::string_view value);

// What the name of an element of the section is of; nothing where no attribute refers to it.
std::optional<NameKind> kind_of_section(std::string_view section);

// Calls visit(attribute's kind, value) for each reference of the element and of what it contains that is_in_bodies.
// Recursion is bounded by kMaxXmlDepth.
void for_each_reference(XmlElement& element, const std::function<void(NameKind, std::string&)>& visit);

// The copies that a <replicate> asks for.
struct Copies {
  int count = 1;
  std::string separator;

  // What the names of the i-th end in: its number, as wide as the last.
  std::string suffix(int i) const;
};

// Refuses a count that is missing or out of range.
Copies read_copies(const XmlElement& replicate);

}  // namespace axion::import
