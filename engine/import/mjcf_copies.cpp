#include "engine/import/mjcf_copies.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "engine/import/mjcf.hpp"
#include "engine/import/mjcf_attributes.hpp"

namespace axion::import {
namespace {

std::optional<NameKind> kind_in_bodies(std::string_view tag) {
  if (tag == "body") return NameKind::kBody;
  if (tag == "joint" || tag == "freejoint") return NameKind::kJoint;
  if (tag == "geom") return NameKind::kGeom;
  if (tag == "site") return NameKind::kSite;
  if (tag == "camera") return NameKind::kCamera;
  return std::nullopt;
}

void check_count(const XmlElement& element, std::size_t copies) {
  if (copies <= static_cast<std::size_t>(kMaxXmlElements)) return;
  refuse(element, "", "has too many copies: all of a document may be " + std::to_string(kMaxXmlElements));
}

// Calls at_replicate(element, names within it), innermost replicates first.
template <typename AtReplicate>
Names walk(const XmlElement& element, const AtReplicate& at_replicate) {
  Names names;
  const XmlAttribute* name = element.find("name");
  const std::optional<NameKind> kind = kind_in_bodies(element.tag);
  if (kind && name != nullptr && !name->value.empty()) names.emplace(*kind, name->value);
  for (const XmlElement& child : element.children) names.merge(walk(child, at_replicate));
  if (element.tag != "replicate") return names;
  at_replicate(element, names);
  const Copies copies = read_copies(element);
  check_count(element, names.size() * static_cast<std::size_t>(copies.count));
  Names all;
  for (int i = 0; i < copies.count; ++i) {
    const std::string suffix = copies.suffix(i);
    for (const auto& [of, text] : names) all.emplace(of, text + suffix);
  }
  return all;
}

class Copier {
 public:
  explicit Copier(XmlElement& root) : root_(root) {}

  // What refers to `names`, which `replicate` makes copies of.
  void copy(const XmlElement& replicate, Names names) {
    const Copies copies = read_copies(replicate);
    for (std::string_view section : kReferringSections) {
      const std::vector<XmlElement> referring = take_referring(section, names);
      if (referring.empty()) continue;
      copies_ += referring.size() * static_cast<std::size_t>(copies.count);
      check_count(replicate, copies_);
      std::vector<XmlElement>& last = last_section(section).children;
      for (int i = 0; i < copies.count; ++i) {
        for (const XmlElement& element : referring) last.push_back(renamed(element, names, copies.suffix(i)));
      }
    }
  }

 private:
  // Takes out what refers to names; the names of what is taken out are added to them.
  std::vector<XmlElement> take_referring(std::string_view section_tag, Names& names) {
    const std::optional<NameKind> kind = kind_of_section(section_tag);
    std::vector<XmlElement> referring;
    for (XmlElement& section : root_.children) {
      if (section.tag != section_tag) continue;
      const auto rest = std::stable_partition(section.children.begin(), section.children.end(), [&](XmlElement& e) {
        bool refers = false;
        for_each_reference(e, [&](NameKind of, std::string& value) { refers |= names.contains({of, value}); });
        return !refers;
      });
      std::move(rest, section.children.end(), std::back_inserter(referring));
      section.children.erase(rest, section.children.end());
    }
    for (const XmlElement& element : referring) {
      if (const XmlAttribute* name = element.find("name"); name != nullptr && kind) names.emplace(*kind, name->value);
    }
    return referring;
  }

  XmlElement& last_section(std::string_view tag) {
    const auto last = std::find_if(root_.children.rbegin(), root_.children.rend(),
                                   [&](const XmlElement& section) { return section.tag == tag; });
    return *last;  // what was taken out came from one
  }

  static XmlElement renamed(XmlElement element, const Names& names, const std::string& suffix) {
    for (XmlAttribute& attribute : element.attributes) {
      if (attribute.name == "name" && !attribute.value.empty()) attribute.value += suffix;
    }
    for_each_reference(element, [&](NameKind kind, std::string& value) {
      if (names.contains({kind, value})) value += suffix;
    });
    return element;
  }

  XmlElement& root_;
  std::size_t copies_ = 0;
};

}  // namespace

Names names_in(const XmlElement& element) {
  return walk(element, [](const XmlElement&, const Names&) {});
}

void copy_references(XmlElement& root) {
  const bool refers = std::any_of(root.children.begin(), root.children.end(), [](const XmlElement& section) {
    return !section.children.empty() && std::find(std::begin(kReferringSections), std::end(kReferringSections),
                                                  section.tag) != std::end(kReferringSections);
  });
  if (!refers) return;
  Copier copier(root);
  for (std::size_t i = 0; i < root.children.size(); ++i) {
    if (root.children[i].tag != "worldbody") continue;
    walk(root.children[i], [&](const XmlElement& replicate, const Names& names) { copier.copy(replicate, names); });
  }
}

}  // namespace axion::import
