// What import_mjcf makes of a file, compared number by number with what MuJoCo makes of it: options, bodies, joints,
// equalities, shapes, actuators and keyframes. For the tests of this folder.
#pragma once

#include <mujoco/mujoco.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/math/vec3.hpp"
#include "engine/model/merge_welds.hpp"

namespace axion::import {

class Comparison {
 public:
  explicit Comparison(const std::string& path);
  void run();

 private:
  struct Freed {
    void operator()(mjModel* m) const { mj_deleteModel(m); }
    void operator()(mjData* d) const { mj_deleteData(d); }
  };

  void compare_options();
  void compare_bodies();
  void compare_merged(int merged, int mujoco);
  void compare_joints();
  void compare_equalities();
  void compare_axis(const model::AxisSpec& axis, const model::BodySpec& child, int j);
  void compare_shapes();
  void compare_actuators();
  void compare_keyframes();
  math::Vec3<double> velocity_of_weld(int merged, math::Vec3<double>& spin);

  std::unique_ptr<mjModel, Freed> m_;
  std::unique_ptr<mjData, Freed> d_;
  model::SceneSpec scene_;
  std::vector<bool> closes_loop_;  // [joint of scene_]
  model::WeldedScene welded_;
  bool loaded_ = false;
};

// Compares a document given as text; `name` is that of a file for MuJoCo to read.
void compare_text(const std::string& name, const std::string& xml);

}  // namespace axion::import
