#include "engine/import/mjcf_attach.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "engine/import/asset_files.hpp"
#include "engine/import/mjcf.hpp"
#include "engine/import/mjcf_copies.hpp"
#include "engine/import/mjcf_names.hpp"

namespace axion::import {
namespace {

// Sections of an attached document that stay behind: its options, and what does not move anything.
constexpr std::string_view kLeftBehind[] = {"option", "size", "visual", "statistic", "custom"};

// Tags of sections and assets whose elements have a default class.
constexpr std::string_view kClassed[] = {"mesh",     "pair",        "spatial", "fixed",    "general", "motor",
                                         "position", "velocity",    "damper",  "cylinder", "muscle",  "adhesion",
                                         "dcmotor",  "intvelocity", "connect", "weld",     "joint",   "tendon"};

template <typename List>
bool is_one_of(std::string_view word, const List& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

std::string folder_of(std::string_view file) {
  return std::string(file.substr(0, file.size() - without_directory(file).size()));
}

std::size_t count_elements(const XmlElement& element) {
  std::size_t count = 1;
  for (const XmlElement& child : element.children) count += count_elements(child);
  return count;
}

void set_attribute(XmlElement& element, const char* name, const std::string& value) {
  for (XmlAttribute& attribute : element.attributes) {
    if (attribute.name == name) {
      attribute.value = value;
      return;
    }
  }
  element.attributes.push_back({name, value});
}

// The element with this tag and name, and the class that it is in by what contains it.
const XmlElement* find_named(const XmlElement& within, std::string_view tag, std::string_view wanted,
                             std::string& childclass) {
  for (const XmlElement& child : within.children) {
    const XmlAttribute* name = child.find("name");
    if (child.tag == tag && name != nullptr && name->value == wanted) return &child;
    std::string inner = childclass;
    if (const XmlAttribute* own = child.find("childclass")) inner = own->value;
    if (const XmlElement* found = find_named(child, tag, wanted, inner)) {
      childclass = inner;
      return found;
    }
  }
  return nullptr;
}

class Attacher {
 public:
  Attacher(const XmlFiles& files, Notes& notes) : files_(files), notes_(notes) {}

  // Replaces what a document attaches, which is in `folder`; `depth` documents attach it.
  void expand(XmlElement& root, const std::string& folder, int depth);

  std::vector<AttachedModel> take() { return std::move(models_); }

 private:
  using Models = std::map<std::string, std::string, std::less<>>;  // <asset><model>: file by name

  Models models_of(const XmlElement& root, const std::string& folder);
  void replace_in(XmlElement& element, XmlElement& root, const Models& models, const std::string& folder, int depth);
  XmlElement attached(const XmlElement& element, XmlElement& root, const Models& models, const std::string& folder,
                      int depth);
  XmlFiles::const_iterator find_file(const std::string& folder, const std::string& file) const;
  const std::pair<const std::string, XmlElement>& parsed(const XmlElement& element, const std::string& folder,
                                                         const std::string& wanted);
  void make_own(XmlElement& model, int document, const std::string& prefix);
  void rename(XmlElement& element, int document, const std::set<std::string>& main_names, const std::string& prefix);
  XmlElement content_of(const XmlElement& attach, const XmlElement& model, int document, const std::string& prefix);
  void move_sections(XmlElement& model, Names& names, XmlElement& root);

  const XmlFiles& files_;
  Notes& notes_;
  std::map<std::string, XmlElement, std::less<>> parsed_;  // by file
  std::vector<AttachedModel> models_;
  std::size_t elements_ = 0;
};

void Attacher::expand(XmlElement& root, const std::string& folder, int depth) {
  const Models models = models_of(root, folder);
  for (std::size_t i = 0; i < root.children.size(); ++i) {
    if (root.children[i].tag != "worldbody") continue;
    XmlElement world = std::move(root.children[i]);  // sections are added to the root meanwhile
    replace_in(world, root, models, folder, depth);
    root.children[i] = std::move(world);
  }
}

// A model without a name has that of its document. Files are parsed when something is attached.
Attacher::Models Attacher::models_of(const XmlElement& root, const std::string& folder) {
  Models models;
  for (const XmlElement& section : root.children) {
    if (section.tag != "asset") continue;
    for (const XmlElement& element : section.children) {
      if (element.tag != "model") continue;
      const XmlAttribute *file = element.find("file"), *name = element.find("name");
      if (file == nullptr || file->value.empty()) refuse(element, "file", "is required");
      std::string of = name == nullptr ? "" : name->value;
      if (of.empty() && find_file(folder, file->value) != files_.end()) {
        const XmlAttribute* own = parsed(element, folder, file->value).second.find("model");
        of = own == nullptr ? "" : own->value;
      }
      if (!of.empty() && !models.emplace(of, file->value).second)
        refuse(element, "name", "names a model a second time");
    }
  }
  return models;
}

void Attacher::replace_in(XmlElement& element, XmlElement& root, const Models& models, const std::string& folder,
                          int depth) {
  for (XmlElement& child : element.children) {
    if (child.tag == "attach") {
      XmlElement frame = attached(child, root, models, folder, depth);
      child = std::move(frame);
    } else {
      replace_in(child, root, models, folder, depth);
    }
  }
}

XmlFiles::const_iterator Attacher::find_file(const std::string& folder, const std::string& file) const {
  for (const std::string& name : {folder + file, file, std::string(without_directory(file))}) {
    const auto found = files_.look_up(name);
    if (found != files_.end()) return found;
  }
  return files_.end();
}

// The document of a file, for `element`, which asks for it.
const std::pair<const std::string, XmlElement>& Attacher::parsed(const XmlElement& element, const std::string& folder,
                                                                 const std::string& wanted) {
  const auto file = find_file(folder, wanted);
  if (file == files_.end()) {
    refuse(element, element.tag == "attach" ? "model" : "file",
           "is of the file \"" + wanted.substr(0, 64) + "\", which is not among the " + std::to_string(files_.size()) +
               " assets of the request");
  }
  if (const auto known = parsed_.find(file->first); known != parsed_.end()) return *known;
  Result<XmlElement> read = read_xml(file->second, files_, file->first);
  if (!read.ok()) throw ImportFailure{read.error()};
  if (read.value().tag != "mujoco") refuse(read.value(), "", "is not the root of a MuJoCo document, which is <mujoco>");
  return *parsed_.emplace(file->first, std::move(read.value())).first;
}

XmlElement Attacher::attached(const XmlElement& element, XmlElement& root, const Models& models,
                              const std::string& folder, int depth) {
  for (const XmlAttribute& attribute : element.attributes) {
    if (!is_one_of(attribute.name, std::initializer_list<std::string_view>{"model", "body", "frame", "prefix"})) {
      notes_.unknown(element, attribute.name, "is not an attribute that this element has");
    }
  }
  if (element.find("prefix") == nullptr) refuse(element, "prefix", "is required");
  if (element.find("body") != nullptr && element.find("frame") != nullptr) {
    refuse(element, "frame", "is given together with body");
  }
  if (depth >= kMaxIncludeDepth) {
    refuse(element, "model", "is more than " + std::to_string(kMaxIncludeDepth) + " documents deep");
  }
  const XmlAttribute* name = element.find("model");
  if (name == nullptr) refuse(element, "model", "is required: a document does not attach parts of itself");
  const auto wanted = models.find(name->value);
  if (wanted == models.end()) refuse(element, "model", "names a model that does not exist");
  const auto& [file, source] = parsed(element, folder, wanted->second);
  elements_ += count_elements(source);
  if (elements_ > static_cast<std::size_t>(kMaxXmlElements)) {
    refuse(element, "",
           "is too much: all models of a document may have " + std::to_string(kMaxXmlElements) + " elements");
  }
  XmlElement model = source;
  const std::string own_folder = folder_of(file);
  expand(model, own_folder, depth + 1);
  copy_references(model);
  models_.emplace_back();
  models_.back().folder = own_folder;
  const int document = static_cast<int>(models_.size());
  const std::string& prefix = element.find("prefix")->value;
  make_own(model, document, prefix);
  XmlElement frame = content_of(element, model, document, prefix);
  frame.document = document, frame.file = element.file, frame.line = element.line;
  Names names = names_in(frame);
  move_sections(model, names, root);
  return frame;
}

// Gives all of a model that was parsed anew its document, its classes and its prefix.
void Attacher::make_own(XmlElement& model, int document, const std::string& prefix) {
  XmlElement defaults;
  defaults.tag = "default";
  defaults.attributes.push_back({"class", main_class_of(document)});
  std::set<std::string> main_names{"main"};
  for (XmlElement& section : model.children) {
    if (section.tag != "default") continue;
    if (const XmlAttribute* name = section.find("class")) main_names.insert(name->value);
    defaults.file = section.file, defaults.line = section.line;
  }
  rename(model, document, main_names, prefix);
  AttachedModel& kept = models_[static_cast<std::size_t>(document - 1)];
  for (XmlElement& section : model.children) {
    if (section.tag == "compiler") kept.compiler.push_back(section);
    if (section.tag != "default") continue;
    std::move(section.children.begin(), section.children.end(), std::back_inserter(defaults.children));
  }
  defaults.document = document;
  kept.defaults = std::move(defaults);
}

// What was attached to the model has its document already; its names get this prefix too.
void Attacher::rename(XmlElement& element, int document, const std::set<std::string>& main_names,
                      const std::string& prefix) {
  const bool is_own = element.document == 0;
  for (XmlAttribute& attribute : element.attributes) {
    if (attribute.name == "name") {
      if (!attribute.value.empty()) attribute.value = prefix + attribute.value;
      continue;
    }
    const std::optional<NameKind> kind = kind_of_reference(element, attribute.name);
    if (!kind) continue;
    if (*kind != NameKind::kClass) {
      if (*kind != NameKind::kBody || attribute.value != "world") attribute.value = prefix + attribute.value;
    } else if (is_own) {
      attribute.value = main_names.contains(attribute.value) ? main_class_of(document)
                                                             : main_class_of(document) + "/" + attribute.value;
    }
  }
  for (XmlElement& child : element.children) {
    const bool is_asset = element.tag == "asset" && (child.tag == "mesh" || child.tag == "hfield");
    const XmlAttribute* file = child.find("file");
    if (is_asset && child.document == 0 && child.find("name") == nullptr && file != nullptr) {
      set_attribute(child, "name", std::string(asset_name(file->value)));  // the prefix follows
    }
    rename(child, document, main_names, prefix);
    const bool is_in_section = element.tag == "asset" || is_one_of(element.tag, kReferringSections);
    if (is_own && is_in_section && is_one_of(child.tag, kClassed) && child.find("class") == nullptr) {
      set_attribute(child, "class", main_class_of(document));
    }
  }
  if (is_own) element.document = document;
}

// A frame around what is attached, in the class that it is in where it comes from.
XmlElement Attacher::content_of(const XmlElement& attach, const XmlElement& model, int document,
                                const std::string& prefix) {
  XmlElement frame;
  frame.tag = "frame";
  for (const char* tag : {"body", "frame"}) {
    const XmlAttribute* name = attach.find(tag);
    if (name == nullptr) continue;
    for (const XmlElement& section : model.children) {
      if (section.tag != "worldbody") continue;
      const XmlAttribute* of_world = section.find("childclass");
      std::string childclass = of_world == nullptr ? main_class_of(document) : of_world->value;
      const XmlElement* found = find_named(section, tag, prefix + name->value, childclass);
      if (found == nullptr) continue;
      frame.children.push_back(*found);
      set_attribute(frame, "childclass", childclass);
      return frame;
    }
    refuse(attach, tag, std::string("names a ") + tag + " that the model does not have");
  }
  for (const XmlElement& section : model.children) {
    if (section.tag != "worldbody") continue;
    XmlElement part;
    part.tag = "frame", part.document = document, part.file = section.file, part.line = section.line;
    const XmlAttribute* of_world = section.find("childclass");
    part.attributes.push_back({"childclass", of_world == nullptr ? main_class_of(document) : of_world->value});
    part.children = section.children;
    frame.children.push_back(std::move(part));
  }
  return frame;
}

// Of sections that refer to bodies goes along what refers to `names` alone, to which its own names are added.
void Attacher::move_sections(XmlElement& model, Names& names, XmlElement& root) {
  for (std::string_view tag : kReferringSections) {
    for (XmlElement& section : model.children) {
      if (section.tag != tag) continue;
      std::erase_if(section.children, [&](XmlElement& element) {
        bool is_within = true;
        for_each_reference(element, [&](NameKind kind, std::string& value) {
          is_within = is_within && names.contains({kind, value});
        });
        const XmlAttribute* name = element.find("name");
        const std::optional<NameKind> kind = kind_of_section(tag);
        if (is_within && name != nullptr && kind) names.emplace(*kind, name->value);
        return !is_within;
      });
      root.children.push_back(std::move(section));
    }
  }
  for (XmlElement& section : model.children) {
    const std::string_view tag = section.tag;
    if (tag.empty() || is_one_of(tag, kReferringSections) || is_one_of(tag, kLeftBehind)) continue;
    if (tag == "worldbody" || tag == "compiler" || tag == "default") continue;
    if (tag == "keyframe") {
      for (const XmlElement& key : section.children) {
        notes_.warn(key, "", "is left out: keyframes of attached models are not taken over");
      }
      continue;
    }
    if (tag == "asset") std::erase_if(section.children, [](const XmlElement& asset) { return asset.tag == "model"; });
    root.children.push_back(std::move(section));
  }
}

}  // namespace

std::string main_class_of(int document) { return document == 0 ? "main" : "attached " + std::to_string(document); }

std::vector<AttachedModel> attach_models(XmlElement& root, const XmlFiles& files, Notes& notes) {
  Attacher attacher(files, notes);
  attacher.expand(root, "", 0);
  return attacher.take();
}

}  // namespace axion::import
