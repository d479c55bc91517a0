// A parsed XML document as plain data: elements, attributes and lines, with included files spliced in.
//
// Keeps the importers independent of the XML library and is where hostile documents are stopped: size, depth, element
// and attribute counts are bounded, document type declarations and entities are refused, and so are NUL bytes.
// Attributes given twice are not well-formed. Used inside engine/import only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/import/xml_files.hpp"

namespace axion::import {

struct XmlAttribute {
  std::string name;
  std::string value;
};

struct XmlElement {
  std::string tag;
  std::string_view file;  // name of the included file, empty for the main document; the caller's string
  int line = 0;
  int document = 0;       // that it is from: 0 the main one, others are attached to it (mjcf_attach.hpp)
  bool has_text = false;  // character data other than white space among the children
  std::string text;       // that, where it is asked for
  std::vector<XmlAttribute> attributes;
  std::vector<XmlElement> children;

  const XmlAttribute* find(std::string_view name) const;
};

// "<geom name="foot"> (line 12 of legs.xml)"
std::string describe(const XmlElement& element);

// The root element. `<include file="name"/>` is replaced by the children of that file's root; each file may be included
// once. `files` must outlive the result. Fails with the line and what is wrong there.
// `file`, one of `files` or empty, is what messages call the document, and included files are looked for in its folder
// before they are looked for by their name alone.
Result<XmlElement> read_xml(std::string_view text, const XmlFiles& files, std::string_view file = {});
// The same of a format without includes: an element of that name is one like any other. `keep_text` fills
// XmlElement::text.
Result<XmlElement> read_xml_alone(std::string_view text, bool keep_text = false);

}  // namespace axion::import
