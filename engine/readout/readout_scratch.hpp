// The arrays that this room keeps where sensors ask for them (sense.hpp): bodies at the start of the step, and their
// accelerations there.
#pragma once

#include "engine/model/world_state.hpp"

namespace axion::readout {

using model::Heat, model::Length;

inline constexpr Length kSensedBodies{[](const auto& m) {
  return m.sensors.sensed_size > 0 ? m.body_count : 0;
}};  // where sensors ask for anything of a step

template <typename Real, typename Form = model::Placed>
struct ReadoutScratch {
  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kScratch>;

  Array<math::Vec3<Real>> start_x{"start_x", kSensedBodies, Heat{202}};  // , as all of these
  Array<math::Quat<Real>> start_q{"start_q", kSensedBodies, Heat{203}};
  Array<math::Vec3<Real>> start_v{"start_v", kSensedBodies, Heat{204}};
  Array<math::Vec3<Real>> start_omega{"start_omega", kSensedBodies, Heat{205}};
  Array<math::Vec3<Real>> acceleration{"acceleration", kSensedBodies, Heat{206}};
  Array<math::Vec3<Real>> turning{"turning", kSensedBodies, Heat{207}};  // rad/s^2
};

}  // namespace axion::readout
