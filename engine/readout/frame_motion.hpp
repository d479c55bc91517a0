// How frames of sensors move: their poses and velocities from those of the bodies.
#pragma once

#include "engine/model/model_data.hpp"

namespace axion::readout {

// Poses and velocities of the bodies at one instant.
template <typename Real>
struct BodyMotions {
  ConstArray<math::Vec3<Real>> x;
  ConstArray<math::Quat<Real>> q;
  ConstArray<math::Vec3<Real>> v;
  ConstArray<math::Vec3<Real>> omega;
};

// World axes.
template <typename Real>
struct FrameMotion {
  math::Vec3<Real> p;
  math::Quat<Real> q;
  math::Vec3<Real> v, omega;
};

template <typename Real>
AXION_HD inline FrameMotion<Real> frame_motion(const BodyMotions<Real>& bodies, const model::SensorFrame<Real>& frame) {
  if (frame.body < 0) return {frame.p, frame.q, {}, {}};
  const math::Vec3<Real> arm = math::rotate(bodies.q[frame.body], frame.p), omega = bodies.omega[frame.body];
  return {bodies.x[frame.body] + arm, math::normalized(bodies.q[frame.body] * frame.q),
          bodies.v[frame.body] + math::cross(omega, arm), omega};
}

// The axis that a sensor of a joint's axis or of a tendon is of.
template <typename Real>
AXION_HD inline int axis_of_sensor(const model::ModelView<Real>& m, const model::SensorData<Real>& sensor) {
  return sensor.joint < 0 ? sensor.axis : m.joints[sensor.joint].axis_start + sensor.axis;
}

}  // namespace axion::readout
