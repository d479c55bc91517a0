// The velocities that sweeps over contacts move, with V the joint response (joint_inverse.hpp), in two forms with one
// interface.
//
//   RowSpace    the rows' own velocities J u, moved by columns of the Delassus operator D = J V Jᵀ. A column is made
//               when the impulse of its row first changes: most contacts stay open and most limits far away.
//   BodySpace   the bodies' velocities u, moved by columns of V; nothing grows with the square of the rows.
//
//   prepare(team, p, row)                  before the row or contact that begins with `row` is solved: how many rows
//                                          and contacts have their block from now on that had none before. Their first
//                                          rows are in push_block.
//   block(p, row, k, l)                    (J V Jᵀ) of rows row + k and row + l
//   velocity(p, row)                       change of J u since the start of the sweeps
//   apply_impulses(team, p, row, n, x)     adds what impulses x along n rows from `row` on do to the velocities
//
// Velocities begin with RowSpace::start, from du_linear and du_angular and so without new impulses, and with
// BlockSweeps::renew (listed_sweeps.hpp). Cost of an impulse on three rows: 3 n with n swept rows in RowSpace; 36 m and
// the gathering of each row's velocity in BodySpace, with m bodies in the trees that it touches. So RowSpace is for
// articulated bodies, BodySpace for many of them. Free bodies, whose V is two blocks each, have sweeps of their own
// (coloured_sweeps.hpp). Called by swept_rows.hpp, contact_sweeps.hpp, listed_sweeps.hpp and sweep_round.hpp alone.
#pragma once

#include "engine/contact_solver/sweep_scratch.hpp"
#include "engine/tree/loop_response.hpp"

namespace axion::solver {

// Bodies of a row of limits, efforts or contacts, b -1 for the world. Rows of tendons, which have more, are zero in
// `row`, and are seen to where all others have been.
struct RowBodies {
  int a, b;
};

template <typename Real>
AXION_HD inline RowBodies swept_bodies(const Problem<Real>& p, int row) {
  const int* on = p.w.sweeps.row_bodies + 2 * (row - p.limit_base());
  return {on[0], on[1]};
}

template <typename Real, typename Team>
AXION_HD inline void note_bodies(const Team& team, const Problem<Real>& p) {
  team.for_each(p.row_count() - p.limit_base(), [&](int i) {
    bodies_of_row(p, p.limit_base() + i, p.w.sweeps.row_bodies[2 * i], p.w.sweeps.row_bodies[2 * i + 1]);
  });
}

// Rows from `row` on that are solved together.
template <typename Real>
AXION_HD inline int swept_together(const Problem<Real>& p, int row) {
  return row < p.contact_base() ? 1 : 3;
}

struct BodySpace {
  // Blocks are made at the start.
  template <typename Real, typename Team>
  AXION_HD static int prepare(const Team&, const Problem<Real>&, int) {
    return 0;
  }

  template <typename Real>
  AXION_HD static Real velocity(const Problem<Real>& p, int row) {
    const RowBodies on = swept_bodies(p, row);
    const model::Row<Real>& r = p.w.row[row];
    const Real* a = p.w.sweeps.body_velocity + 6 * on.a;
    Real v = 0;
    for (int k = 0; k < 3; ++k) v += r.l[k] * a[k] + r.k_a[k] * a[3 + k];
    if (on.b < 0) return v;
    const Real* b = p.w.sweeps.body_velocity + 6 * on.b;
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
          const Real* column_of = response_column(p, bodies[j], c) + 6 * (bodies[i] - start);
          for (int r = 0; r < 6; ++r) sum += J[r] * column_of[r] * f[c];
        }
      }
    }
    return sum;
  }

  template <typename Real, typename Team>
  AXION_HD_CALL static void apply_to_body(const Team& team, const Problem<Real>& p, int b, const Real (&f)[6]) {
    const Real* column = response_column(p, b, 0);
    const int start = p.m.bodies[b].tree_start, length = 6 * p.m.bodies[b].tree_size;
    Real* u = p.w.sweeps.body_velocity + 6 * start;
    team.for_each(length, [&](int k) {
      u[k] += column[k] * f[0] + column[length + k] * f[1] + column[2 * length + k] * f[2] +
              column[3 * length + k] * f[3] + column[4 * length + k] * f[4] + column[5 * length + k] * f[5];
    });
  }

  template <typename Real, typename Team>
  AXION_HD_CALL static void apply_impulses(const Team& team, const Problem<Real>& p, int row, int count,
                                           const Real* change) {
    const RowBodies on = swept_bodies(p, row);
    Real f_a[6] = {}, f_b[6] = {};
    for (int k = 0; k < count; ++k) {
      Real J[6];
      row_against(p.w.row[row + k], true, J);
      for (int c = 0; c < 6; ++c) f_a[c] += J[c] * change[k];
      row_against(p.w.row[row + k], false, J);
      for (int c = 0; c < 6; ++c) f_b[c] += J[c] * change[k];
    }
    apply_to_body(team, p, on.a, f_a);
    if (on.b >= 0) apply_to_body(team, p, on.b, f_b);
  }
};

struct RowSpace {
  // Columns are whole vectors.
  template <typename Real>
  AXION_HD static int size(const Problem<Real>& p) {
    const int rows = p.row_count() - p.limit_base();
    constexpr int padding = SweepSizes::kDelassusPadding;
    static_assert((padding & (padding - 1)) == 0);
    return (rows + padding - 1) & -padding;
  }

  // Whether this step's rows fit, and columns of D cost less than columns of V.
  template <typename Real>
  AXION_HD static bool serves(const Problem<Real>& p) {
    return size(p) <= delassus_rows(p.m) && size(p) * p.m.body_count <= 24 * p.m.inverse_blocks;
  }

  template <typename Real, typename Team>
  AXION_HD static void start(const Team& team, const Problem<Real>& p) {
    const int rows = p.row_count() - p.limit_base();
    team.for_each(size(p), [&](int i) {
      p.w.sweeps.row_velocity[i] = 0;
      if (i >= rows) return;
      const RowBodies on = swept_bodies(p, p.limit_base() + i);
      p.w.sweeps.row_velocity[i] =
          constraints::row_velocity(p.w.row[p.limit_base() + i], on.a, on.b, p.w.du_linear, p.w.du_angular);
    });
    if (p.m.tendon_axis_count > 0) start_tendon_rows(team, p);
  }

  // After another factorisation no column holds.
  template <typename Real, typename Team>
  AXION_HD static void forget(const Team& team, const Problem<Real>& p) {
    team.for_each(size(p), [&](int i) { p.w.sweeps.delassus_known[i] = 0; });
  }

  // The columns of a row or contact, and in the remaining lanes those of the next rows without a column that will not
  // stay open at the present velocities: one passage through the tree serves them all.
  template <typename Real, typename Team>
  AXION_HD static int prepare(const Team& team, const Problem<Real>& p, int row) {
    return p.w.sweeps.delassus_known[row - p.limit_base()] != 0 ? 0 : find_columns(team, p, row);
  }

  template <typename Real, typename Team>
  AXION_HD_CALL static int find_columns(const Team& team, const Problem<Real>& p, int row) {
    const int base = p.limit_base(), single = p.contact_base() - base, all = single + p.block_count();
    const int start = row < p.contact_base() ? row - base : single + (row - p.contact_base()) / 3;
    const auto row_of = [&](int k) {
      const int index = start + k < all ? start + k : start + k - all;
      return base + (index < single ? index : single + 3 * (index - single));
    };
    const int found = team.filter(
        all,
        [&](int k) {
          const int on = row_of(k);
          if (p.w.sweeps.delassus_known[on - base] != 0) return false;
          return k == 0 || would_change(p, on);
        },
        [&](int k, int place) {
          if (place < kPushLanes) p.w.sweeps.push_block[place] = row_of(k);
        });
    team.for_each(1, [&](int) { fill_lanes(p, found); });
    const int lanes = p.w.sweeps.push_count[0], blocks = p.w.sweeps.push_count[1];
    if (lanes <= SweepSizes::kFewLanes) {
      make_columns<SweepSizes::kFewLanes>(team, p, lanes);
    } else {
      make_columns<kPushLanes>(team, p, lanes);
    }
    return blocks;
  }

  template <typename Real>
  AXION_HD static Real block(const Problem<Real>& p, int row, int k, int l) {
    const int first = row - p.limit_base();
    return p.w.sweeps.delassus[(first + l) * size(p) + first + k];
  }

  template <typename Real>
  AXION_HD static Real velocity(const Problem<Real>& p, int row) {
    return p.w.sweeps.row_velocity[row - p.limit_base()];
  }

  template <typename Real, typename Team>
  AXION_HD static void apply_impulses(const Team& team, const Problem<Real>& p, int row, int count,
                                      const Real* change) {
    const int length = size(p);
    const Real* column = p.w.sweeps.delassus + (row - p.limit_base()) * length;
    Real* v = p.w.sweeps.row_velocity;
    constexpr int lanes = team::pack_lanes<Team, Real>(SweepSizes::kDelassusPadding);
    const auto part = [](const Real* from, int i) AXION_INLINED { return lanes::load_pack<lanes>(from + lanes * i); };
    if (count == 1) {
      const Real x = change[0];
      team.for_each(length / lanes,
                    [=](int i) { lanes::store_pack<lanes>(v + lanes * i, part(v, i) + part(column, i) * x); });
    } else {
      const Real x = change[0], y = change[1], z = change[2];
      const Real *second = column + length, *third = second + length;
      team.for_each(length / lanes, [=](int i) {
        lanes::store_pack<lanes>(v + lanes * i,
                                 part(v, i) + (part(column, i) * x + part(second, i) * y + part(third, i) * z));
      });
    }
  }

 private:
  // Whether a sweep would do something with the row, or contact, that begins with `row`, as velocities are.
  template <typename Real>
  AXION_HD static bool would_change(const Problem<Real>& p, int row) {
    const Real* lambda = p.w.lambda + row;
    if (row >= p.moment_base()) {
      const MomentBounds<Real> bound = moment_bounds(p, (row - p.moment_base()) / 3);
      return bound.torsional > Real(0) || bound.rolling > Real(0) || lambda[0] != Real(0) || lambda[1] != Real(0) ||
             lambda[2] != Real(0);
    }
    const bool bounded = row >= p.effort_base() && row < p.contact_base();
    if (bounded || lambda[0] != Real(0) || p.w.sweeps.start_velocity[row] + velocity(p, row) < Real(0)) return true;
    return row >= p.contact_base() && (lambda[1] != Real(0) || lambda[2] != Real(0));
  }

  // Calls f(row, tendon, sign) for the limits and efforts of tendons; sign as the row points
  // beside the tendon's length.
  template <typename Real, typename F>
  AXION_HD static void for_each_tendon_row(const Problem<Real>& p, F&& f) {
    for (int t = 0; t < p.m.tendon_axis_count; ++t) {
      for_each_row_of_axis(p, p.m.tendons[t].axis, [&](int row, Real sign) { f(row, t, sign); });
    }
  }

  // Calls f(body, term, whether it is the term's body a) for the bodies of a tendon's terms.
  template <typename Real, typename F>
  AXION_HD static void for_each_side(const Problem<Real>& p, int t, F&& f) {
    constraints::for_each_term<Real>(p.m.tendons[t], [&](int k) {
      const model::TendonTermData<Real>& term = p.m.tendon_terms[k];
      f(term.a, k, true);
      if (term.b >= 0) f(term.b, k, false);
    });
  }

  // row_velocity of tendons' rows.
  template <typename Real, typename Team>
  AXION_HD_RARE static void start_tendon_rows(const Team& team, const Problem<Real>& p) {
    team.for_each(1, [&](int) {
      for_each_tendon_row(p, [&](int row, int t, Real sign) {
        p.w.sweeps.row_velocity[row - p.limit_base()] =
            sign *
            constraints::tendon_velocity<Real>(p.m, p.m.tendons[t], p.w.tendon_force, p.w.du_linear, p.w.du_angular);
      });
    });
  }

  // Bodies that the rows of tendons among the lanes touch.
  template <typename Real>
  AXION_HD_RARE static void touch_tendons(const Problem<Real>& p, int used) {
    for (int lane = 0; lane < used; ++lane) {
      const int row = p.w.sweeps.push_row[lane], t = row < p.contact_base() ? find_tendon(p, row) : -1;
      if (t >= 0) for_each_side(p, t, [&](int b, int, bool) { p.w.sweeps.body_touched[b] = 1; });
    }
  }

  // Adds to the lanes of f the impulses on bodies of one along rows of tendons.
  template <int lanes, typename Real, typename Team>
  AXION_HD_RARE static void push_tendons(const Team& team, const Problem<Real>& p, int used, Real* f) {
    team.for_each(used, [&](int lane) {
      const int row = p.w.sweeps.push_row[lane], t = row < p.contact_base() ? find_tendon(p, row) : -1;
      if (t < 0) return;
      const Real sign = sign_along(p, p.m.tendons[t].axis, row);
      for_each_side(p, t, [&](int b, int term, bool is_child) {
        Real J[6];
        row_against(p.w.tendon_force[term], is_child, J);
        for (int c = 0; c < 6; ++c) f[6 * lanes * b + lanes * c + lane] += sign * J[c];
      });
    });
  }

  // Entries of the lanes' columns of D in the rows of tendons.
  template <int lanes, typename Real, typename Team>
  AXION_HD_RARE static void finish_tendon_rows(const Team& team, const Problem<Real>& p, int used, const Real* u) {
    constexpr int width = team::pack_lanes<Team, Real>(lanes);
    const int base = p.limit_base(), length = size(p);
    team.for_each((used + width - 1) / width, [&](int part) {
      const int at = width * part;
      for_each_tendon_row(p, [&](int row, int t, Real sign) {
        lanes::Pack<Real, width> sum{};
        for_each_side(p, t, [&](int b, int term, bool is_child) {
          Real J[6];
          row_against(p.w.tendon_force[term], is_child, J);
          const Real* of_body = u + 6 * lanes * b + at;
          const auto add = [&](int c)
                               AXION_INLINED { sum = sum + J[c] * lanes::load_pack<width>(of_body + lanes * c); };
          const bool moves = J[0] != Real(0) || J[1] != Real(0) || J[2] != Real(0);  // not so along turning axes
          for (int c = 0; c < 3 && moves; ++c) add(c);
          for (int c = 3; c < 6; ++c) add(c);
        });
        sum = sign * sum;
        for (int k = 0; k < width && at + k < used; ++k) {
          const int column = p.w.sweeps.push_row[at + k] - base;
          p.w.sweeps.delassus[column * length + row - base] = lanes::lane<width, Real>(sum, k);
        }
      });
    });
  }

  // The lanes of the blocks found: as many as fit, their columns known from now on. Bodies that they touch.
  template <typename Real>
  AXION_HD static void fill_lanes(const Problem<Real>& p, int found) {
    int lanes = 0, blocks = 0;
    const int bodies = p.m.body_count, base = p.limit_base(), contacts = p.contact_base();
    const model::BodyData<Real>* body = p.m.bodies;
    const int *block_row = p.w.sweeps.push_block, *sweep_body = p.w.sweeps.row_bodies;
    int *touched = p.w.sweeps.body_touched, *known = p.w.sweeps.delassus_known, *lane_row = p.w.sweeps.push_row;
    for (int b = 0; b < bodies; ++b) touched[b] = 0;
    for (; blocks < found && blocks < kPushLanes; ++blocks) {
      const int row = block_row[blocks], count = row < contacts ? 1 : 3;
      if (lanes + count > kPushLanes) break;
      for (int k = 0; k < count; ++k) lane_row[lanes++] = row + k;
      known[row - base] = 1;
      const int *on = sweep_body + 2 * (row - base), a = on[0], b = on[1];
      touched[a] = 1;
      if (b >= 0) touched[b] = 1;
    }
    if (p.m.tendon_axis_count > 0) touch_tendons(p, lanes);
    for (int b = bodies - 1; b >= 0; --b) {
      if (touched[b] != 0 && body[b].parent >= 0) touched[body[b].parent] = 1;
    }
    p.w.sweeps.push_count[0] = lanes, p.w.sweeps.push_count[1] = blocks;
  }

  // J V for the rows of the lanes, and from it their columns of D.
  template <int lanes, typename Real, typename Team>
  AXION_HD static void make_columns(const Team& team, const Problem<Real>& p, int used) {
    constexpr int width = team::pack_lanes<Team, Real>(lanes), parts = lanes / width, block = 6 * lanes;
    const int base = p.limit_base(), length = size(p), rows = p.row_count() - base, bodies = p.m.body_count;
    Real *u = p.w.sweeps.push_velocity, *f = p.w.sweeps.push_impulse;
    const int *lane_row = p.w.sweeps.push_row, *touched = p.w.sweeps.body_touched;
    if constexpr (Team::kSharesByWarp) {
      team.for_each(bodies * block / 4, [=](int i) {
        if (touched[i / (block / 4)] != 0) store_four(f + 4 * i, Real(0), Real(0), Real(0), Real(0));
      });
    } else {
      team.for_each(bodies, [=](int b) {
        if (touched[b] == 0) return;
        for (int k = 0; k < 6 * parts; ++k) {
          lanes::store_pack<width>(f + block * b + width * k, lanes::Pack<Real, width>{});
        }
      });
    }
    team.for_each(used, [&](int lane) {
      const RowBodies on = swept_bodies(p, lane_row[lane]);
      Real J[6];
      row_against(p.w.row[lane_row[lane]], true, J);
      for (int c = 0; c < 6; ++c) f[block * on.a + lanes * c + lane] = J[c];
      if (on.b < 0) return;
      row_against(p.w.row[lane_row[lane]], false, J);
      for (int c = 0; c < 6; ++c) f[block * on.b + lanes * c + lane] = J[c];
    });
    if (p.m.tendon_axis_count > 0) push_tendons<lanes>(team, p, used, f);
    push_lanes<lanes>(team, p, touched, f, u);
    if (has_loop_rows(p)) close_lanes<lanes>(team, p, u);
    const int* on = p.w.sweeps.row_bodies;
    const model::Row<Real>* row = p.w.row + base;
    const auto velocities = [=](int i, int at) AXION_INLINED {
      lanes::Pack<Real, width> sum{};
      if (i >= rows) return sum;
      const int a = on[2 * i], b = on[2 * i + 1];
      const model::Row<Real>& r = row[i];
      // Half of the rows, limits and efforts of turning axes, have no linear part.
      const bool moves = r.l.x != Real(0) || r.l.y != Real(0) || r.l.z != Real(0);
      const auto add = [&](Real factor, int body, int c) AXION_INLINED {
        sum = sum + factor * lanes::load_pack<width>(u + block * body + lanes * c + at);
      };
      for (int k = 0; k < 3 && moves; ++k) add(r.l[k], a, k);
      for (int k = 0; k < 3; ++k) add(r.k_a[k], a, 3 + k);
      if (b < 0) return sum;
      for (int k = 0; k < 3 && moves; ++k) add(-r.l[k], b, k);
      for (int k = 0; k < 3; ++k) add(r.k_b[k], b, 3 + k);
      return sum;
    };
    Real* delassus = p.w.sweeps.delassus;
    if constexpr (width >= 4) {
      team.for_each(length / 4 * parts, [=](int task) AXION_INLINED {
        const int i = task / parts * 4, at = task % parts * width;
        lanes::for_columns_of_four<width, Real>(
            velocities(i, at), velocities(i + 1, at), velocities(i + 2, at), velocities(i + 3, at),
            [=](auto k, const lanes::Pack<Real, 4>& column) AXION_INLINED {
              if (at + k < used) lanes::store_pack<4>(delassus + (lane_row[at + k] - base) * length + i, column);
            });
      });
    } else {
      team.for_each(length * parts, [=](int task) {
        const int i = task / parts, at = task % parts * width;
        const lanes::Pack<Real, width> sum = velocities(i, at);
        for (int k = 0; k < width && at + k < used; ++k) {
          delassus[(lane_row[at + k] - base) * length + i] = lanes::lane<width, Real>(sum, k);
        }
      });
    }
    if (p.m.tendon_axis_count > 0) finish_tendon_rows<lanes>(team, p, used, u);
  }
};

}  // namespace axion::solver
