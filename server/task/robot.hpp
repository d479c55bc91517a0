// What of a model tasks name: bodies of its scene, whatever they are welded to, coordinates of joints, actuators.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "engine/math/mat3.hpp"
#include "engine/math/quat.hpp"
#include "engine/math/vec3.hpp"

namespace axion::server::task {

using Vec3 = math::Vec3<double>;
using Mat3 = math::Mat3<double>;

// A body of the scene as it was given.
struct BodyPart {
  std::string name;
  int owner = model::kWorldBody;  // index into the body fields
  Vec3 p_owner{};                 // m, its origin in the owner's frame
  Mat3 R_owner = Mat3::identity();
  double mass = 0;  // kg
  Vec3 p_BoBcm{};   // m
  Mat3 I_Bcm{};     // kg m^2
  int root = 0;     // index of the body that hangs on the world and carries this one
};

struct FreeRoot {
  int body = 0;  // index into the body fields
  int position_start = 0, velocity_start = 0;
};

// A range of joint_position and of joint_velocity.
struct Coordinates {
  int position_start = 0, position_count = 0, velocity_start = 0, velocity_count = 0;
  bool is_free = false;
  int joint = 0, axis = -1;  // of the model; -1: all of them
};

struct EffortShare {  // of an actuator's effort on a coordinate
  int actuator = 0, velocity = 0;
  double gear = 1;
};

struct Robot {
  explicit Robot(const ModelInfo& info);
  int find_body(const std::string& name) const;  // -1: none

  std::vector<std::string> joint_names;  // of joints that have coordinates, and of their axes, each once
  std::vector<Coordinates> joints;       // of each of them
  std::vector<BodyPart> bodies;
  std::vector<std::string> body_names;  // of each of them
  std::vector<Vec3> p_BoBcm;            // of the bodies of the fields
  std::vector<int> body_of_shape;       // index into `bodies`; -1: the world
  std::vector<FreeRoot> free_roots;
  std::vector<EffortShare> efforts;
  double mass = 0;  // kg
};

}  // namespace axion::server::task
