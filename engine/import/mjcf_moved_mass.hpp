// What moves along the axes of a scene: all that hangs on them.
//
// Used inside engine/import only.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/math/mat3.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::import {

// Mass, first moment and moments of inertia about the origin of the world, in its axes, of each body and all that hangs
// on it.
struct Hanging {
  double mass = 0;
  math::Vec3<double> moment{};
  math::Mat3<double> inertia{};
  void add(const Hanging& other) {
    mass += other.mass, moment += other.moment;
    inertia = inertia + other.inertia;
  }
};

// [body]
std::vector<Hanging> sum_hanging(const model::SceneSpec& spec);

// The norm of the accelerations of all joint coordinates, M⁻¹ J of the actuator's joint or tendon with its gear, that a
// unit of its force gives the scene in the reference configuration; 0 where there is none, and of scenes whose chains
// of joints are thousands long. A free joint's velocity is its body's origin's, in m/s and rad/s.
double unit_acceleration(const model::SceneSpec& spec, const model::ActuatorSpec& actuator);

// What actuators move along their joints or tendons in the reference configuration, all other joints giving way:
// (J M⁻¹ Jᵀ)⁻¹ without gears, kg m^2 or kg; 0 where nothing moves, with the same limit.
std::vector<double> moved_masses(const model::SceneSpec& spec, const std::vector<std::size_t>& actuators);

// The mean of the diagonal of M⁻¹ over the coordinates of a joint, one of its axes alone where it has any, with the
// same limit.
double mean_mobility(const model::SceneSpec& spec, int joint, int axis);

// The diagonal of M⁻¹ over the turning of a ball or of a free joint about each axis of its child, 1/(kg m^2), and over
// the moving of a free joint's child along each axis of the world, 1/kg, with the same limit.
math::Vec3<double> turning_mobility(const model::SceneSpec& spec, int joint);
math::Vec3<double> moving_mobility(const model::SceneSpec& spec, int joint);

}  // namespace axion::import
