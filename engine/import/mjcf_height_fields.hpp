// The height fields of <asset>: found by name, and read when a geom first needs one.
//
// Files come by name, as those of meshes do (mjcf_meshes.hpp). Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <map>
#include <set>
#include <string>

#include "engine/import/mjcf_defaults.hpp"
#include "engine/import/mjcf_settings.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::import {

class HeightFieldAssets {
 public:
  HeightFieldAssets(const XmlElement& root, const DocumentSettings& documents, const XmlFiles& files);

  // Whether the heights are at hand: in the document, or sent along. Refuses a name that is not there.
  bool is_given(const Attributes& geom) const;
  // Adds the height field that a geom names to `fields`, unless it is there; refuses one that cannot be read.
  void add_to(const Attributes& geom, std::vector<model::HeightFieldSpec>& fields);

 private:
  const Attributes& asset(const Attributes& geom) const;

  const DocumentSettings& documents_;
  const XmlFiles& files_;
  std::map<std::string, Attributes, std::less<>> assets_;
  std::set<std::string, std::less<>> in_scene_;
};

}  // namespace axion::import
