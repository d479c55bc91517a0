#include "engine/import/urdf_tree.hpp"

#include <map>

#include "engine/import/mjcf.hpp"
#include "engine/import/urdf_elements.hpp"

namespace axion::import {
namespace {

class TreeReader {
 public:
  TreeReader(const XmlElement& robot, Notes& notes) : robot_(robot), notes_(notes) {}

  UrdfTree read(bool free_base, const model::Pose& X_WR) {
    for (const XmlElement& child : robot_.children) {
      if (child.tag == "link") read_link(child);
    }
    if (tree_.links.empty()) refuse(robot_, "", "has no <link>");
    for (const XmlElement& child : robot_.children) {
      if (child.tag == "joint") read_joint(child);
    }
    walk();
    refuse_cycles();
    place(free_base, X_WR);
    return std::move(tree_);
  }

 private:
  void read_link(const XmlElement& element);
  void read_joint(const XmlElement& element);
  int link_of(const XmlElement& joint, const char* tag) const;
  void walk();
  void refuse_cycles() const;
  void place(bool free_base, const model::Pose& X_WR);

  UrdfLink& link(int index) { return tree_.links[static_cast<std::size_t>(index)]; }
  const UrdfJoint& joint(int index) const { return tree_.joints[static_cast<std::size_t>(index)]; }

  const XmlElement& robot_;
  Notes& notes_;
  UrdfTree tree_;
  std::map<std::string, int, std::less<>> link_index_;
  std::map<std::string, const XmlElement*, std::less<>> joint_names_;
};

void TreeReader::read_link(const XmlElement& element) {
  UrdfLink link;
  link.element = &element;
  link.name = require_text(element, "name");
  if (tree_.links.size() >= static_cast<std::size_t>(kMaxBodies)) {
    refuse(element, "", "is one link too many: a robot may have " + std::to_string(kMaxBodies));
  }
  if (!link_index_.emplace(link.name, static_cast<int>(tree_.links.size())).second) {
    refuse(element, "name", "names a link a second time");
  }
  tree_.links.push_back(std::move(link));
}

int TreeReader::link_of(const XmlElement& joint, const char* tag) const {
  const XmlElement& end = require_child(joint, tag);
  const std::string name = require_text(end, "link");
  const auto found = link_index_.find(name);
  if (found == link_index_.end()) refuse(end, "link", "of " + describe(joint) + " is no link of the robot");
  return found->second;
}

void TreeReader::read_joint(const XmlElement& element) {
  UrdfJoint joint;
  joint.element = &element;
  joint.name = require_text(element, "name");
  if (!joint_names_.emplace(joint.name, &element).second) refuse(element, "name", "names a joint a second time");
  require_text(element, "type");
  joint.type = static_cast<UrdfJointType>(Attributes(element).keyword(
      "type", {"revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical"}, 0));
  joint.parent = link_of(element, "parent");
  joint.child = link_of(element, "child");
  UrdfLink& child = link(joint.child);
  if (child.joint >= 0) {
    refuse(element, "",
           "has the child \"" + child.name.substr(0, 64) + "\", which is already that of " +
               describe(*this->joint(child.joint).element) + ": a link has one parent");
  }
  child.joint = static_cast<int>(tree_.joints.size());
  link(joint.parent).children.push_back(child.joint);
  tree_.joints.push_back(std::move(joint));
}

// From the roots on, without recursion: a chain may be as long as there are links.
void TreeReader::walk() {
  const UrdfLink* first = nullptr;
  std::vector<int> stack;
  for (std::size_t root = 0; root < tree_.links.size(); ++root) {
    UrdfLink& at_root = tree_.links[root];
    if (at_root.joint >= 0) continue;
    if (first != nullptr) {
      notes_.warn(*at_root.element, "",
                  "is a root beside \"" + first->name.substr(0, 64) + "\": no joint has it as its child");
    }
    first = first == nullptr ? &at_root : first;
    at_root.is_world = at_root.name == "world";
    stack.push_back(static_cast<int>(root));
    while (!stack.empty()) {
      const int at = stack.back();
      stack.pop_back();
      tree_.order.push_back(at);
      const std::vector<int>& children = link(at).children;
      for (std::size_t k = children.size(); k-- > 0;) stack.push_back(joint(children[k]).child);
    }
  }
}

void TreeReader::refuse_cycles() const {
  if (tree_.order.size() == tree_.links.size()) return;
  std::vector<bool> reached(tree_.links.size(), false);
  for (int link : tree_.order) reached[static_cast<std::size_t>(link)] = true;
  // Up from a link that no root reaches, until one comes again: it is part of the cycle.
  std::size_t at = 0;
  while (reached[at]) ++at;
  while (!reached[at]) {
    reached[at] = true;
    at = static_cast<std::size_t>(joint(tree_.links[at].joint).parent);
  }
  refuse(*joint(tree_.links[at].joint).element, "", "closes a cycle of links: a robot must be a tree");
}

void TreeReader::place(bool free_base, const model::Pose& X_WR) {
  for (int index : tree_.order) {
    UrdfLink& at = link(index);
    if (at.joint < 0) {
      if (at.is_world && free_base) notes_.warn(*at.element, "", "is the world, which holds what is fixed to it");
      at.X_WL = X_WR;
      at.rigid_root = index;
      at.is_held = at.is_world || !free_base;
      continue;
    }
    const UrdfJoint& by = joint(at.joint);
    const UrdfLink& parent = link(by.parent);
    at.X_WL = parent.X_WL * read_origin(*by.element);
    const bool fixed = by.type == UrdfJointType::kFixed;
    at.rigid_root = fixed ? parent.rigid_root : index;
    at.is_held = fixed && parent.is_held;
  }
}

}  // namespace

UrdfTree read_urdf_tree(const XmlElement& robot, bool free_base, const model::Pose& X_WR, Notes& notes) {
  return TreeReader(robot, notes).read(free_base, X_WR);
}

}  // namespace axion::import
