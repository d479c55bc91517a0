#include "engine/import/xml_tree.hpp"

#include <tinyxml2.h>

#include <algorithm>
#include <optional>
#include <set>

#include "engine/base/stop.hpp"
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

// Counts what is about to be allocated, and stops documents that would be expensive to parse, before the XML library
// sees them. Only as much of XML is understood as that needs.
class TextCheck {
 public:
  TextCheck(std::string_view text, std::string_view file) : text_(text), file_(file) {}
  Status run();

 private:
  void skip_to(std::size_t end) {
    for (; i_ < end; ++i_) line_ += text_[i_] == '\n';
  }
  void read_tag();
  void fail(const std::string& message) {
    if (!error_) error_ = invalid_argument("xml", message + " (" + at(file_, line_) + ").");
  }
  void limit(const char* what, int value, int most) {
    if (value > most) fail("The document may have at most " + std::to_string(most) + " " + what + "; it has more");
  }

  std::string_view text_, file_;
  std::size_t i_ = 0;
  int line_ = 1, elements_ = 0, attributes_ = 0;
  std::optional<Error> error_;
};

Status TextCheck::run() {
  if (text_.size() > kMaxXmlBytes) {
    return invalid_argument("xml", "The document may have at most " + std::to_string(kMaxXmlBytes) + " bytes; it has " +
                                       std::to_string(text_.size()) + ".");
  }
  if (text_.find('\0') != std::string_view::npos) {
    skip_to(text_.find('\0'));
    fail("The document has a NUL byte");
  }
  while (i_ < text_.size() && !error_) {
    const std::string_view rest = text_.substr(i_);
    if (rest.starts_with("<!--")) {
      skip_to(std::min(text_.find("-->", i_ + 4), text_.size()));
    } else if (rest.starts_with("<![CDATA[")) {
      skip_to(std::min(text_.find("]]>", i_), text_.size()));
    } else if (rest.starts_with("<!")) {
      fail("Document type and entity declarations are refused: \"" + std::string(rest.substr(0, 20)) + "\"");
    } else if (rest.size() > 1 && rest[0] == '<' && is_name_start(rest[1])) {
      limit("elements", ++elements_, kMaxXmlElements);
      read_tag();
    } else {
      skip_to(i_ + 1);
    }
  }
  return error_ ? Status(*error_) : Status();
}

// To the end of a start tag. The XML library compares the attributes of an element with each other, hence the limit.
void TextCheck::read_tag() {
  int own = 0;
  for (char quote = 0; i_ < text_.size() && !error_; skip_to(i_ + 1)) {
    const char c = text_[i_];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '=') {
      limit("attributes", ++attributes_, kMaxXmlAttributes);
      limit("attributes in one element", ++own, kMaxXmlElementAttributes);
    } else if (c == '>') {
      return;
    }
  }
}

class Reader {
 public:
  Reader(const XmlFiles* files, bool keep_text, std::string_view folder)
      : files_(files), keep_text_(keep_text), folder_(folder) {}

  std::optional<Error> error;

  // Parses one file and appends its root (main document) or the root's children (included) to `out`.
  void read_file(std::string_view text, std::string_view file, int depth, std::vector<XmlElement>& out);

 private:
  void fail(const std::string& field, const std::string& message) {
    if (!error) error = invalid_argument(field, message);
  }
  void convert(const tinyxml2::XMLElement& node, std::string_view file, int depth, std::vector<XmlElement>& out);
  void children_of(const tinyxml2::XMLElement& node, std::string_view file, int depth, XmlElement* parent,
                   std::vector<XmlElement>& out);
  void include(const XmlElement& element, int depth, std::vector<XmlElement>& out);

  const XmlFiles* files_;  // null: nothing is included
  bool keep_text_;
  std::string folder_;  // of the main document
  std::set<std::string, std::less<>> included_;
  std::vector<std::string_view> open_files_;
};

void Reader::read_file(std::string_view text, std::string_view file, int depth, std::vector<XmlElement>& out) {
  if (Status status = TextCheck(text, file).run(); !status.ok()) {
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
  for (const tinyxml2::XMLNode* node = document.FirstChild(); node != nullptr; node = node->NextSibling()) {
    if (node->ToText() != nullptr) {
      return fail("xml", "The document has text outside its root element (" + at(file, node->GetLineNum()) + ").");
    }
  }
  const tinyxml2::XMLElement* root = document.RootElement();
  if (root == nullptr) return fail("xml", "The document has no root element (" + at(file, 1) + ").");
  if (root->NextSiblingElement() != nullptr) {
    return fail("xml", "The document has a second root element \"" +
                           std::string(root->NextSiblingElement()->Name()).substr(0, kShownBytes) + "\" (" +
                           at(file, root->NextSiblingElement()->GetLineNum()) + ").");
  }
  open_files_.push_back(file);
  if (open_files_.size() == 1) {
    convert(*root, file, depth, out);
  } else {
    children_of(*root, file, depth, nullptr, out);
  }
  open_files_.pop_back();
}

void Reader::convert(const tinyxml2::XMLElement& node, std::string_view file, int depth, std::vector<XmlElement>& out) {
  stop_if_asked();
  XmlElement element;
  element.tag = node.Name();
  element.file = file;
  element.line = node.GetLineNum();
  if (depth > kMaxXmlDepth) {
    return fail("xml", "Elements may be nested at most " + std::to_string(kMaxXmlDepth) + " deep; " +
                           describe(element) + " is deeper.");
  }
  for (const tinyxml2::XMLAttribute* a = node.FirstAttribute(); a != nullptr; a = a->Next()) {
    element.attributes.push_back({a->Name(), a->Value()});
  }
  if (files_ != nullptr && element.tag == "include") return include(element, depth, out);
  children_of(node, file, depth + 1, &element, element.children);
  if (!error) out.push_back(std::move(element));
}

void Reader::children_of(const tinyxml2::XMLElement& node, std::string_view file, int depth, XmlElement* parent,
                         std::vector<XmlElement>& out) {
  for (const tinyxml2::XMLNode* child = node.FirstChild(); child != nullptr && !error; child = child->NextSibling()) {
    if (const tinyxml2::XMLElement* element = child->ToElement()) convert(*element, file, depth, out);
    if (child->ToText() == nullptr || parent == nullptr) continue;
    parent->has_text = true;
    if (keep_text_) parent->text += child->Value();
  }
}

void Reader::include(const XmlElement& element, int depth, std::vector<XmlElement>& out) {
  const XmlAttribute* name = element.find("file");
  const std::string_view wanted = name == nullptr ? std::string_view() : std::string_view(name->value);
  const std::string shown(wanted.substr(0, kShownBytes));
  auto found = folder_.empty() ? files_->end() : files_->look_up(folder_ + std::string(wanted));
  if (found == files_->end()) found = files_->look_up(wanted);
  if (found == files_->end() && wanted.starts_with("./")) found = files_->look_up(wanted.substr(2));
  if (found == files_->end() || wanted.empty()) {
    return fail("include.file", describe(element) + " asks for the file \"" + shown + "\", which is not among the " +
                                    std::to_string(files_->size()) + " assets of the request.");
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

Result<XmlElement> read_root(std::string_view text, const XmlFiles* files, bool keep_text, std::string_view file) {
  const std::size_t slash = file.find_last_of('/');
  Reader reader(files, keep_text, slash == std::string_view::npos ? std::string_view() : file.substr(0, slash + 1));
  std::vector<XmlElement> roots;
  reader.read_file(text, file, 1, roots);
  if (reader.error) return *reader.error;
  if (roots.empty()) return invalid_argument("xml", "The root element of the document must not be an include.");
  return std::move(roots.front());
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

Result<XmlElement> read_xml(std::string_view text, const XmlFiles& files, std::string_view file) {
  return read_root(text, &files, false, file);
}

Result<XmlElement> read_xml_alone(std::string_view text, bool keep_text) {
  return read_root(text, nullptr, keep_text, {});
}

}  // namespace axion::import
