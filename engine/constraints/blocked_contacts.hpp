// Contacts that overlap and that no joint can open.
//
// Between two bodies of one tree, or a tree and the world, a gap changes by what the joints on the path from one to the
// other do. Where each of them leaves it as it is, the effective mass of the normal row is zero: any impulse along it
// is borne by the joints, and none opens the contact. Rows of rounding in place of zero would ask for impulses without
// bound, so such a contact has none and counts as met. The masses of the bodies have no part in this: a light link
// behind a heavy armature can open.
//
// In: the contact, joint rows at the start of the step. Out: whether it is such. Cost: seldom more than one joint.
#pragma once

#include "engine/constraints/constraint_rows.hpp"
#include "engine/constraints/parameters.hpp"

namespace axion::constraints {

// Whether the joint that carries its child can change the gap of a contact at p_W along n to first order.
template <typename Real>
AXION_HD inline bool joint_opens(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::JointData<Real>& joint, const math::Vec3<Real>& p_W,
                                 const math::Vec3<Real>& n, Real depth) {
  if (joint.lock_stiffness > 0) return true;
  for (int k = 0; k + 1 < joint.hinge_count; ++k) {
    if (math::dot(joint.offset[k], joint.offset[k]) > 0) return true;
  }
  const math::Vec3<Real> arm = p_W - (w.x[joint.child] + math::rotate(w.q[joint.child], joint.p_CA));
  const math::Vec3<Real> moment = math::cross(arm, n);
  const Real part = Real(ContactParameters::kBlockedShare) * math::norm(arm),
             least = Real(ContactParameters::kBlockedTurn) * depth;
  const Real turn = part > least ? part : least;
  if (joint.is_ball && math::norm(moment) > turn) return true;
  for (int i = 0; i < joint.axis_count; ++i) {
    const model::Row<Real>& row = w.row_start[m.axis_base() + joint.axis_start + i];
    if (i < joint.slide_count ? std::abs(math::dot(row.l, n)) > Real(ContactParameters::kBlockedShare)
                              : std::abs(math::dot(row.k_a, moment)) > turn) {
      return true;
    }
  }
  return false;
}

template <typename Real>
AXION_HD_CALL bool is_blocked(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                              const model::Contact<Real>& c) {
  const int root = m.bodies[c.body_a].tree_start;
  const bool apart = c.body_b < 0 || m.bodies[c.body_b].tree_start != root;
  if (apart && m.bodies[root].joint < 0) return false;  // the tree is free
  int a = c.body_a, b = c.body_b;                       // parents come before their children
  while (a != b) {
    int& last = a > b ? a : b;
    const model::BodyData<Real>& body = m.bodies[last];
    if (body.joint < 0 || joint_opens(m, w, m.joints[body.joint], c.p_WA, c.normal, -c.gap)) return false;
    last = body.parent;
  }
  return true;
}

}  // namespace axion::constraints
