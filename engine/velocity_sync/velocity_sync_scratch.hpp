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

using model::kBodies, model::kContacts, model::kBlocks, model::Heat, model::Length;

inline constexpr Length kTreeBodies{[](const auto& m) { return m.joint_count > 0 ? m.body_count : 0; }};

template <typename Real, typename Form = model::Placed>
struct VelocitySyncScratch {
  template <typename T>
  using StepArray = typename Form::template Array<T, model::FieldKind::kScratch>;

  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kEndOfStep>;

  // of a contact in the first of two; of a moment torsional and rolling friction
  StepArray<Touch> touch{"touch", 2 * kBlocks, Heat{186}};
  // of the change of velocities to the instant of the poses that a contact allows,
  Array<Real> contact_share{"contact_share", kContacts, Heat{184}};
  Array<Real> body_share{"body_share", kBodies, Heat{185}};  // and a body may take
  // bodies of joint trees as synchronise_trees.hpp has them
  Array<Real> tree_body{"tree_body", (kTreeBodyStride * kTreeBodies), Heat{85, 20}};
};

}  // namespace axion::velocity_sync
