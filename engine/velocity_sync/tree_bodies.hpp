// A body of a joint tree as synchronise_trees.hpp and synchronise_links.hpp have it, and its rows of numbers.
#pragma once

#include <type_traits>

#include "engine/tree/tree_assembly.hpp"
#include "engine/velocity_sync/owed_forces.hpp"
#include "engine/velocity_sync/velocity_sync_scratch.hpp"

namespace axion::velocity_sync {

// The numbers of a body in its place of VelocitySyncScratch::tree_body, in rows of kPanelWidth, of which six count.
template <typename Real>
struct TreeBody {
  static constexpr int kWidth = solver::kPanelWidth, kRows = 33;
  Real* at;
  AXION_HD Real* row(int r) const { return at + kWidth * r; }             // [7] I, and p
  AXION_HD Real* axis(int k) const { return at + kWidth * (7 + k); }      // [3] S by columns
  AXION_HD Real* along(int k) const { return at + kWidth * (10 + k); }    // [3] W, then D⁻¹ W
  AXION_HD Real* against(int k) const { return at + kWidth * (13 + k); }  // [3] U by columns
  AXION_HD Real* carry(int k) const { return at + kWidth * (16 + k); }    // [3] X of a linear direction, less itself
  AXION_HD Real* change() const { return at + kWidth * 19; }              // c, in the end the body's change
  AXION_HD Real* gain() const { return at + kWidth * 20; }                // [3] of its axes
  AXION_HD Real* push() const { return at + kWidth * 20 + 3; }            // [3], then D⁻¹(Sᵀ p' + push)
  AXION_HD Real* panel(int r) const {
    return at + kWidth * (21 + r);
  }  // [6] columns that links ask for, and [3] rates they leave
  AXION_HD Real* turned(int k) const { return at + kWidth * (30 + k); }  // [3] D⁻¹ Sᵀ
  AXION_HD Real& slides() const { return at[kWidth * 20 + 6]; }          // whether I is not symmetric
  AXION_HD Real& is_lost() const {
    return at[kWidth * 20 + 7];
  }  // whether three hinges lie in a plane, and have lost a freedom
};
static_assert(TreeBody<float>::kWidth * TreeBody<float>::kRows <= kTreeBodyStride);

template <typename Real>
AXION_HD inline TreeBody<Real> tree_body(const solver::Problem<Real>& p, int b) {
  return {p.w.velocity_sync.tree_body + b * kTreeBodyStride};
}

template <typename Real>
AXION_HD inline void store_pair(Real* to, const math::Vec3<Real>& linear, const math::Vec3<Real>& angular) {
  for (int k = 0; k < 3; ++k) to[k] = linear[k], to[3 + k] = angular[k];
  to[6] = to[7] = 0;
}

// Rows are taken in parts, as many numbers as a register holds.
template <typename Team, typename Real>
AXION_HD constexpr int row_lanes() {
  return team::pack_lanes<Team, Real>(solver::kPanelWidth);
}
template <typename Team, typename Real>
AXION_HD constexpr int row_parts() {
  return solver::kPanelWidth / row_lanes<Team, Real>();
}
template <typename Team, typename Real>
AXION_HD AXION_INLINED inline lanes::Pack<Real, row_lanes<Team, Real>()> load_part(const Real* row, int part) {
  return lanes::load_pack<row_lanes<Team, Real>()>(row + row_lanes<Team, Real>() * part);
}
template <typename Team, typename Real>
AXION_HD AXION_INLINED inline void store_part(
    Real* row, int part, const std::type_identity_t<lanes::Pack<Real, row_lanes<Team, Real>()>>& a) {
  lanes::store_pack<row_lanes<Team, Real>(), Real>(row + row_lanes<Team, Real>() * part, a);
}

// The sum of six products.
template <typename Real>
AXION_HD_SMALL inline Real dot_six(const Real* a, const Real* b) {
  return ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5]);
}

// Whether contact i, or a moment, holds two bodies. Needs note_touches.
template <typename Real>
AXION_HD inline bool links_bodies(const solver::Problem<Real>& p, int i) {
  if (p.w.contacts[i].body_b < 0) return false;
  return i < p.contact_count ? noted_touch(p, i) != Touch::kNone : moment_holds(p, i);
}

}  // namespace axion::velocity_sync
