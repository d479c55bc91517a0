// The velocities that sweeps over contacts move, with V the joint response (joint_inverse.hpp), in two forms with one
// interface.
//
//   RowSpace    the rows' own velocities J u, moved by columns of the Delassus operator D = J V Jᵀ. A column is made
//               when the impulse of its row first changes: most contacts stay open and most limits far away.
//   BodySpace   the bodies' velocities u, moved by columns of V; nothing grows with the square of the rows.
//
//   prepare(team, laws, system, impulses, row)
//                                          before the row or contact that begins with `row` is solved: how many rows
//                                          and contacts have their block from now on that had none before. Their first
//                                          rows are given by prepared_row(k).
//   block(row, k, l)                       (J V Jᵀ) of rows row + k and row + l
//   velocity(row)                          change of J u since the start of the sweeps
//   apply_impulses(team, row, n, x)        adds what impulses x along n rows from `row` on do to the velocities
//   moved()                                what a visit reads and writes: velocity, has_block(row) whether `prepare` is
//                                          done, and move(team, row, n, x, each), which calls each(k) too
//
// Velocities begin with RowSpace::start, from du_linear and du_angular and so without new impulses, and with
// BlockSweeps::renew (listed_sweeps.hpp). Cost of an impulse on three rows: 3 n with n swept rows in RowSpace; 36 m and
// the gathering of each row's velocity in BodySpace, with m bodies in the trees that it touches. So RowSpace is for
// articulated bodies, BodySpace for many of them. Free bodies, whose V is two blocks each, have sweeps of their own
// (coloured_sweeps.hpp). Called by swept_units.hpp, contact_sweeps.hpp, listed_sweeps.hpp and sweep_round.hpp alone.
#pragma once

#include "engine/contact_solver/row_space.hpp"

namespace axion::solver {

template <typename Real>
struct BodySpace {
  SweptGeometry<Real> geometry;
  ArrayView<Real> body_velocity;  // six a body: change since the start of the sweeps
  JointResponse<Real> joints;

  // Blocks are made at the start.
  template <typename Team>
  AXION_HD int prepare(const Team&, const SweptLaws<Real>&, const SweptSystem<Real>&, const Real*, int) {
    return 0;
  }
  AXION_HD int prepared_row(int) const { return 0; }
  AXION_HD bool has_block(int) const { return true; }
  AXION_HD BodySpace& moved() { return *this; }

  AXION_HD Real velocity(int row) const {
    const RowBodies on = geometry.bodies(row);
    const model::Row<Real>& r = geometry.row[row];
    const Real* a = body_velocity + 6 * on.a;
    Real v = 0;
    for (int k = 0; k < 3; ++k) v += r.l[k] * a[k] + r.k_a[k] * a[3 + k];
    if (on.b < 0) return v;
    const Real* b = body_velocity + 6 * on.b;
    for (int k = 0; k < 3; ++k) v += r.k_b[k] * b[3 + k] - r.l[k] * b[k];
    return v;
  }

  AXION_HD_CALL Real block(int row, int k, int l) const {
    const RowBodies on = geometry.bodies(row);
    const int bodies[2] = {on.a, on.b};
    Real sum = 0;
    for (int j = 0; j < (on.b < 0 ? 1 : 2); ++j) {
      Real f[6];
      row_against(geometry.row[row + l], j == 0, f);
      for (int i = 0; i < (on.b < 0 ? 1 : 2); ++i) {
        const int start = joints.tree_start(bodies[j]);
        if (joints.tree_start(bodies[i]) != start) continue;
        Real J[6];
        row_against(geometry.row[row + k], i == 0, J);
        for (int c = 0; c < 6; ++c) {
          const Real* column_of = joints.column(bodies[j], c) + 6 * (bodies[i] - start);
          for (int r = 0; r < 6; ++r) sum += J[r] * column_of[r] * f[c];
        }
      }
    }
    return sum;
  }

  template <typename Team>
  AXION_HD_CALL void apply_to_body(const Team& team, int b, const Real (&f)[6]) {
    const Real* column = joints.column(b, 0);
    const int start = joints.tree_start(b), length = 6 * joints.tree_size(b);
    Real* u = body_velocity + 6 * start;
    team.for_each(length, [&](int k) {
      u[k] += column[k] * f[0] + column[length + k] * f[1] + column[2 * length + k] * f[2] +
              column[3 * length + k] * f[3] + column[4 * length + k] * f[4] + column[5 * length + k] * f[5];
    });
  }

  template <typename Team>
  AXION_HD_CALL void apply_impulses(const Team& team, int row, int count, const Real* change) {
    const RowBodies on = geometry.bodies(row);
    Real f_a[6] = {}, f_b[6] = {};
    for (int k = 0; k < count; ++k) {
      Real J[6];
      row_against(geometry.row[row + k], true, J);
      for (int c = 0; c < 6; ++c) f_a[c] += J[c] * change[k];
      row_against(geometry.row[row + k], false, J);
      for (int c = 0; c < 6; ++c) f_b[c] += J[c] * change[k];
    }
    apply_to_body(team, on.a, f_a);
    if (on.b >= 0) apply_to_body(team, on.b, f_b);
  }

  template <typename Team, typename Each>
  AXION_HD void move(const Team& team, int row, int count, const Real* x, Each&& each) {
    apply_impulses(team, row, count, x);
    team.for_each(3, each);
  }
};

template <typename Real>
AXION_HD inline BodySpace<Real> body_space(const Problem<Real>& p) {
  return {swept_geometry(p), p.w.sweeps.body_velocity, JointResponse<Real>(p)};
}

}  // namespace axion::solver
