// What all readers of URDF elements do: sub-elements, required attributes, poses, and notes of what the format does not
// have.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <string>
#include <string_view>

#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/xml_tree.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {

// The sub-element of that tag, or null; a second one is refused.
const XmlElement* find_child(const XmlElement& element, std::string_view tag);
// The first one, or null; others are left out with a warning, as urdfdom leaves them out.
const XmlElement* first_child(const XmlElement& element, std::string_view tag, Notes& notes);
const XmlElement& require_child(const XmlElement& element, std::string_view tag);

// An attribute that must be there and not be empty; at most model::kMaxNameBytes long.
std::string require_text(const XmlElement& element, std::string_view attribute);
double require_number(const XmlElement& element, std::string_view attribute);
// The same, above zero and at most the greatest of a scene.
double require_length(const XmlElement& element, std::string_view attribute);

// <origin xyz rpy> of an element; the identity where there is none. rpy turns about the fixed x, then y, then z.
model::Pose read_origin(const XmlElement& element);

// Warns of attributes and sub-elements that the format does not have here (lists are separated by blanks). Names with a
// colon belong to other programs.
void note_unknown(const XmlElement& element, std::string_view attributes, std::string_view children, Notes& notes);

// Whether `word` is in a list that is separated by blanks.
bool is_listed(std::string_view list, std::string_view word);

}  // namespace axion::import
