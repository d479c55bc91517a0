// Default classes of MJCF: which layers of attributes an element has.
//
// Used inside engine/import only. Throws ImportFailure for unknown, repeated and nameless classes.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/import/mjcf_attach.hpp"
#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/xml_tree.hpp"

namespace axion::import {

class DefaultClasses {
 public:
  static constexpr int kMain = 0;

  // Reads the <default> sections of the document and those of attached ones, of which no class is above the outermost
  // of each. All must outlive this.
  DefaultClasses(const XmlElement& root, const std::vector<AttachedModel>& attached);

  bool has(std::string_view name) const { return index_.find(name) != index_.end(); }
  // The class that the attribute names, or `otherwise` if it is absent.
  int find(const XmlElement& element, std::string_view attribute, int otherwise) const;
  // The element on top of the defaults of its own class, or of `childclass` if it names none; the defaults are those
  // with the element's tag, or with any of `tags`.
  Attributes attributes(const XmlElement& element, int childclass, std::initializer_list<std::string_view> tags) const;

 private:
  struct Class {
    int parent = -1;
    std::vector<const XmlElement*> elements;
  };
  void read_contents(const XmlElement& section, int self);
  int add(const XmlElement& section, int parent);

  std::vector<Class> classes_;
  std::map<std::string, int, std::less<>> index_;
};

}  // namespace axion::import
