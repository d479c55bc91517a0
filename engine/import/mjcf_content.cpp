#include "engine/import/mjcf_content.hpp"

#include "engine/import/mjcf.hpp"
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
      inner.X_BF = place.X_BF * read_pose(Attributes(child), settings_);
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

// Each copy is moved from the one before it by offset and euler; its number goes to the end of names, as wide as the
// last.
void ContentReader::replicate(const XmlElement& element, const Place& place, const Visit& visit) {
  const Attributes a(element);
  if (!a.has("count")) refuse(element, "count", "is required");
  const int count = a.integer("count", 0);
  if (count < 1 || count > kMaxShapes) a.refuse("count", "must be from 1 to " + std::to_string(kMaxShapes));
  const std::string separator = a.text("sep", "");
  const std::size_t width = std::to_string(count - 1).size();
  const model::Pose step{read_pose(a, settings_).rotation, a.vec3("offset", {})};
  Place copy = place;
  copy.in_frame = true;
  copy.childclass = defaults_.find(element, "childclass", place.childclass);
  for (int i = 0; i < count; ++i) {
    count_copy(element);  // it may contain nothing
    const std::string number = std::to_string(i);
    copy.suffix = separator;
    copy.suffix.append(width - number.size(), '0').append(number).append(place.suffix);
    for_each(element, copy, visit);
    copy.X_BF = copy.X_BF * step;
  }
}

}  // namespace axion::import
