// Directions of change beside the coordinates of a linearisation: numbers of a dual world that change together, as the
// masses that follow from one parameter do.
//
// A parameter's numbers in the model's arrays are linear in it, but for what a fluid resists, so that the difference of
// two models that were compiled with more and with less of it is their derivative to rounding. In: the arrays of both.
// Out: slopes. Cost: that of the arrays.
#pragma once

#include "engine/gradient/dual_world.hpp"

#include <vector>

namespace axion::gradient {

struct DualSlope {
  Dual* number;  // of a DualWorld
  double by;
};
using Direction = std::vector<DualSlope>;

// Adds what differs between two models whose parameter is `apart` apart: of those arrays that parameters change which
// keep the frames of bodies. `to` are the dual world's.
inline void add_model_slopes(const model::ModelArrays<double>& less, const model::ModelArrays<double>& more,
                             double apart, model::ModelArrays<Dual>& to, Direction& direction) {
  const auto number = [&](Dual& into, double a, double b) {
    if (a != b) direction.push_back({&into, (b - a) / apart});
  };
  const auto vector = [&](math::Vec3<Dual>& into, const math::Vec3<double>& a, const math::Vec3<double>& b) {
    for (int k = 0; k < 3; ++k) number(into[k], a[k], b[k]);
  };
  const auto each = [](auto& into, const auto& a, const auto& b, const auto& take) {
    for (std::size_t i = 0; i < into.size(); ++i) take(into[i], a[i], b[i]);
  };
  each(to.bodies, less.bodies, more.bodies, [&](auto& into, const auto& a, const auto& b) {
    number(into.mass, a.mass, b.mass), vector(into.inertia, a.inertia, b.inertia);
  });
  each(to.body_forces, less.body_forces, more.body_forces, [&](auto& into, const auto& a, const auto& b) {
    number(into.lift_mass, a.lift_mass, b.lift_mass), vector(into.lift_moment, a.lift_moment, b.lift_moment);
  });
  each(to.fluid_parts, less.fluid_parts, more.fluid_parts, [&](auto& into, const auto& a, const auto& b) {
    vector(into.drag, a.drag, b.drag), vector(into.angular_drag, a.angular_drag, b.angular_drag);
    number(into.viscous_drag, a.viscous_drag, b.viscous_drag);
    number(into.viscous_angular_drag, a.viscous_angular_drag, b.viscous_angular_drag);
  });
  each(to.site_motors, less.site_motors, more.site_motors, [&](auto& into, const auto& a, const auto& b) {
    vector(into.force, a.force, b.force), vector(into.torque, a.torque, b.torque);
  });
  each(to.axes, less.axes, more.axes,
       [&](auto& into, const auto& a, const auto& b) { model::for_each_axis_number(number, into, a, b); });
  each(to.actuators, less.actuators, more.actuators, [&](auto& into, const auto& a, const auto& b) {
    number(into.gear, a.gear, b.gear), number(into.kp, a.kp, b.kp), number(into.kd, a.kd, b.kd);
    number(into.control_gain, a.control_gain, b.control_gain);
    number(into.control_offset, a.control_offset, b.control_offset);
  });
  each(to.efforts, less.efforts, more.efforts,
       [&](auto& into, const auto& a, const auto& b) { number(into.friction_loss, a.friction_loss, b.friction_loss); });
  each(to.pairs, less.pairs, more.pairs, [&](auto& into, const auto& a, const auto& b) {
    number(into.friction, a.friction, b.friction), number(into.restitution, a.restitution, b.restitution);
  });
  each(to.sensors.parts, less.sensors.parts, more.sensors.parts, [&](auto& into, const auto& a, const auto& b) {
    number(into.mass, a.mass, b.mass), vector(into.p, a.p, b.p);
    for (int k = 0; k < 3; ++k) vector(into.I_row[k], a.I_row[k], b.I_row[k]);
  });
}

}  // namespace axion::gradient
