// The arrays that this room keeps where sensors ask for them (sense.hpp): bodies at the start of the step, and their
// accelerations there.
#pragma once

#include "engine/model/world_state.hpp"

namespace axion::readout {

template <typename Real>
struct ReadoutScratch {
  math::Vec3<Real>* start_x;  // [nb], as all of these
  math::Quat<Real>* start_q;
  math::Vec3<Real>* start_v;
  math::Vec3<Real>* start_omega;
  math::Vec3<Real>* acceleration;
  math::Vec3<Real>* turning;  // rad/s^2
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, ReadoutScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t ns = m.sensors.sensed_size > 0 ? m.body_count : 0;
  f(kScratch, "start_x", w.start_x, ns);
  f(kScratch, "start_q", w.start_q, ns);
  f(kScratch, "start_v", w.start_v, ns);
  f(kScratch, "start_omega", w.start_omega, ns);
  f(kScratch, "acceleration", w.acceleration, ns);
  f(kScratch, "turning", w.turning, ns);
}

}  // namespace axion::readout
