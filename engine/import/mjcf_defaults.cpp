#include "engine/import/mjcf_defaults.hpp"

#include <algorithm>

namespace axion::import {

DefaultClasses::DefaultClasses(const XmlElement& root, const std::vector<AttachedModel>& attached) {
  classes_.emplace_back();
  index_[main_class_of(0)] = kMain;
  for (const XmlElement& section : root.children) {
    if (section.tag != "default") continue;
    const XmlAttribute* name = section.find("class");
    // MuJoCo 2.2 lets the outermost class have another name; it still applies to every element.
    if (name != nullptr && name->value != "main" && !index_.emplace(name->value, kMain).second) {
      refuse(section, "class", "names a class a second time");
    }
    read_contents(section, kMain);
  }
  for (const AttachedModel& model : attached) read_contents(model.defaults, add(model.defaults, -1));
}

int DefaultClasses::add(const XmlElement& section, int parent) {
  const XmlAttribute* name = section.find("class");
  if (name == nullptr || name->value.empty()) refuse(section, "class", "is required of a nested default");
  const int self = static_cast<int>(classes_.size());
  classes_.push_back({parent, {}});
  if (!index_.emplace(name->value, self).second) refuse(section, "class", "names a class a second time");
  return self;
}

void DefaultClasses::read_contents(const XmlElement& section, int self) {
  for (const XmlElement& child : section.children) {
    if (child.tag != "default") classes_[static_cast<std::size_t>(self)].elements.push_back(&child);
  }
  for (const XmlElement& child : section.children) {
    if (child.tag == "default") read_contents(child, add(child, self));
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
