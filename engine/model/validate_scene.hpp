// validate_scene: whether a SceneSpec describes a scene that can be compiled.
//
// Checks every number for finiteness and range, every index, every name, the joint tree, loops and the limits of
// scene_limits.hpp. Pure; may be called by anyone. The first fault found is returned: `field` is its path
// ("bodies[3].mass") and the message has the value. Safe on hostile input: no recursion, at most O(n log n) in the
// size of the scene, besides the walk up the tree that finds loops: joints times depth.
#pragma once

#include "engine/base/result.hpp"
#include "engine/model/parameters.hpp"
#include "engine/model/scene_limits.hpp"
#include "engine/model/scene_spec.hpp"
#include "engine/model/validate_inertia.hpp"

namespace axion::model {

// No length, mass, gain, ... may be larger: products of a few of them must stay finite, in float32 as well.
inline constexpr double kMaxMagnitude = 1e9;
inline constexpr double kMinMass = 1e-12;  // kg
// Smallest triple product (or sine) of unit axes that counts as linearly independent.
inline constexpr double kMinAxisVolume = 1e-3;

Status validate_scene(const SceneSpec& scene);
// Whether a scene that was valid still is once numbers of these parameters have changed: only what has such numbers is
// checked.
Status validate_numbers(const SceneSpec& scene, ParameterSet changed);

}  // namespace axion::model
