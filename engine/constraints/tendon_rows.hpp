// Rows over the coordinates of several joints: tendons, and equalities of coordinates.
//
//   tendon    L = Σ_k c_k s_k            J = Σ_k c_k J_k, at q⁻
//   equality  c = A − P(B), A = Σ a_k s_k, B = Σ b_k s_k    J = Σ_k (a_k − P'(B) b_k) J_k
// J_k is the row of axis k (joint_rows.hpp), between the two bodies of its joint, so such a row is a list of terms with
// one impulse. A tendon has a place among the axes, after those of joints, and all of their laws (axis_rows.hpp):
// spring, damper, drives, limits, friction loss. Only what its motors give goes to the axes of its joints, as if motors
// of theirs gave it. Where its length is that of a path through space (model/tendon_path.hpp), the terms are the
// straight pieces of that instead, with the bodies at their ends, and motors push these bodies themselves. An equality
// is a lock. It starts out wherever it is: what it is off, beyond what a limit's overlap may be pushed out at, is left
// to further steps, as of a limit (contact_rows.hpp).
#pragma once

#include "engine/constraints/joint_rows.hpp"
#include "engine/model/tendon_path.hpp"

namespace axion::constraints {

// The tendon of axis i, which is one of a tendon.
template <typename Real>
AXION_HD inline const model::TendonData<Real>& tendon_of_axis(const model::ModelView<Real>& m, int i) {
  return m.tendons[i - m.joint_axis_count];
}

// Calls f(term) for the terms of a tendon or an equality.
template <typename Real, typename F>
AXION_HD inline void for_each_term(const model::TendonData<Real>& tendon, F&& f) {
  for (int k = tendon.term_start; k < tendon.term_start + tendon.term_count; ++k) f(k);
}

// A − P(B), and P'(B).
template <typename Real>
struct TendonValue {
  Real value, slope;
};

// `position` are the coordinates of all terms along axes, position(term), `paths` the lengths through space.
template <typename Real, typename F>
AXION_HD inline TendonValue<Real> tendon_value(const model::ModelView<Real>& m, const model::TendonData<Real>& tendon,
                                               const model::PathLengths<Real>& paths, F&& position) {
  Real first = paths.first, second = paths.second;
  for_each_term(tendon, [&](int k) {
    if (m.tendon_terms[k].axis < 0) return;
    const Real s = position(k);
    first += m.tendon_terms[k].first * s, second += m.tendon_terms[k].second * s;
  });
  Real value = 0, slope = 0;
  for (int k = 4; k >= 0; --k) {  // Horner
    slope = slope * second + value;
    value = value * second + tendon.polynomial[k];
  }
  return {first - value, slope};
}

template <typename Real>
AXION_HD inline Real term_weight(const model::TendonTermData<Real>& term, Real slope) {
  return term.first - slope * term.second;
}

template <typename Real>
AXION_HD inline model::Row<Real> scaled(Real weight, const model::Row<Real>& row) {
  return {weight * row.l, weight * row.k_a, weight * row.k_b};
}

// J u of a tendon or an equality whose terms have `rows`.
template <typename Real>
AXION_HD_RARE Real tendon_velocity(const model::ModelView<Real>& m, const model::TendonData<Real>& tendon,
                                   ConstArray<model::Row<Real>> rows, ConstArray<math::Vec3<Real>> v,
                                   ConstArray<math::Vec3<Real>> omega) {
  Real sum = 0;
  for_each_term(tendon,
                [&](int k) { sum += row_velocity(rows[k], m.tendon_terms[k].a, m.tendon_terms[k].b, v, omega); });
  return sum;
}

// J(q⁻) u along axis i, of a joint or of a tendon.
template <typename Real>
AXION_HD inline Real axis_velocity(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i,
                                   ConstArray<math::Vec3<Real>> v, ConstArray<math::Vec3<Real>> omega) {
  if (i >= m.joint_axis_count) return tendon_velocity(m, tendon_of_axis(m, i), w.tendon_force, v, omega);
  const model::JointData<Real>& joint = m.joints[m.axes[i].joint];
  return row_velocity(w.row_start[m.axis_base() + i], joint.child, joint.parent, v, omega);
}

// Lengths of the paths of a tendon or an equality through space, at given poses; the rows of their pieces go to
// tendon_row.
template <typename Real>
AXION_HD_RARE model::PathLengths<Real> measure_paths(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                                     const model::TendonData<Real>& tendon,
                                                     const model::BodyPoses<Real>& at) {
  return model::measure_path(m.tendon_spans + tendon.span_start, tendon.span_count, at,
                             [&](int term, const model::Row<Real>& row) { w.tendon_row[term] = row; });
}

// Rows of all terms at q⁻; axis_position of tendons, and axis_rate where no step gave it; lock_start_error of
// equalities. Needs the joints' own.
template <typename Real, typename Team>
AXION_HD_RARE void start_tendons(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  team.for_each(m.tendon_count, [&](int t) {
    const model::TendonData<Real>& tendon = m.tendons[t];
    model::PathLengths<Real> paths;
    if (tendon.span_count > 0) paths = measure_paths(m, w, tendon, {w.x, w.q});
    const TendonValue<Real> at =
        tendon_value(m, tendon, paths, [&](int k) { return w.axis_position[m.tendon_terms[k].axis]; });
    for_each_term(tendon, [&](int k) {
      const Real weight = term_weight(m.tendon_terms[k], at.slope);
      w.tendon_weight[k] = weight;
      const int axis = m.tendon_terms[k].axis;
      const model::Row<Real>& row = axis < 0 ? w.tendon_row[k] : w.row_start[m.axis_base() + axis];
      w.tendon_row[k] = w.tendon_force[k] = scaled(weight, row);
    });
    if (tendon.axis < 0) {
      w.lock_start_error[tendon.lock] = at.value;
      return;
    }
    w.axis_position[tendon.axis] = at.value;
    if (w.state_is_new[0] != 0) w.axis_rate[tendon.axis] = axis_velocity(m, w, tendon.axis, w.v, w.omega);
  });
}

// Calls f(term, body, whether it is the term's body a) for the sides of the pieces of a tendon's paths.
template <typename Real, typename F>
AXION_HD inline void for_each_path_side(const model::ModelView<Real>& m, const model::TendonData<Real>& tendon, F&& f) {
  for (int i = tendon.side_start; i < tendon.side_start + tendon.side_count; ++i) {
    const int term = m.tendon_sides[i] / 2;
    const bool on_a = m.tendon_sides[i] % 2 == 0;
    f(term, on_a ? m.tendon_terms[term].a : m.tendon_terms[term].b, on_a);
  }
}

// Whether terms of any tendon or equality are on body b.
template <typename Real>
AXION_HD inline bool has_sides(const model::ModelView<Real>& m, int b) {
  return m.tendon_count > 0 && m.body_side_start[b] < m.body_side_start[b + 1];
}

// Calls f(term, whether b is the term's body a) for all terms on body b, in the order in which sums over them are made.
template <typename Real, typename F>
AXION_HD inline void for_each_side_of_body(const model::ModelView<Real>& m, int b, F&& f) {
  const int* side = m.body_sides;
  for (int i = m.body_side_start[b]; i < m.body_side_start[b + 1]; ++i) f(side[i] / 2, side[i] % 2 == 0);
}

// Adds the impulses of motors along paths through space on body b.
template <typename Real>
AXION_HD_RARE void add_path_impulses(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int b,
                                     math::Vec3<Real>& linear, math::Vec3<Real>& angular) {
  for_each_side_of_body(m, b, [&](int term, bool on_a) {
    const int axis = m.tendons[m.tendon_terms[term].tendon].axis;
    if (axis < 0 || m.tendon_terms[term].axis >= 0) return;
    const Real impulse = w.axis_impulse[axis];
    const model::Row<Real>& row = w.tendon_force[term];
    linear += (on_a ? impulse : -impulse) * row.l;
    angular += impulse * (on_a ? row.k_a : row.k_b);
  });
}

// What tendons give axis i of a joint of the impulses axis_impulse along them.
template <typename Real>
AXION_HD_RARE Real impulse_of_tendons(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  Real sum = 0;
  for (int k = m.axis_term_start[i]; k < m.axis_term_start[i + 1]; ++k) {
    const int term = m.axis_terms[k], axis = m.tendons[m.tendon_terms[term].tendon].axis;
    if (axis >= 0) sum += w.tendon_weight[term] * w.axis_impulse[axis];
  }
  return sum;
}

}  // namespace axion::constraints
