// The names that the engine's face and the step code share: element types, fields of a batch, outcomes of a world.
//
// Part of engine/engine.hpp, which includes it; a header of its own because step code fills fields and sets outcomes on
// devices where the rest of that header means nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace axion {

enum class DType : std::uint8_t { kFloat32, kFloat64, kInt32, kUint32, kInt64 };

// Arrays of a batch that can be read. Reals have the batch's precision unless stated.
enum class Field : std::uint8_t {
  kBodyPose,       // [nb, 7] x y z, then quaternion w x y z of the body frame, world frame
  kBodyVelocity,   // [nb, 6] linear velocity of the centre of mass, then angular, world frame
  kJointPosition,  // [nq] free: x y z qw qx qy qz of the body frame; ball: quaternion; axis: coordinate
  kJointVelocity,  // [nv] free: as body_velocity; ball: angular velocity, parent frame; axis: rate
  kJointImpulse,   // [nj, 6] impulse of the last step on the child, force part then torque about its centre of mass
  kControl,        // [nu] last applied
  kContactCount,   // [] int32
  kOutcome,        // [] uint32, bits of Outcome
  kTime,           // [] float64, s
  kStepIndex,      // [] int64
};
inline constexpr int kFieldCount = 10;

// Bits of the outcome of a world's last step request; OR over its steps, except kConverged (AND over them).
enum Outcome : std::uint32_t {
  kConverged = 1u << 0,
  kMaxIterations = 1u << 1,    // at least one step stopped above its tolerance
  kContactOverflow = 1u << 2,  // contacts were dropped: the deepest were kept
  kNonFinite = 1u << 3,        // frozen at its last finite state until it is reset
  kFallback = 1u << 4,         // at least one step was redone with a more robust joint mode
};

}  // namespace axion
