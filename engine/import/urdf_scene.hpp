// The scene while a URDF document is being read, and the readers of its links and joints.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/import/mjcf_settings.hpp"
#include "engine/import/urdf.hpp"
#include "engine/import/urdf_meshes.hpp"
#include "engine/import/urdf_tree.hpp"

namespace axion::import {

struct UrdfScene {
  Notes& notes;
  const XmlElement& robot;
  const UrdfOptions& options;
  bool allow_unsupported = false;
  MjcfSettings settings;  // of the <mujoco> extension
  UrdfTree tree;
  UrdfMeshes meshes;
  model::SceneSpec spec;
  std::vector<int> body_of_link;                  // [link] body, or kWorldBody
  std::vector<const XmlElement*> body_elements;   // [body]
  std::vector<const XmlElement*> shape_elements;  // [shape]
  std::vector<const XmlElement*> joint_elements;  // [joint of spec]; the link of a joint that holds or frees a root
  std::set<std::string, std::less<>> shape_names;
  bool wants_visuals = false;
  std::vector<Visual> visuals = {};
  std::vector<int> hidden_shapes = {};  // of links that have visuals
};

// Bodies with their mass, and shapes.
void read_urdf_links(UrdfScene& scene);
// What the <visual>s of a link look like; its shapes from `first_shape` on are then not drawn. What cannot be drawn is
// left out: nothing of it moves a robot.
void read_urdf_visuals(UrdfScene& scene, const UrdfLink& link, int body, std::size_t first_shape);
// Joints, in the order of the bodies, and what keeps neighbours apart that the world holds.
void read_urdf_joints(UrdfScene& scene);
// Of a complete scene: links of which shapes overlap at the start are kept apart, with one warning that names them.
// Pairs are looked at in the order of their shapes along x, up to a bound that no robot comes near.
void leave_out_overlaps(UrdfScene& scene, const XmlElement& robot);

}  // namespace axion::import
