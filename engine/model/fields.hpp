// The names that the engine's face and the step code share: element types, fields of a batch, outcomes of a world.
//
// Part of engine/engine.hpp, which includes it; a header of its own because step code fills fields and sets outcomes on
// devices where the rest of that header means nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace axion {

enum class DType : std::uint8_t { kFloat32, kFloat64, kInt32, kUint32, kInt64 };

// Arrays of a batch that can be read. kFields says what each is, readout/write_field.hpp how it follows from a world.
enum class Field : std::uint8_t {
  kBodyPose,
  kBodyVelocity,
  kJointPosition,
  kJointVelocity,
  kJointImpulse,
  kControl,
  kContactCount,
  kOutcome,
  kTime,
  kStepIndex,
  kSensorData,
  kActuatorForce,
  kContactImpulse,
  kActivation,
  kMocapPose,
  kBreakRatio,
};
inline constexpr int kFieldCount = 16;

// What a field has its numbers for.
enum class FieldOf : std::uint8_t {
  kWorld,
  kBodies,
  kJointPositions,
  kJointVelocities,
  kJoints,
  kControls,
  kSensors,
  kActivations,
  kMocaps
};

struct FieldDescription {
  const char* name;
  FieldOf of;
  int width;     // numbers for each of them
  bool is_real;  // has the batch's precision; else `dtype`
  DType dtype;
  const char* description;
};

// In the order of Field. Its shape for a world is [count of `of`, width], without extents of one number.
inline constexpr FieldDescription kFields[kFieldCount] = {
    {"body_pose", FieldOf::kBodies, 7, true, DType::kFloat32,
     "x y z (m), then quaternion w x y z, of the body frame in the world"},
    {"body_velocity", FieldOf::kBodies, 6, true, DType::kFloat32,
     "linear velocity of the centre of mass (m/s), then angular (rad/s), world frame"},
    {"joint_position", FieldOf::kJointPositions, 1, true, DType::kFloat32,
     "joint coordinates: free x y z w x y z, ball w x y z, axis rad or m"},
    {"joint_velocity", FieldOf::kJointVelocities, 1, true, DType::kFloat32,
     "joint rates: free as body_velocity, ball rad/s in the parent, axis rad/s or m/s"},
    {"joint_impulse", FieldOf::kJoints, 6, true, DType::kFloat32,
     "last step's impulse on the child (N s), then torque part about its centre of mass"},
    {"control", FieldOf::kControls, 1, true, DType::kFloat32, "last control applied, in the order of the actuators"},
    {"contact_count", FieldOf::kWorld, 1, false, DType::kInt32, "contacts of the last step"},
    {"outcome", FieldOf::kWorld, 1, false, DType::kUint32, "bits of Outcome of the last step request"},
    {"time", FieldOf::kWorld, 1, false, DType::kFloat64, "simulated time, s"},
    {"step_index", FieldOf::kWorld, 1, false, DType::kInt64, "steps since the last reset"},
    {"sensor_data", FieldOf::kSensors, 1, true, DType::kFloat32,
     "readings of the sensors, one after the other in the order of the model"},
    {"actuator_force", FieldOf::kControls, 1, true, DType::kFloat32,
     "effort of each actuator before gear at the present state (N m or N), within its bounds"},
    {"contact_impulse", FieldOf::kBodies, 6, true, DType::kFloat32,
     "last step's impulse of all contacts on the body (N s), then torque part about its centre of mass"},
    {"activation", FieldOf::kActivations, 1, true, DType::kFloat32,
     "activation of each actuator that has one, in the order of the actuators"},
    {"mocap_pose", FieldOf::kMocaps, 7, true, DType::kFloat32,
     "x y z (m), then quaternion w x y z, of each mocap body in the world, in the order of the scene"},
    {"break_ratio", FieldOf::kJoints, 1, true, DType::kFloat32,
     "greatest share of its break limits that a joint's locks carried in a step since the last reset or new state; "
     "above "
     "1 a limit was passed; 0 without limits"},
};

constexpr const FieldDescription& description_of(Field field) { return kFields[static_cast<int>(field)]; }

// Bits of the outcome of a world's last step request; OR over its steps, except kConverged (AND over them).
enum Outcome : std::uint32_t {
  kConverged = 1u << 0,
  kMaxIterations = 1u << 1,    // at least one step stopped above its tolerance
  kContactOverflow = 1u << 2,  // contacts were dropped: the deepest were kept
  kNonFinite = 1u << 3,        // frozen at its last finite state until it is reset
  kFallback = 1u << 4,         // at least one step was redone with a more robust joint mode
  kEased = 1u << 5,            // an equality that no motion could meet gave way
  kOverlap = 1u << 6,          // bodies stayed deep in each other: no motion, or none within bounds, parts them
};

}  // namespace axion
