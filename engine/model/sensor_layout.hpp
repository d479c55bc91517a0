// What sensors of each kind have: numbers, a frame, a joint, a tendon or an actuator, and what bounds them.
//
// For code that checks, compiles and describes scenes; the step reads SensorData (model_data.hpp).
#pragma once

#include "engine/model/scene_spec.hpp"

namespace axion::model {

// What a sensor is of.
enum class SensorOf : std::uint8_t { kFrame, kBody, kAxis, kBall, kActuator, kWorld, kTendon, kPair };

struct SensorTraits {
  const char* name;  // MJCF's
  SensorOf of;
  int size;
  CutoffRule cutoff;
  bool is_sensed;  // it reads what the last step did, not the present state
};

constexpr SensorTraits sensor_traits(SensorKind kind) {
  using enum SensorOf;
  using enum CutoffRule;
  constexpr SensorTraits kTraits[kSensorKindCount] = {
      {"touch", kFrame, 1, kPositive, true},
      {"accelerometer", kFrame, 3, kReal, true},
      {"velocimeter", kFrame, 3, kReal, false},
      {"gyro", kFrame, 3, kReal, false},
      {"force", kFrame, 3, kReal, true},
      {"torque", kFrame, 3, kReal, true},
      {"magnetometer", kFrame, 3, kReal, false},
      {"rangefinder", kFrame, 1, kReal, false},
      {"jointpos", kAxis, 1, kReal, false},
      {"jointvel", kAxis, 1, kReal, false},
      {"jointactuatorfrc", kAxis, 1, kReal, false},
      {"jointlimitpos", kAxis, 1, kReal, false},
      {"jointlimitvel", kAxis, 1, kReal, false},
      {"jointlimitfrc", kAxis, 1, kPositive, true},
      {"ballquat", kBall, 4, kNone, false},
      {"ballangvel", kBall, 3, kReal, false},
      {"actuatorpos", kActuator, 1, kReal, false},
      {"actuatorvel", kActuator, 1, kReal, false},
      {"actuatorfrc", kActuator, 1, kReal, false},
      {"framepos", kFrame, 3, kReal, false},
      {"framequat", kFrame, 4, kNone, false},
      {"framexaxis", kFrame, 3, kNone, false},
      {"frameyaxis", kFrame, 3, kNone, false},
      {"framezaxis", kFrame, 3, kNone, false},
      {"framelinvel", kFrame, 3, kReal, false},
      {"frameangvel", kFrame, 3, kReal, false},
      {"framelinacc", kFrame, 3, kReal, true},
      {"frameangacc", kFrame, 3, kReal, true},
      {"subtreecom", kBody, 3, kReal, false},
      {"subtreelinvel", kBody, 3, kReal, false},
      {"subtreeangmom", kBody, 3, kReal, false},
      {"e_potential", kWorld, 1, kReal, false},
      {"e_kinetic", kWorld, 1, kReal, false},
      {"clock", kWorld, 1, kReal, false},
      {"user", kWorld, 0, kReal, false},
      {"tendonpos", kTendon, 1, kReal, false},
      {"tendonvel", kTendon, 1, kReal, false},
      {"tendonactuatorfrc", kTendon, 1, kReal, false},
      {"tendonlimitpos", kTendon, 1, kReal, false},
      {"tendonlimitvel", kTendon, 1, kReal, false},
      {"tendonlimitfrc", kTendon, 1, kPositive, true},
      {"contact", kWorld, 0, kReal, true},
      {"distance", kPair, 1, kReal, false},
      {"normal", kPair, 3, kNone, false},
      {"fromto", kPair, 6, kNone, false},
      {"insidesite", kFrame, 1, kReal, false},
      {"camprojection", kFrame, 2, kReal, false},
  };
  return kTraits[static_cast<int>(kind)];
}

// Numbers of a slot of a contact sensor.
constexpr int contact_slot_size(const ContactSensorSpec& contact) {
  int size = 0;
  for (int k = 0; k < kContactDatumCount; ++k) size += (contact.data >> k & 1) * kContactDatumSizes[k];
  return size;
}

// Numbers of a sensor in sensor_data.
constexpr int sensor_size(const SensorSpec& sensor) {
  if (sensor.kind == SensorKind::kContact) return sensor.contact.slots * contact_slot_size(sensor.contact);
  return sensor.kind == SensorKind::kUser ? sensor.dimension : sensor_traits(sensor.kind).size;
}

// Whether a reading is nothing without a frame of reference.
constexpr bool needs_reference(SensorKind kind) {
  return kind == SensorKind::kInsideSite || kind == SensorKind::kCameraProjection;
}

// Whether a reading is relative to a frame of reference, where one is given.
constexpr bool takes_reference(SensorKind kind) {
  return needs_reference(kind) || (kind >= SensorKind::kFramePosition && kind <= SensorKind::kFrameAngularVelocity);
}

}  // namespace axion::model
