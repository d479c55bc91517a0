// URDF (robots of ROS) to SceneSpec.
//
// Links become bodies, joints joints, collision geometry shapes; what is for the eye becomes visuals, which move
// nothing. What each element becomes is listed in docs/urdf.md. Masses, inertias, frames, axes and ranges are as
// MuJoCo's reader of the format finds them.
//
// Bodies come depth first, children in the order of their joints in the document. Errors name the element, its line,
// the attribute and the value, as those of import_mjcf do; so do its limits on hostile input hold. Throws nothing. May
// be called by anyone, from any thread.
#pragma once

#include <string_view>

#include "engine/import/mjcf.hpp"

namespace axion::import {

// What the format has no words for.
struct UrdfOptions {
  bool free_base =
      false;             // the root link moves freely; else it is held by the world, as a link called "world" always is
  model::PoseSpec X_WR;  // of the root link, in the world
  bool ground = false;   // a plane at z = 0 of the world, called "ground"
  bool self_collision = true;  // links that are not neighbours may touch each other
  bool keep_overlaps = false;  // links that overlap at the start may collide
  bool massless = false;       // a link without <inertial> has no mass, whatever it collides with
  bool motors = false;         // a motor along every axis, by the name of the joint, within its limit of effort
};

// `options.assets` are the files of meshes: by the name in the document, or by it without "package://", directories or
// scheme.
Result<ImportedScene> import_urdf(std::string_view xml, const ImportOptions& options = {},
                                  const UrdfOptions& urdf = {});

}  // namespace axion::import
