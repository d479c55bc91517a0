#include "engine/import/mjcf_colors.hpp"

#include <algorithm>
#include <sstream>

namespace axion::import {
namespace {

constexpr Color kGrey{0.5f, 0.5f, 0.5f, 1.0f};

// Attributes, the innermost that has it: three numbers and, perhaps, a fourth, from 0 to 1.
std::optional<Color> color_in(const Attributes& attributes) {
  const XmlAttribute* given = attributes.where("rgba").find("rgba");
  if (given == nullptr) return std::nullopt;
  Color color{0, 0, 0, 1};
  std::istringstream numbers(given->value);
  numbers.imbue(std::locale::classic());
  std::size_t count = 0;
  for (float number = 0; count < color.size() && numbers >> number; ++count) color[count] = number;
  const bool valid = count >= 3 && std::all_of(color.begin(), color.end(), [](float c) { return c >= 0 && c <= 1; });
  return valid ? std::optional(color) : std::nullopt;
}

}  // namespace

Materials::Materials(const XmlElement& root, const DefaultClasses& defaults) {
  for (const XmlElement& section : root.children) {
    if (section.tag != "asset") continue;
    for (const XmlElement& element : section.children) {
      const XmlAttribute* name = element.tag == "material" ? element.find("name") : nullptr;
      if (name == nullptr) continue;
      const XmlAttribute* own_class = element.find("class");
      const bool known = own_class == nullptr || defaults.has(own_class->value);
      const Attributes all =
          known ? defaults.attributes(element, DefaultClasses::kMain, {"material"}) : Attributes(element);
      const std::optional<Color> color = color_in(all);
      if (color && !all.has("texture")) colors_.emplace(name->value, *color);
    }
  }
}

std::optional<Color> Materials::of(const Attributes& geom) const {
  const std::optional<Color> own = color_in(geom);
  if (own && *own != kGrey) return own;
  const auto material = colors_.find(geom.text("material", ""));
  return material == colors_.end() ? own : std::optional(material->second);
}

}  // namespace axion::import
