// The arrays that Newton keeps beside the iterate: the best iterate of an attempt, the result of an attempt before a
// fallback, and the contacts of the last solve while a step is solved again.
#pragma once

#include "engine/model/world_state.hpp"

namespace axion::solver {

using model::kBodies, model::kContacts, model::kRows, model::kMomentContacts, model::Heat;

template <typename Real, typename Form = model::Placed>
struct NewtonScratch {
  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kScratch>;

  Array<math::Vec3<Real>> best_v{"best_v", kBodies, Heat{56}};  // best iterate of the attempt
  Array<math::Vec3<Real>> best_omega{"best_omega", kBodies, Heat{57}};
  Array<Real> best_lambda{"best_lambda", kRows, Heat{91}};
  Array<math::Vec3<Real>> kept_v{"kept_v", kBodies, Heat{135}};  // result of the attempt before a fallback
  Array<math::Vec3<Real>> kept_omega{"kept_omega", kBodies, Heat{136}};
  Array<Real> kept_lambda{"kept_lambda", kRows, Heat{137}};
  Array<model::ContactWarmStart<Real>> solved{"solved", kContacts, Heat{69}};  // contacts of the last solve,
  // and their moments, N m s, where any pair has any
  Array<math::Vec3<Real>> solved_moment{"solved_moment", kMomentContacts, Heat{70}};
};

}  // namespace axion::solver
