// The arrays that Newton keeps beside the iterate: the best iterate of an attempt, the result of an attempt before a
// fallback, and the contacts of the last solve while a step is solved again.
#pragma once

#include "engine/model/world_state.hpp"

namespace axion::solver {

template <typename Real>
struct NewtonScratch {
  math::Vec3<Real>* best_v;               // [nb] best iterate of the attempt
  math::Vec3<Real>* best_omega;           // [nb]
  Real* best_lambda;                      // [nrow]
  math::Vec3<Real>* kept_v;               // [nb] result of the attempt before a fallback
  math::Vec3<Real>* kept_omega;           // [nb]
  Real* kept_lambda;                      // [nrow]
  model::ContactWarmStart<Real>* solved;  // [contact_capacity] contacts of the last solve,
  math::Vec3<Real>* solved_moment;        // [contact_capacity] and their moments, N m s, where any pair has any
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, NewtonScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t nb = m.body_count, nc = m.contact_capacity;
  const std::size_t nrow = m.lock_count + m.axis_count + m.limit_count + m.effort_count + 3 * m.block_capacity();
  f(kScratch, "best_v", w.best_v, nb);
  f(kScratch, "best_omega", w.best_omega, nb);
  f(kScratch, "best_lambda", w.best_lambda, nrow);
  f(kScratch, "kept_v", w.kept_v, nb);
  f(kScratch, "kept_omega", w.kept_omega, nb);
  f(kScratch, "kept_lambda", w.kept_lambda, nrow);
  f(kScratch, "solved", w.solved, nc);
  f(kScratch, "solved_moment", w.solved_moment, m.moment_capacity > 0 ? nc : 0);
}

}  // namespace axion::solver
