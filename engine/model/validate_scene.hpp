// validate_scene: whether a SceneSpec describes a scene that can be compiled.
//
// Checks every number for finiteness and range, every index, every name, the joint tree, loops and the limits below.
// Pure; may be called by anyone. The first fault found is returned: `field` is its path ("bodies[3].mass") and the
// message has the value. Safe on hostile input: no recursion, at most O(n log n) in the size of the scene, besides the
// walk up the tree that finds loops: joints times depth.
#pragma once

#include <cstddef>

#include "engine/base/result.hpp"
#include "engine/model/scene_spec.hpp"
#include "engine/model/validate_inertia.hpp"

namespace axion::model {

// Limits of a scene. They bound the work and the memory of a compilation, not of a device.
inline constexpr int kMaxSceneBodies = 4096;
inline constexpr int kMaxSceneJoints = 4096;
inline constexpr int kMaxFluidEllipsoids = 64;  // of a body
inline constexpr int kMaxSceneShapes = 16384;
inline constexpr int kMaxSceneMeshes = 4096;
inline constexpr int kMaxSceneHeightFields = 256;
inline constexpr int kMaxFieldHeights = 1 << 20;       // of one height field,
inline constexpr int kMaxSceneFieldHeights = 1 << 21;  // and of all of a scene
inline constexpr int kMaxSceneActuators = 16384;
inline constexpr int kMaxSceneExcludes = 65536;
inline constexpr int kMaxSceneKeyframes = 1024;
inline constexpr int kMaxSceneContactPairs = 65536;
inline constexpr int kMaxSceneTendons = 1024;
inline constexpr int kMaxSceneEqualities = 1024;
inline constexpr int kMaxTendonTerms = 256;   // of one tendon
inline constexpr int kMaxTendonPoints = 256;  // of one tendon's path
inline constexpr int kMaxSceneTerms = 16384;  // of all tendons and equalities
inline constexpr int kMaxSceneSensors = 16384;
inline constexpr int kMaxUserSensor = 1024;  // numbers
inline constexpr int kMaxContactSlots = 64;
inline constexpr int kMaxSensorData = 65536;  // numbers of all sensors together
inline constexpr int kMaxShapesWithPairs =
    1024;  // of a scene that has contact pairs: all pairs of its shapes are then listed
inline constexpr std::size_t kMaxNameBytes = 256;
inline constexpr int kMaxAxesPerJoint = 3;  // slides and hinges together: what the joint rows have room for

// No length, mass, gain, ... may be larger: products of a few of them must stay finite, in float32 as well.
inline constexpr double kMaxMagnitude = 1e9;
inline constexpr double kMinMass = 1e-12;   // kg
inline constexpr double kMinLength = 1e-9;  // m, of a shape's size
// Smallest triple product (or sine) of unit axes that counts as linearly independent.
inline constexpr double kMinAxisVolume = 1e-3;

Status validate_scene(const SceneSpec& scene);

}  // namespace axion::model
