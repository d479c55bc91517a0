// From joint coordinates to bodies, in double precision on the host: what set_state and reset do once, not the step.
#pragma once

#include <vector>

#include "engine/backend/engine_model.hpp"

namespace axion::backend {

// Bodies of one world, internal order, principal frames.
struct BodyStates {
  std::vector<math::Vec3<double>> x, v, omega;
  std::vector<math::Quat<double>> q;
};

// Velocities of all bodies that a joint moves, from joint_velocity (nv values) at the poses in `bodies` and the joint
// coordinates joint_position (nq values); bodies without a joint keep theirs (constraints/joint_motion.hpp).
void place_velocities(const model::CompiledModel& model, const UserArrays<double>& user, const double* joint_position,
                      const double* joint_velocity, BodyStates& bodies);

// Joint coordinates that are moved by `change` (nv values) along the coordinates of joint_velocity: of a free joint the
// centre of mass is displaced, then the body turned about it, world axes; a ball is turned, parent's axes.
std::vector<double> displaced(const model::CompiledModel& model, const UserArrays<double>& user,
                              const std::vector<double>& joint_position, const std::vector<double>& change);
// The inverse: the change (nv values) that leads from one to the other, turns by less than half a revolution.
std::vector<double> displacement(const model::CompiledModel& model, const UserArrays<double>& user,
                                 const std::vector<double>& from, const std::vector<double>& to);

// A quaternion of any length above zero, as a unit quaternion.
math::Quat<double> unit_quaternion(const double* wxyz);

}  // namespace axion::backend
