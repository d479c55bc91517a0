#include "engine/import/xml_tree.hpp"

#include <tinyxml2.h>

#include <optional>
#include <set>

#include "engine/import/mjcf.hpp"

namespace axion::import {
namespace {

constexpr std::size_t kShownBytes = 64;  // of a value in an error message

std::string at(std::string_view file, int line) {
  std::string text = "line " + std::to_string(line);
  if (!file.empty()) text += " of " + std::string(file.substr(0, kShownBytes));
  return text;
}

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || (c & 0x80) != 0;
}

// What must be known before the XML library allocates or expands anything.
Status check_text(std::string_view text, std::string_view file) {
  if (text.size() > kMaxXmlBytes) {
    return invalid_argument("xml", "The document may have at most " + std::to_string(kMaxXmlBytes) +
                                       " bytes; it has " + std::to_string(text.size()) + ".");
  }
  int line = 1, elements = 0, equals = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == '\0') return invalid_argument("xml", "The document has a NUL byte (" + at(file, line) + ").");
    if (c == '=' && ++equals > kMaxXmlAttributes) {
      return invalid_argument("xml", "The document may have at most " + std::to_string(kMaxXmlAttributes) +
                                         " attributes; it has more (" + at(file, line) + ").");
    }
    if (c != '<') continue;
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("<!--")) {
      const std::size_t end = rest.find("-->", 4);
      if (end == std::string_view::npos) return {};  // the XML library reports it with its line
      for (char skipped : rest.substr(0, end)) line += skipped == '\n';
      i += end + 2;
    } else if (rest.starts_with("<!") && !rest.starts_with("<![CDATA[")) {
      return invalid_argument("xml", "Document type and entity declarations are refused: \"" +
                                         std::string(rest.substr(0, 20)) + "\" (" + at(file, line) + ").");
    } else if (rest.size() > 1 && is_name_start(rest[1]) && ++elements > kMaxXmlElements) {
      return invalid_argument("xml", "The document may have at most " + std::to_string(kMaxXmlElements) +
                                         " elements; it has more (" + at(file, line) + ").");
    }
  }
  return {};
}

class Reader {
 public:
  explicit Reader(const XmlFiles& files) : files_(files) {}

  std::optional<Error> error;

  // Parses one file and appends its root (main document) or the root's children (included) to `out`.
  void read_file(std::string_view text, std::string_view file, int depth, std::vector<XmlElement>& out);

 private:
  void fail(const std::string& field, const std::string& message) {
    if (!error) error = invalid_argument(field, message);
  }
  void convert(const tinyxml2::XMLElement& node, std::string_view file, int depth, std::vector<XmlElement>& out);
  void attributes_of(const tinyxml2::XMLElement& node, XmlElement& element);
  void children_of(const tinyxml2::XMLElement& node, std::string_view file, int depth, XmlElement* parent,
                   std::vector<XmlElement>& out);
  void include(const XmlElement& element, int depth, std::vector<XmlElement>& out);

  const XmlFiles& files_;
  std::set<std::string, std::less<>> included_;
  std::vector<std::string_view> open_files_;
};

void Reader::read_file(std::string_view text, std::string_view file, int depth, std::vector<XmlElement>& out) {
  if (Status status = check_text(text, file); !status.ok()) {
    if (!error) error = status.error();
    return;
  }
  tinyxml2::XMLDocument document;
  document.Parse(text.data(), text.size());
  if (document.ErrorID() == tinyxml2::XML_ELEMENT_DEPTH_EXCEEDED) {
    return fail("xml", "Elements may be nested at most " + std::to_string(kMaxXmlDepth) + " deep; there are more (" +
                           at(file, document.ErrorLineNum()) + ").");
  }
  if (document.Error()) {
    return fail("xml", std::string("The document is not well-formed: ") + document.ErrorName() + " (" +
                           at(file, document.ErrorLineNum()) + ").");
  }
  const tinyxml2::XMLElement* root = document.RootElement();
  if (root == nullptr) return fail("xml", "The document has no root element (" + at(file, 1) + ").");
  if (root->NextSiblingElement() != nullptr) {
    return fail("xml", "The document has a second root element \"" +
                           std::string(root->NextSiblingElement()->Name()).substr(0, kShownBytes) + "\" (" +
                           at(file, root->NextSiblingElement()->GetLineNum()) + ").");
  }
  open_files_.push_back(file);
  if (file.empty()) {
    convert(*root, file, depth, out);
  } else {
    children_of(*root, file, depth, nullptr, out);
  }
  open_files_.pop_back();
}

void Reader::convert(const tinyxml2::XMLElement& node, std::string_view file, int depth,
                     std::vector<XmlElement>& out) {
  XmlElement element;
  element.tag = node.Name();
  element.file = file;
  element.line = node.GetLineNum();
  if (depth > kMaxXmlDepth) {
    return fail("xml", "Elements may be nested at most " + std::to_string(kMaxXmlDepth) + " deep; " +
                           describe(element) + " is deeper.");
  }
  attributes_of(node, element);
  if (error) return;
  if (element.tag == "include") return include(element, depth, out);
  children_of(node, file, depth + 1, &element, element.children);
  if (!error) out.push_back(std::move(element));
}

void Reader::attributes_of(const tinyxml2::XMLElement& node, XmlElement& element) {
  std::set<std::string_view> seen;
  for (const tinyxml2::XMLAttribute* a = node.FirstAttribute(); a != nullptr; a = a->Next()) {
    if (!seen.insert(a->Name()).second) {
      return fail(element.tag + "." + a->Name(), describe(element) + " gives the attribute \"" + a->Name() +
                                                     "\" twice; the second value is \"" +
                                                     std::string(a->Value()).substr(0, kShownBytes) + "\".");
    }
    element.attributes.push_back({a->Name(), a->Value()});
  }
}

void Reader::children_of(const tinyxml2::XMLElement& node, std::string_view file, int depth, XmlElement* parent,
                         std::vector<XmlElement>& out) {
  for (const tinyxml2::XMLNode* child = node.FirstChild(); child != nullptr && !error; child = child->NextSibling()) {
    if (const tinyxml2::XMLElement* element = child->ToElement()) convert(*element, file, depth, out);
    if (child->ToText() != nullptr && parent != nullptr) parent->has_text = true;
  }
}

void Reader::include(const XmlElement& element, int depth, std::vector<XmlElement>& out) {
  const XmlAttribute* name = element.find("file");
  const std::string_view wanted = name == nullptr ? std::string_view() : std::string_view(name->value);
  const std::string shown(wanted.substr(0, kShownBytes));
  const auto found = files_.find(wanted);
  if (found == files_.end() || wanted.empty()) {
    return fail("include.file", describe(element) + " asks for the file \"" + shown +
                                    "\", which is not among the " + std::to_string(files_.size()) +
                                    " assets of the request.");
  }
  for (std::string_view open : open_files_) {
    if (open == found->first) {
      return fail("include.file", describe(element) + " closes a cycle of includes through \"" + shown + "\".");
    }
  }
  if (static_cast<int>(open_files_.size()) > kMaxIncludeDepth) {
    return fail("include.file", describe(element) + " is nested more than " + std::to_string(kMaxIncludeDepth) +
                                    " includes deep at \"" + shown + "\".");
  }
  if (!included_.insert(found->first).second) {
    return fail("include.file", describe(element) + " includes \"" + shown + "\" a second time.");
  }
  read_file(found->second, found->first, depth, out);
}

}  // namespace

const XmlAttribute* XmlElement::find(std::string_view name) const {
  for (const XmlAttribute& attribute : attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

std::string describe(const XmlElement& element) {
  std::string text = "<" + element.tag.substr(0, kShownBytes);
  if (const XmlAttribute* name = element.find("name")) {
    text += " name=\"" + name->value.substr(0, kShownBytes) + "\"";
  }
  return text + "> (" + at(element.file, element.line) + ")";
}

Result<XmlElement> read_xml(std::string_view text, const XmlFiles& files) {
  Reader reader(files);
  std::vector<XmlElement> roots;
  reader.read_file(text, {}, 1, roots);
  if (reader.error) return *reader.error;
  if (roots.empty()) return invalid_argument("xml", "The root element of the document must not be an include.");
  return std::move(roots.front());
}

}  // namespace axion::import
