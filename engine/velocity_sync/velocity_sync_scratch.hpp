// The arrays that this room keeps while velocities at the instant of the poses are made: each contact's touch, how much
// of their change contacts and bodies may take, and the bodies of joint trees.
#pragma once

#include <cstdint>

#include "engine/tree/tree_scratch.hpp"

namespace axion::velocity_sync {

inline constexpr int kTreeBodyStride = 33 * solver::kPanelWidth + 8;  // numbers kept of a body (tree_bodies.hpp)

// The state of a contact after a step: open, sliding under pressure, or sticking. One that jams glides, pressed without
// friction (jammed_contacts.hpp).
enum class Touch : std::uint8_t { kNone, kSlides, kSticks, kGlides };

template <typename Real>
struct VelocitySyncScratch {
  Touch* touch;  // [2 block_capacity] of a contact in the first of two; of a moment torsional and rolling friction
  // of the change of velocities to the instant of the poses that a contact allows,
  Real* contact_share;  // [contact_capacity]
  Real* body_share;     // [nb] and a body may take
  Real* tree_body;      // [nb kTreeBodyStride] bodies of joint trees as synchronise_trees.hpp has them
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, VelocitySyncScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t nb = m.body_count, nc = m.contact_capacity;
  f(kScratch, "touch", w.touch, 2 * m.block_capacity());  // a linear solve leaves it as it is
  f(kEndOfStep, "contact_share", w.contact_share, nc);
  f(kEndOfStep, "body_share", w.body_share, nb);
  f(kEndOfStep, "tree_body", w.tree_body, m.joint_count > 0 ? nb * kTreeBodyStride : 0);
}

}  // namespace axion::velocity_sync
