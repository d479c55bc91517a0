// What a client may ask of worlds between steps, besides their fields: rays, distances of shapes, Jacobians and mass
// matrices. Part of engine/engine.hpp, which includes it. Nothing of a world changes.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/model/scene_spec.hpp"

namespace axion {

// Rays of each world, from an origin along a direction of any length above zero.
struct RayQuery {
  std::span<const double> origins, directions;  // [worlds or 1][rays][3]; 1: the same for all worlds
  int rays = 0;
  // The frame of origins and directions: the world, or a body's frame; of that its heading alone where asked, that is
  // its origin and its rotation about the vertical: what a map of heights about a robot is read in.
  int body = -1;
  bool heading_only = false;
  double max_distance = std::numeric_limits<double>::infinity();  // m
  std::vector<int> ignored_bodies;                                // ModelInfo::bodies, -1 the world
};

// [worlds][rays]
struct RayHits {
  std::span<double> distance;     // m, -1 where a ray meets nothing
  std::span<std::int32_t> shape;  // ModelInfo::shapes, -1 where it meets nothing
};

struct ShapePairQuery {
  int shape_a = 0, shape_b = 0;
};

// [worlds][pairs]
struct PairDistances {
  std::span<double> distance;          // m, negative: depth; max_distance where it is more
  std::span<double> point_a, point_b;  // [3] m, world frame: the nearest points; zero where they are further apart
};

// Of the joint tree, in the coordinates of joint_velocity; joints that close loops have no part in it.
struct DynamicsQuery {
  std::vector<model::FrameSpec> frames;  // in bodies of ModelInfo
  bool mass_matrix = false, bias_force = false;
};

// Empty spans are left out.
struct Dynamics {
  std::span<double> frame_pose;   // [worlds][frames][7] x y z w x y z in the world
  std::span<double> jacobian;     // [worlds][frames][6][nv] velocity of the frame's origin, then angular, world axes
  std::span<double> mass_matrix;  // [worlds][nv][nv]
  std::span<double> bias_force;   // [worlds][nv] of inertia and weight: M dv/dt + bias = forces along the coordinates
};

}  // namespace axion
