// The arrays that this room keeps while velocities at the instant of the poses are made: how much of their change
// contacts and bodies may take, and the bodies of joint trees.
#pragma once

#include "engine/tree/tree_scratch.hpp"

namespace axion::velocity_sync {

inline constexpr int kTreeBodyStride = 33 * solver::kPanelWidth + 8;  // numbers kept of a body (tree_bodies.hpp)

template <typename Real>
struct VelocitySyncScratch {
  // of the change of velocities to the instant of the poses that a contact allows,
  Real* contact_share;  // [contact_capacity]
  Real* body_share;     // [nb] and a body may take
  Real* tree_body;      // [nb kTreeBodyStride] bodies of joint trees as synchronise_trees.hpp has them
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, VelocitySyncScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t nb = m.body_count, nc = m.contact_capacity;
  f(kEndOfStep, "contact_share", w.contact_share, nc);
  f(kEndOfStep, "body_share", w.body_share, nb);
  f(kEndOfStep, "tree_body", w.tree_body, m.joint_count > 0 ? nb * kTreeBodyStride : 0);
}

}  // namespace axion::velocity_sync
