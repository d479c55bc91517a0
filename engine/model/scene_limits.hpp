// Limits of a scene. They bound the work and the memory of a compilation, not of a device.
#pragma once

#include <cstddef>

namespace axion::model {

inline constexpr int kMaxSceneBodies = 4096;
inline constexpr int kMaxSceneJoints = 4096;
inline constexpr int kMaxFluidEllipsoids = 64;  // of a body
inline constexpr int kMaxSceneShapes = 16384;
inline constexpr int kMaxSceneMeshes = 4096;
inline constexpr int kMaxMeshVertices = 1 << 18;  // points that a mesh is given by
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

}  // namespace axion::model
