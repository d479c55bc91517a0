// What sweeps over contacts need of V, the inverse of the joint tree (joint_inverse.hpp), in two forms with one interface.
//
//   DelassusVelocities  the rows' own velocities J u, moved by columns of the Delassus matrix D = J V Jᵀ. A column is made when
//                       the impulse of its row first changes: most contacts stay open and most limits far away.
//   TreeVelocities      the bodies' velocities u, moved by columns of V; nothing grows with the square of the rows.
// An impulse on three rows costs 3 n in the first, n rows in all, and 36 m and the gathering of each row's velocity in the
// second, m bodies in the trees it touches: the first is for articulated bodies, the second for piles.
//   start(team, p)             after invert_joints, with du_linear and du_angular: the velocities without new impulses
//   prepare(team, p, row, n)   before the first solve of n rows from `row` on: whether their block was not there yet
//   block(p, row, k, l)        (J V Jᵀ) of rows row + k and row + l
//   velocity(p, row)           change of J u since the sweeps' start
//   push(team, p, row, n, x)   impulses x along n rows from `row` on
//   values(p), last(p), size(p)  what is to be combined as impulses are, and room for its last
// Called by contact_sweeps.hpp alone.
#pragma once

#include "engine/solver/joint_inverse.hpp"

namespace axion::solver {

// Bodies of a row of limits, efforts or contacts, b -1 for the world.
struct RowBodies {
  int a, b;
};

template <typename Real>
AXION_HD inline RowBodies swept_bodies(const Problem<Real>& p, int row) {
  const int* on = p.w.sweep_body + 2 * (row - p.limit_base());
  return {on[0], on[1]};
}

template <typename Real, typename Team>
AXION_HD inline void note_bodies(const Team& team, const Problem<Real>& p) {
  team.for_each(p.row_count() - p.limit_base(), [&](int i) {
    bodies_of_row(p, p.limit_base() + i, p.w.sweep_body[2 * i], p.w.sweep_body[2 * i + 1]);
  });
}

struct TreeVelocities {
  static constexpr bool kHasMatrix = false;

  template <typename Real>
  AXION_HD static Real* values(const Problem<Real>& p) {
    return p.w.sweep_velocity;
  }
  template <typename Real>
  AXION_HD static Real* last(const Problem<Real>& p) {
    return p.w.sweep_last;
  }
  template <typename Real>
  AXION_HD static int size(const Problem<Real>& p) {
    return 6 * p.m.body_count;
  }

  template <typename Real, typename Team>
  AXION_HD static void start(const Team& team, const Problem<Real>& p) {
    team.for_each(p.m.body_count, [&](int b) {
      Real* u = p.w.sweep_velocity + 6 * b;
      for (int k = 0; k < 3; ++k) {
        u[k] = p.w.du_linear[b][k];
        u[3 + k] = p.w.du_angular[b][k];
      }
    });
  }

  // Blocks are made at the start.
  template <typename Real, typename Team>
  AXION_HD static bool prepare(const Team&, const Problem<Real>&, int, int) {
    return false;
  }

  template <typename Real>
  AXION_HD static Real velocity(const Problem<Real>& p, int row) {
    const RowBodies on = swept_bodies(p, row);
    const model::Row<Real>& r = p.w.row[row];
    const Real* a = p.w.sweep_velocity + 6 * on.a;
    Real v = 0;
    for (int k = 0; k < 3; ++k) v += r.l[k] * a[k] + r.k_a[k] * a[3 + k];
    if (on.b < 0) return v;
    const Real* b = p.w.sweep_velocity + 6 * on.b;
    for (int k = 0; k < 3; ++k) v += r.k_b[k] * b[3 + k] - r.l[k] * b[k];
    return v;
  }

  template <typename Real>
  AXION_HD_CALL static Real block(const Problem<Real>& p, int row, int k, int l) {
    const RowBodies on = swept_bodies(p, row);
    const int bodies[2] = {on.a, on.b};
    Real sum = 0;
    for (int j = 0; j < (on.b < 0 ? 1 : 2); ++j) {
      Real f[6];
      row_against(p.w.row[row + l], j == 0, f);
      for (int i = 0; i < (on.b < 0 ? 1 : 2); ++i) {
        const int start = p.m.bodies[bodies[j]].tree_start;
        if (p.m.bodies[bodies[i]].tree_start != start) continue;
        Real J[6];
        row_against(p.w.row[row + k], i == 0, J);
        for (int c = 0; c < 6; ++c) {
          const Real* column_of = inverse_column(p, bodies[j], c) + 6 * (bodies[i] - start);
          for (int r = 0; r < 6; ++r) sum += J[r] * column_of[r] * f[c];
        }
      }
    }
    return sum;
  }

  template <typename Real, typename Team>
  AXION_HD_CALL static void push_body(const Team& team, const Problem<Real>& p, int b, const Real (&f)[6]) {
    const Real* column = inverse_column(p, b, 0);
    const int start = p.m.bodies[b].tree_start, length = 6 * p.m.bodies[b].tree_size;
    Real* u = p.w.sweep_velocity + 6 * start;
    team.for_each(length, [&](int k) {
      u[k] += column[k] * f[0] + column[length + k] * f[1] + column[2 * length + k] * f[2] +
              column[3 * length + k] * f[3] + column[4 * length + k] * f[4] + column[5 * length + k] * f[5];
    });
  }

  template <typename Real, typename Team>
  AXION_HD_CALL static void push(const Team& team, const Problem<Real>& p, int row, int count, const Real* change) {
    const RowBodies on = swept_bodies(p, row);
    Real f_a[6] = {}, f_b[6] = {};
    for (int k = 0; k < count; ++k) {
      Real J[6];
      row_against(p.w.row[row + k], true, J);
      for (int c = 0; c < 6; ++c) f_a[c] += J[c] * change[k];
      row_against(p.w.row[row + k], false, J);
      for (int c = 0; c < 6; ++c) f_b[c] += J[c] * change[k];
    }
    push_body(team, p, on.a, f_a);
    if (on.b >= 0) push_body(team, p, on.b, f_b);
  }
};

struct DelassusVelocities {
  static constexpr bool kHasMatrix = true;

  template <typename Real>
  AXION_HD static Real* values(const Problem<Real>& p) {
    return p.w.row_velocity;
  }
  template <typename Real>
  AXION_HD static Real* last(const Problem<Real>& p) {
    return p.w.row_last;
  }
  // Columns are whole vectors.
  template <typename Real>
  AXION_HD static int size(const Problem<Real>& p) {
    const int rows = p.row_count() - p.limit_base();
    return (rows + model::kDelassusPadding - 1) / model::kDelassusPadding * model::kDelassusPadding;
  }

  // Whether this step's rows fit, and columns of D are shorter than what columns of V cost.
  template <typename Real>
  AXION_HD static bool serves(const Problem<Real>& p) {
    return size(p) <= model::delassus_rows(p.m) && size(p) * p.m.body_count <= 24 * p.m.inverse_blocks;
  }

  template <typename Real, typename Team>
  AXION_HD static void start(const Team& team, const Problem<Real>& p) {
    const int rows = p.row_count() - p.limit_base();
    team.for_each(size(p), [&](int i) {
      p.w.row_velocity[i] = 0;
      if (i >= rows) return;
      const RowBodies on = swept_bodies(p, p.limit_base() + i);
      p.w.row_velocity[i] =
          constraints::row_velocity(p.w.row[p.limit_base() + i], on.a, on.b, p.w.du_linear, p.w.du_angular);
    });
  }

  // After another factorisation no column holds.
  template <typename Real, typename Team>
  AXION_HD static void forget(const Team& team, const Problem<Real>& p) {
    team.for_each(size(p), [&](int i) { p.w.delassus_known[i] = 0; });
  }

  // Velocities of all bodies for a unit impulse along each of the rows, in lanes of four.
  template <typename Real, typename Team>
  AXION_HD static void push_bodies(const Team& team, const Problem<Real>& p, int row, int count) {
    Real *u = p.w.delassus_push, *f = u + 24 * p.m.body_count;
    const RowBodies on = swept_bodies(p, row);
    team.for_each(24 * p.m.body_count, [=](int i) { u[i] = 0; });
    for (int side = 0; side < (on.b < 0 ? 1 : 2); ++side) {
      team.for_each(4, [&](int k) {
        Real J[6] = {};
        if (k < count) row_against(p.w.row[row + k], side == 0, J);
        for (int c = 0; c < 6; ++c) f[4 * c + k] = J[c];
      });
      push_up(team, p, side == 0 ? on.a : on.b, f, u);
    }
    const model::BodyData<Real>& a = p.m.bodies[on.a];
    push_down(team, p, a.tree_start, a.tree_size, u);
    if (on.b < 0 || p.m.bodies[on.b].tree_start == a.tree_start) return;
    push_down(team, p, p.m.bodies[on.b].tree_start, p.m.bodies[on.b].tree_size, u);
  }

  template <typename Real, typename Team>
  AXION_HD_CALL static bool prepare(const Team& team, const Problem<Real>& p, int row, int count) {
    const int base = p.limit_base(), first = row - base, length = size(p);
    if (p.w.delassus_known[first] != 0) return false;
    push_bodies(team, p, row, count);
    team.for_each(length, [&](int i) {
      math::Quad<Real> sum{};
      if (i == first) p.w.delassus_known[i] = 1;
      if (i < p.row_count() - base) {
        const RowBodies on = swept_bodies(p, base + i);
        const model::Row<Real>& r = p.w.row[base + i];
        // Half of the rows, limits and efforts of turning axes, have no linear part.
        const bool moves = r.l.x != Real(0) || r.l.y != Real(0) || r.l.z != Real(0);
        const Real* a = p.w.delassus_push + 24 * on.a;
        for (int k = 0; k < 3 && moves; ++k) sum.add_product(r.l[k], math::Quad<Real>::load(a + 4 * k));
        for (int k = 0; k < 3; ++k) sum.add_product(r.k_a[k], math::Quad<Real>::load(a + 12 + 4 * k));
        if (on.b >= 0) {
          const Real* b = p.w.delassus_push + 24 * on.b;
          for (int k = 0; k < 3 && moves; ++k) sum.add_product(-r.l[k], math::Quad<Real>::load(b + 4 * k));
          for (int k = 0; k < 3; ++k) sum.add_product(r.k_b[k], math::Quad<Real>::load(b + 12 + 4 * k));
        }
      }
      for (int k = 0; k < count; ++k) p.w.delassus[(first + k) * length + i] = sum[k];
    });
    return true;
  }

  template <typename Real>
  AXION_HD static Real block(const Problem<Real>& p, int row, int k, int l) {
    const int first = row - p.limit_base();
    return p.w.delassus[(first + l) * size(p) + first + k];
  }

  template <typename Real>
  AXION_HD static Real velocity(const Problem<Real>& p, int row) {
    return p.w.row_velocity[row - p.limit_base()];
  }

  template <typename Real, typename Team>
  AXION_HD static void push(const Team& team, const Problem<Real>& p, int row, int count, const Real* change) {
    const int length = size(p);
    const Real* column = p.w.delassus + (row - p.limit_base()) * length;
    Real* v = p.w.row_velocity;
    if (count == 1) {
      const Real x = change[0];
      team.for_each(length, [=](int i) { v[i] += column[i] * x; });
    } else {
      const Real x = change[0], y = change[1], z = change[2];
      team.for_each(length, [=](int i) {
        v[i] += column[i] * x + column[length + i] * y + column[2 * length + i] * z;
      });
    }
  }
};

}  // namespace axion::solver
