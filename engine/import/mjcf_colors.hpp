// What geoms are drawn in: `rgba` of a geom, or of its material.
//
// Nothing of it moves a world, so nothing of it is refused: what is no colour is none. Used inside engine/import only.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/import/mjcf.hpp"
#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/mjcf_defaults.hpp"

namespace axion::import {

class Materials {
 public:
  // Reads the materials among the assets; the document and its defaults outlive this.
  Materials(const XmlElement& root, const DefaultClasses& defaults);

  // As MuJoCo: the geom's own where it is not the grey that the format has by default, else that of its material,
  // unless a texture is its colour. Nothing where neither is given.
  std::optional<Color> of(const Attributes& geom) const;

 private:
  std::map<std::string, Color, std::less<>> colors_;  // of materials that have one
};

}  // namespace axion::import
