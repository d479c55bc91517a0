// What an importer makes of a file, compared number by number with what MuJoCo makes of it: options, bodies, joints,
// equalities, shapes, how contacts and limits give way, actuators and keyframes. For the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "engine/import/mjcf.hpp"
#include "engine/math/vec3.hpp"
#include "engine/model/merge_welds.hpp"
#include "tests/support/mujoco_model.hpp"

namespace axion::import {

class Comparison {
 public:
  explicit Comparison(const std::string& xml);
  // Of a document that another importer has read.
  Comparison(const std::string& xml, Result<ImportedScene> imported);
  void run();

 private:
  void compare_options();
  void compare_bodies();
  void compare_merged(int merged, int mujoco);
  void compare_joints();
  void compare_equalities();
  void compare_axis(const model::AxisSpec& axis, const model::BodySpec& child, int j);
  void compare_shapes();
  void compare_softness();
  void compare_actuators();
  void compare_keyframes();
  math::Vec3<double> velocity_of_weld(int merged, math::Vec3<double>& spin);

  testing::MujocoModel m_;
  testing::MujocoData d_;
  model::SceneSpec scene_;
  std::vector<bool> closes_loop_;  // [joint of scene_]
  model::WeldedScene welded_;
  bool loaded_ = false;
};

// All comparisons of a document.
void compare(const std::string& xml);

}  // namespace axion::import
