// The elements and attributes of MJCF, and what becomes of each.
//
// Every element and attribute must be one that the format has: a misspelt one is refused, never passed over. What the
// format has and this importer does not take over is a warning or unsupported, as the tables in the source say.
// Used inside engine/import, and by what makes docs/mjcf.md of it.
#pragma once

#include <span>
#include <string_view>

#include "engine/import/mjcf_attach.hpp"
#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/xml_tree.hpp"

namespace axion::import {

enum class Treatment {
  kRead,         // checked against the row, and read
  kIgnored,      // no effect on motion: passed over with all it contains
  kWarned,       // passed over with a warning
  kUnsupported,  // would change the motion
};

// What becomes of one element. Lists are separated by blanks.
struct SchemaRow {
  std::string_view context;  // tag of the parent
  std::string_view tag;
  Treatment treatment = Treatment::kRead;
  std::string_view read;     // attributes that are read, or whose value is checked, where the element is
  std::string_view ignored;  // attributes without effect on motion here
  std::string_view warned;   // attributes that are not used; a warning unless they are 0
  std::string_view reason;   // for kWarned, kUnsupported and `warned`
};

std::span<const SchemaRow> schema_rows();

// Checks the whole document, with the settings and defaults of what is attached to it. Throws ImportFailure; adds to
// `notes`.
void check_schema(const XmlElement& root, const std::vector<AttachedModel>& attached, Notes& notes);

}  // namespace axion::import
