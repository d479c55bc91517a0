// What is asked of the derivatives of steps, and where the answers go. Part of engine/engine.hpp, which includes it and
// has the calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/derivative_law.hpp"
#include "engine/model/parameters.hpp"

namespace axion {

enum class CoordinateKind : std::uint8_t { kPosition, kVelocity, kActivation };

// A coordinate of x, all of whose coordinates are changes: nv of position, along the coordinates of joint_velocity (of
// free joints the displacement of the centre of mass, then the turn, world axes; of balls the turn, parent's axes; of
// axes that of the joint coordinate), then joint_velocity itself, then activations.
struct StateCoordinate {
  CoordinateKind kind = CoordinateKind::kPosition;
  std::string name;       // of the joint, its axis or part, or the actuator
  int joint = -1;         // index into ModelInfo::joints; -1 of an activation
  int actuator = -1;      // index into ModelInfo::actuators of an activation; else -1
  const char* unit = "";  // "m", "rad", "m/s", "rad/s", "1"
};

// From the factors of the step's own system, where all of its laws have an exact derivative, else by differences; or
// always by differences.
enum class LinearisationMethod : std::int32_t { kExact = 1, kDifferences = 2 };

// Where to; row-major, empty spans are not wanted. x is 2 nv + activations, u is nu, y is sensor_size.
struct LinearisationOutput {
  std::span<double> A, B;  // [n, k, x, x], [n, k, x, u]
  std::span<double> C, D;  // [n, k, y, x], [n, k, y, u]
  std::span<double> joint_position, joint_velocity,
      activation;                 // [n, k + 1, ...]: before each step, and after the last
  std::span<double> sensor_data;  // [n, k, y]: after each step
  // [n, k]: of the step and of all that were made beside it, as of several steps; where it is exact there are none
  std::span<std::uint32_t> outcome;
  // [n, k, x + u]: 1 where the two sides of a difference are of different active sets, or would be
  std::span<std::int32_t> kink;
  std::span<LinearisationMethod> method;  // [n, k]: how it was made
  std::span<LawWithoutDerivative> law;    // [n, k]: why it was not made exactly, where that was asked for
};

// What a gradient is taken by, besides the start state and the controls.
struct GradientInput {
  enum class Kind : std::uint8_t { kMassScale, kFrictionScale, kGainScale, kBodyWrench, kParameter };
  Kind kind = Kind::kParameter;
  Parameter parameter = {};
};

// How far a world's gradient can be taken at its word: it is that of the steps; or a step on the way had a law without
// an exact derivative, and differences stand for it; or a step, or what was given, is not finite.
enum class GradientOutcome : std::int32_t { kExact = 1, kInexact = 2, kNonFinite = 3 };

// Where a gradient goes; row-major, empty spans are not wanted. x, u and y as above.
struct StepGradientOutput {
  std::span<double> state;                // [n, x]: by the coordinates of the start
  std::span<double> joint_position;       // [n, nq]: by the same positions as they are set, of quaternions the tangent
  std::span<double> control;              // [n, k, u], or [n, u] where it was held: the sum over the steps
  std::vector<std::span<double>> inputs;  // as asked for, of one world after the other
  std::span<GradientOutcome> outcome;     // [n]
  std::span<std::uint32_t> step_outcome;  // [n, k]: bits of Outcome
  std::span<LawWithoutDerivative> law;    // [n, k]: why a step has no exact derivative
  std::span<std::int32_t> kink;           // [n, k]: 1 where an input that is moved by the difference leads over a kink
  // [n, records, ...]: the fields that were asked for, after the steps
  std::vector<std::span<double>> fields;
};

}  // namespace axion
