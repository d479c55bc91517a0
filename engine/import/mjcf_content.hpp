// What a body contains, through <frame> and <replicate>: elements in the place and with the names that these give them.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <functional>
#include <string>

#include "engine/import/mjcf_defaults.hpp"
#include "engine/import/mjcf_settings.hpp"
#include "engine/import/xml_tree.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {

// Where an element is given: the frame, in that of the body (or of the world); the class of its defaults; what its
// copy's names end in.
struct Place {
  model::Pose X_BF;
  bool in_frame = false;  // X_BF is not that of the body itself
  int childclass = DefaultClasses::kMain;
  std::string suffix;
};

// The name of a copy, "" where the element has none.
std::string copy_name(const XmlElement& element, const Place& place);

// Walks through contents. All walks of a document together meet at most kMaxXmlElements copies.
class ContentReader {
 public:
  using Visit = std::function<void(const XmlElement&, const Place&)>;
  ContentReader(const DefaultClasses& defaults, const DocumentSettings& documents)
      : defaults_(defaults), documents_(documents) {}

  // Calls visit(child, place) for all that `element`, at `place`, contains but frames and replicates. Recursion is
  // bounded by kMaxXmlDepth.
  void for_each(const XmlElement& element, const Place& place, const Visit& visit);

 private:
  void replicate(const XmlElement& element, const Place& place, const Visit& visit);
  void count_copy(const XmlElement& element);

  const DefaultClasses& defaults_;
  const DocumentSettings& documents_;
  long copies_ = 0;
};

}  // namespace axion::import
