// Scenes drawn at random: trees of bodies with every kind of joint, shape and drive, near the ground and each other.
//
// A seed gives one scene, always the same. Bodies start apart, so that contacts come about by motion.
#pragma once

#include <cstdint>
#include <random>

#include "engine/model/scene_spec.hpp"

namespace axion::testing {

struct RandomScene {
  model::SceneSpec scene;
  double dt = 0.01;                    // s
  std::vector<model::Vec3d> v, omega;  // [body] start velocities, world axes
  std::vector<double> control;         // [actuator]
};

enum class Forces {
  kAll,       // gravity, drives, springs, joints to the world
  kInternal,  // no gravity, nothing joined to the world; drives and springs between bodies
};

RandomScene draw_scene(std::uint32_t seed, Forces forces);

// The scene turned by the unit quaternion q, then moved by p.
RandomScene place_elsewhere(const RandomScene& scene, const model::Quatd& q, const model::Vec3d& p);

// The scene with bodies, joints and shapes in another order; body_place[b] is where body b went.
RandomScene renumber(const RandomScene& scene, std::uint32_t seed, std::vector<int>& body_place);

}  // namespace axion::testing
