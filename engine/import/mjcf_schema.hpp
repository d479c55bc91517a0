// The elements and attributes of MJCF, and what becomes of each.
//
// Every element and attribute must be one that the format has: a misspelt one is refused, never passed over. What the
// format has and this importer does not take over is a warning or unsupported, as the tables in the source say.
// Used inside engine/import only.
#pragma once

#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/xml_tree.hpp"

namespace axion::import {

// Checks the whole document. Throws ImportFailure; adds to `notes`.
void check_schema(const XmlElement& root, Notes& notes);

}  // namespace axion::import
