// One step's nonlinear system: the model, the world's arrays and the settings that it is solved with.
//
// Unknowns are the velocities u⁺ of the bodies (v_plus, omega_plus) and the impulses λ⁺ of the rows (lambda). Rows are
// numbered locks, axes, limits, efforts, three a contact, then three a moment of a contact (torsional and rolling
// friction). Equations: residual.hpp; linearised: linearise.hpp.
#pragma once

#include "engine/base/held_view.hpp"
#include "engine/laws/unit_law.hpp"
#include "engine/model/step_settings.hpp"
#include "engine/model/world_state.hpp"
#include "engine/problem/row_layout.hpp"

namespace axion::solver {

template <typename Real>
struct Problem {
  HeldView<model::ModelView<Real>> m;
  HeldView<model::WorldView<Real>> w;
  model::StepSettings<Real> s;
  model::JointMode joint_mode;  // of this attempt: a fallback changes it
  int contact_count;
  int moment_count = 0;       // contacts with torsional or rolling friction, each with a block of rows of its own
  Real proximal_scale = 1;    // of this iteration's proximal terms on contacts and limits
  bool follows_slip = false;  // whether contact rows of this iteration are along and across the slip (friction.hpp)
  Real load_proximal = 0;     // above zero: of g h, the most that a contact's proximal term times its impulse may be
  bool exact_turning = true;  // whether Newton's matrix holds how anchors' impulses turn, or its positive part
  bool solver_ready = false;  // whether the linear solver is prepared for these contacts

  // Sets the members that a solve changes to those of `other`, a problem of the same world.
  AXION_HD void restart(const Problem& other) {
    s = other.s, joint_mode = other.joint_mode;
    contact_count = other.contact_count, moment_count = other.moment_count;
    proximal_scale = other.proximal_scale, load_proximal = other.load_proximal, follows_slip = other.follows_slip;
    exact_turning = other.exact_turning, solver_ready = other.solver_ready;
  }

  AXION_HD int axis_base() const { return m.axis_base(); }
  AXION_HD int limit_base() const { return m.limit_base(); }
  AXION_HD int effort_base() const { return m.effort_base(); }
  AXION_HD int contact_base() const { return m.contact_base(); }
  AXION_HD int moment_base() const { return contact_base() + 3 * contact_count; }
  AXION_HD int block_count() const { return contact_count + moment_count; }  // three rows each
  AXION_HD int row_count() const { return contact_base() + 3 * block_count(); }
  AXION_HD RowLayout rows() const {
    return {m.axis_base(), m.limit_base(), m.effort_base(), m.contact_base(), contact_count, moment_count};
  }
};

// Whether joint rows are those at q⁻: velocities stay on them, and turns within the step do not matter.
template <typename Real>
AXION_HD inline bool has_start_rows(const Problem<Real>& p) {
  return p.joint_mode == model::JointMode::kLinearised || p.s.constraint_level == model::ConstraintLevel::kVelocity;
}

template <typename Real>
AXION_HD inline bool symmetric_solver(const Problem<Real>& p) {
  return model::is_conjugate_residual(p.s.linear_solver);
}

using laws::greater;

}  // namespace axion::solver
