// StepMotion: how the bodies of a world move in a step, for every room that takes part in it.
//
// Suffixes: none, or `_start`, the start of the step; `_tilde` the free velocity, without constraints; `_plus` the
// iterate of the solver, in the end the end of the step.
#pragma once

#include "engine/math/mat3.hpp"
#include "engine/model/world_state.hpp"

namespace axion::model {

template <typename Real, typename Form = Placed>
struct StepMotion {
  template <typename T>
  using Array = typename Form::template Array<T, FieldKind::kScratch>;

  // external wrench about the centre of mass, N and N m: inputs of the step
  Array<math::Vec3<Real>> force{"force", kBodies, Heat{82}};
  Array<math::Vec3<Real>> torque{"torque", kBodies, Heat{86}};
  Array<math::Mat3<Real>> I_world{"I_world", kBodies, Heat{16, 3}};  // at q⁻
  Array<math::Mat3<Real>> I_inverse{"I_inverse", kBodies, Heat{9, 18}};
  Array<math::Vec3<Real>> v_tilde{"v_tilde", kBodies, Heat{33, 1}};
  Array<math::Vec3<Real>> omega_tilde{"omega_tilde", kBodies, Heat{34, 1}};
  Array<math::Vec3<Real>> v_plus{"v_plus", kBodies, Heat{4, 8}};
  Array<math::Vec3<Real>> omega_plus{"omega_plus", kBodies, Heat{3, 8}};
  Array<math::Vec3<Real>> x_plus{"x_plus", kBodies, Heat{21, 2}};
  Array<math::Quat<Real>> q_plus{"q_plus", kBodies, Heat{17, 3}};
};

}  // namespace axion::model
