#include "engine/import/mjcf_defaults.hpp"

#include <algorithm>

namespace axion::import {

DefaultClasses::DefaultClasses(const XmlElement& root) {
  classes_.emplace_back();
  index_["main"] = kMain;
  for (const XmlElement& section : root.children) {
    if (section.tag == "default") read(section, -1);
  }
}

void DefaultClasses::read(const XmlElement& section, int parent) {
  int self = kMain;
  const XmlAttribute* name = section.find("class");
  if (parent >= 0) {
    if (name == nullptr || name->value.empty()) refuse(section, "class", "is required of a nested default");
    self = static_cast<int>(classes_.size());
    classes_.push_back({parent, {}});
    if (!index_.emplace(name->value, self).second) refuse(section, "class", "names a class a second time");
  } else if (name != nullptr && name->value != "main") {
    // MuJoCo 2.2 lets the outermost class have another name; it still applies to every element.
    if (!index_.emplace(name->value, self).second) refuse(section, "class", "names a class a second time");
  }
  for (const XmlElement& child : section.children) {
    if (child.tag != "default") classes_[static_cast<std::size_t>(self)].elements.push_back(&child);
  }
  for (const XmlElement& child : section.children) {
    if (child.tag == "default") read(child, self);
  }
}

int DefaultClasses::find(const XmlElement& element, std::string_view attribute, int otherwise) const {
  const XmlAttribute* name = element.find(attribute);
  if (name == nullptr) return otherwise;
  const auto found = index_.find(name->value);
  if (found == index_.end()) refuse(element, attribute, "names a default class that does not exist");
  return found->second;
}

Attributes DefaultClasses::attributes(const XmlElement& element, int childclass,
                                      std::initializer_list<std::string_view> tags) const {
  std::vector<const XmlElement*> inside_out{&element};
  for (int c = find(element, "class", childclass); c >= 0; c = classes_[static_cast<std::size_t>(c)].parent) {
    const std::vector<const XmlElement*>& own = classes_[static_cast<std::size_t>(c)].elements;
    for (std::size_t i = own.size(); i-- > 0;) {
      if (std::find(tags.begin(), tags.end(), own[i]->tag) != tags.end()) inside_out.push_back(own[i]);
    }
  }
  std::reverse(inside_out.begin(), inside_out.end());
  return Attributes(std::move(inside_out));
}

}  // namespace axion::import
