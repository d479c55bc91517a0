// Names of what <replicate> makes copies of, and copies of what refers to them.
//
// MuJoCo replicates with a part of a tree all elements of <contact>, <tendon>, <equality>, <actuator> and <sensor>
// that refer to it, and what refers to those: in their place come, at the end of the section, their copies for the
// first copy of the part, then those for the second, and so on, whose names and references end as the part's names
// do. Replicates within others come first. Used inside engine/import only. Throws ImportFailure.
#pragma once

#include "engine/import/mjcf_names.hpp"
#include "engine/import/xml_tree.hpp"

namespace axion::import {

// The names in an element of <worldbody>, those of all copies; at most kMaxXmlElements.
Names names_in(const XmlElement& element);

// Replaces what refers to parts that are replicated by copies of it, at most kMaxXmlElements of the document. The
// replicates themselves stay (mjcf_content.hpp).
void copy_references(XmlElement& root);

}  // namespace axion::import
