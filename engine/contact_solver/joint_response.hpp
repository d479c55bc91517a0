// The joints beneath the sweeps as this room sees them: V, the response of the joint trees, with loops closed
// (joint_inverse.hpp, loop_response.hpp), and the swept rows that act on it. What V is made of stays in engine/tree; a
// JointResponse reaches nothing else of the step's problem.
#pragma once

#include "engine/contact_solver/sweep_views.hpp"
#include "engine/tree/loop_response.hpp"

namespace axion::solver {

template <typename Real>
class JointResponse {
 public:
  AXION_HD explicit JointResponse(const Problem<Real>& p) : p_(p) {}

  // The column of V for component c of an impulse on body b (find_joint_response).
  AXION_HD const Real* column(int b, int c) const { return response_column(p_, b, c); }
  AXION_HD int tree_start(int b) const { return p_.m.bodies[b].tree_start; }
  AXION_HD int tree_size(int b) const { return p_.m.bodies[b].tree_size; }

  // The tendon or equality whose row this is; -1 of a joint's.
  AXION_HD int tendon_of_row(int row) const { return find_tendon(p_, row); }

  // The impulse on body b of the swept rows, whose impulses are in `lambda`.
  AXION_HD Impulse<Real> gather(int b, const Real* lambda) const { return gather_swept_impulse(p_, b, lambda); }
  // Six numbers of a body's own, for such an impulse.
  AXION_HD Real* body_impulse(int b) const { return body_unknowns(p_, b); }

  // Velocities u [body][6][lanes] of all bodies for impulses f on the touched bodies, loops closed.
  template <int lanes, typename Team>
  AXION_HD void push(const Team& team, const int* touched, Real* f, Real* u) const {
    push_lanes<lanes>(team, p_, touched, f, u);
    if (has_loop_rows(p_)) close_lanes<lanes>(team, p_, u);
  }

 private:
  const Problem<Real>& p_;
};

// Bodies of a row of limits, efforts or contacts, b -1 for the world. Rows of tendons, which have more, are zero in
// `row`, and are seen to where all others have been.
struct RowBodies {
  int a, b;
};

// The swept rows as the joints beneath them are linearised.
template <typename Real>
struct SweptGeometry {
  int limit_base;               // the first swept row
  const model::Row<Real>* row;  // [nrow]
  const int* row_bodies;        // [2 nswept] (note_bodies)

  AXION_HD RowBodies bodies(int row) const {
    const int* on = row_bodies + 2 * (row - limit_base);
    return {on[0], on[1]};
  }
};

template <typename Real>
AXION_HD inline SweptGeometry<Real> swept_geometry(const Problem<Real>& p) {
  return {p.limit_base(), p.w.row, p.w.sweeps.row_bodies};
}

template <typename Real, typename Team>
AXION_HD inline void note_bodies(const Team& team, const Problem<Real>& p) {
  team.for_each(p.row_count() - p.limit_base(), [&](int i) {
    bodies_of_row(p, p.limit_base() + i, p.w.sweeps.row_bodies[2 * i], p.w.sweeps.row_bodies[2 * i + 1]);
  });
}

}  // namespace axion::solver
