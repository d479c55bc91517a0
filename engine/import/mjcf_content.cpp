#include "engine/import/mjcf_content.hpp"

#include "engine/import/mjcf.hpp"
#include "engine/import/mjcf_names.hpp"
#include "engine/import/mjcf_pose.hpp"

namespace axion::import {

std::string copy_name(const XmlElement& element, const Place& place) {
  const XmlAttribute* name = element.find("name");
  return name == nullptr || name->value.empty() ? "" : name->value + place.suffix;
}

void ContentReader::for_each(const XmlElement& element, const Place& place, const Visit& visit) {
  for (const XmlElement& child : element.children) {
    if (child.tag == "frame") {
      Place inner = place;
      inner.X_BF = place.X_BF * read_pose(Attributes(child), documents_.of(child));
      inner.in_frame = true;
      inner.childclass = defaults_.find(child, "childclass", place.childclass);
      for_each(child, inner, visit);
    } else if (child.tag == "replicate") {
      replicate(child, place, visit);
    } else {
      if (!place.suffix.empty()) count_copy(child);
      visit(child, place);
    }
  }
}

void ContentReader::count_copy(const XmlElement& element) {
  if (++copies_ <= kMaxXmlElements) return;
  refuse(element, "", "has too many copies: all of a document may be " + std::to_string(kMaxXmlElements));
}

// Copy i is turned by i times each angle of euler, and is where the one before it is, moved by offset in that one's
// frame, as MuJoCo has it; its number goes to the end of names, as wide as the last.
void ContentReader::replicate(const XmlElement& element, const Place& place, const Visit& visit) {
  const Attributes a(element);
  const Copies copies = read_copies(element);
  const math::Vec3<double> offset = a.vec3("offset", {});
  model::Pose at;
  Place copy = place;
  copy.in_frame = true;
  copy.childclass = defaults_.find(element, "childclass", place.childclass);
  for (int i = 0; i < copies.count; ++i) {
    count_copy(element);  // it may contain nothing
    copy.suffix = copies.suffix(i) + place.suffix;
    copy.X_BF = place.X_BF * at;
    for_each(element, copy, visit);
    at = {read_euler(a, documents_.of(element), i + 1), at.position + math::rotate(at.rotation, offset)};
  }
}

}  // namespace axion::import
