// The scenes of the robustness table, each with what drives it.
//
// A scene is run in episodes: an episode starts anew with its own number, which moves the start and picks what the
// scene varies. Angles in radians, SI units. Robots come from MJCF files in a directory that the caller names.
#pragma once

#include <string>
#include <vector>

#include "engine/model/scene_spec.hpp"

namespace axion::bench {

struct RobustnessScene {
  std::string name;
  std::string model;            // MJCF file in the directory of models; empty: built here
  double episode_seconds = 10;  // then the next episode starts
  double random_control = 0;    // share of each control's range that is drawn anew at every step
  bool passive = true;          // nothing drives it: energy may only fall
};

// All scenes, in the order of the table.
const std::vector<RobustnessScene>& robustness_scenes();

// Builds a scene; `models` is the directory of MJCF files. Throws std::runtime_error naming what cannot be read.
model::SceneSpec build_scene(const RobustnessScene& scene, const std::string& models, int episode);

// Constant controls of an episode, in the order of the scene's actuators; robots of MJCF files get zeros.
std::vector<double> constant_controls(const RobustnessScene& scene, const model::SceneSpec& spec, int episode);

}  // namespace axion::bench
