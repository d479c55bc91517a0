// Links and joints of a URDF document, by name and as the tree that they must form.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <string>
#include <vector>

#include "engine/import/mjcf_attributes.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {

enum class UrdfJointType { kRevolute, kContinuous, kPrismatic, kFixed, kFloating, kPlanar, kSpherical };

struct UrdfJoint {
  const XmlElement* element = nullptr;
  std::string name;
  UrdfJointType type = UrdfJointType::kFixed;
  int parent = -1, child = -1;  // links
};

struct UrdfLink {
  const XmlElement* element = nullptr;
  std::string name;
  int joint = -1;             // that carries it; a root has none
  std::vector<int> children;  // joints, in the order of the document
  bool is_world = false;      // a root called "world"
  // The link that it is fixed to, through fixed joints alone: itself where it can move, the root where it is held by
  // the world.
  int rigid_root = -1;
  bool is_held = false;  // by the world
  model::Pose X_WL;
};

struct UrdfTree {
  std::vector<UrdfLink> links;
  std::vector<UrdfJoint> joints;
  std::vector<int> order;  // of links: depth first, parents before children
};

// `X_WR`: of roots.
UrdfTree read_urdf_tree(const XmlElement& robot, bool free_base, const model::Pose& X_WR, Notes& notes);

}  // namespace axion::import
