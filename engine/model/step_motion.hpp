// StepMotion: how the bodies of a world move in a step, for every room that takes part in it.
//
// Suffixes: none, or `_start`, the start of the step; `_tilde` the free velocity, without constraints; `_plus` the
// iterate of the solver, in the end the end of the step.
#pragma once

#include "engine/math/mat3.hpp"
#include "engine/model/world_state.hpp"

namespace axion::model {

template <typename Real>
struct StepMotion {
  math::Vec3<Real>* force;        // [nb] external wrench about the centre of mass, N and N m: inputs of the step
  math::Vec3<Real>* torque;       // [nb]
  math::Mat3<Real>* I_world;      // [nb] at q⁻
  math::Mat3<Real>* I_inverse;    // [nb]
  math::Vec3<Real>* v_tilde;      // [nb]
  math::Vec3<Real>* omega_tilde;  // [nb]
  math::Vec3<Real>* v_plus;       // [nb]
  math::Vec3<Real>* omega_plus;   // [nb]
  math::Vec3<Real>* x_plus;       // [nb]
  math::Quat<Real>* q_plus;       // [nb]
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const ModelView<Real>& m, StepMotion<Real>& w, F&& f) {
  using enum FieldKind;
  const std::size_t nb = m.body_count;
  f(kScratch, "force", w.force, nb);
  f(kScratch, "torque", w.torque, nb);
  f(kScratch, "I_world", w.I_world, nb);
  f(kScratch, "I_inverse", w.I_inverse, nb);
  f(kScratch, "v_tilde", w.v_tilde, nb);
  f(kScratch, "omega_tilde", w.omega_tilde, nb);
  f(kScratch, "v_plus", w.v_plus, nb);
  f(kScratch, "omega_plus", w.omega_plus, nb);
  f(kScratch, "x_plus", w.x_plus, nb);
  f(kScratch, "q_plus", w.q_plus, nb);
}

}  // namespace axion::model
