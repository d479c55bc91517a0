// <attach>: bodies and frames of other MJCF documents, spliced into the document that attaches them.
//
// In the place of an <attach> comes a frame with what it names: a body without what is around it, a frame, or all of
// the other document's world. The names of what is attached get the prefix. With it come the document's default
// classes, which alone apply to it, its assets, its <compiler> settings, and what of its contacts, tendons,
// equalities, actuators and sensors refers to nothing else; its options do not come, nor its keyframes, which a
// warning says. So MuJoCo has it but for the keyframes. Models that are attached may attach others. Used inside
// engine/import only. Throws ImportFailure.
#pragma once

#include <string>
#include <vector>

#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/xml_tree.hpp"

namespace axion::import {

// The n-th attached document; its elements have XmlElement::document n + 1.
struct AttachedModel {
  std::string folder;                // of its file, before the names of its files
  std::vector<XmlElement> compiler;  // its <compiler> sections
  XmlElement defaults;               // one <default> with all of its own
};

// What the outermost of a document's default classes is called: the main one of document 0, and of attached ones.
std::string main_class_of(int document);

// Splices what is attached into `root`, and returns the documents that it is from. At most kMaxXmlElements elements are
// attached, kMaxIncludeDepth documents deep.
std::vector<AttachedModel> attach_models(XmlElement& root, const XmlFiles& files, Notes& notes);

}  // namespace axion::import
