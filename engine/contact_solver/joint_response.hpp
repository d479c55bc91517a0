// The joints beneath the sweeps as this room sees them: V, the response of the joint trees, with loops closed
// (joint_inverse.hpp, loop_response.hpp). What it is made of stays in engine/tree; nothing else of the step's problem is
// reached through it.
#pragma once

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

  // Velocities u [body][6][lanes] of all bodies for impulses f on those that are touched, loops closed.
  template <int lanes, typename Team>
  AXION_HD void push(const Team& team, const int* touched, Real* f, Real* u) const {
    push_lanes<lanes>(team, p_, touched, f, u);
    if (has_loop_rows(p_)) close_lanes<lanes>(team, p_, u);
  }

 private:
  const Problem<Real>& p_;
};

}  // namespace axion::solver
