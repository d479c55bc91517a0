// The law of an MJCF actuator, from the layers of its defaults and its own attributes.
//
// As in MuJoCo: force = gain * control + bias[0] + bias[1] * length + bias[2] * velocity, length = gear * s, where the
// control may go through an activation. The short forms (motor, position, velocity, intvelocity, damper, cylinder,
// muscle) are ways to fill this; a class has one actuator default that all kinds share. Used inside engine/import only.
// Throws ImportFailure.
#pragma once

#include <string_view>

#include "engine/import/mjcf_attributes.hpp"

namespace axion::import {

struct Drive {
  static constexpr int kIntegrator = 1, kFilter = 2, kFilterExact = 3, kMuscleDynamics = 4;
  static constexpr int kAffine = 1, kMuscle = 2;  // of gains and biases

  int dynamics = 0;  // none, integrator, filter, filterexact, muscle, user
  double dynamics_numbers[10] = {1};
  int gain_type = 0;  // 0 fixed, 1 affine, 2 muscle
  int bias_type = 0;  // 0 none, 1 affine, 2 muscle
  double gain[10] = {1};
  double bias[10] = {0};
  double greatest_force = 0;          // of a motor's saturation, in place of a range of forces; 0: none
  bool limits_control = false;        // the last layer was a damper, whose controls have a range
  bool is_position = false;           // the last layer was a position, whose kv the next one keeps
  const XmlElement* other = nullptr;  // a default of a kind of actuator that is not offered, and still has a say
};

// Whether elements with this tag have a Drive.
bool is_drive(std::string_view tag);

// Refuses attributes that a kind of actuator does not have, and, unless that is allowed, what of a dcmotor is more than
// resistance and back-EMF.
Drive read_drive(const Attributes& attributes, Notes& notes);

}  // namespace axion::import
