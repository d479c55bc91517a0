// RowSpace, the velocities of the swept rows (sweep_velocities.hpp), and the columns of the Delassus operator
// D = J V Jᵀ that move them, made as sweeps ask for them.
//
// A column is what an impulse of one along its row does to the velocities of all swept rows. Impulses along up to
// kPushLanes rows are passed through the joints at once.
//
// In: rows and their bodies, the joint response. Out: the columns, and `known` for the rows that have theirs. Cost: a
// passage through the trees of the rows in the lanes, and a pass over all swept rows. Called by sweeps and by steps on
// the active set.
#pragma once

#include "engine/contact_solver/joint_response.hpp"

namespace axion::solver {

// Tendons with an axis, whose limits and efforts are swept rows over more than two bodies.
template <typename Real>
struct SweptTendons {
  const model::ModelView<Real>& m;
  const model::Row<Real>* force;  // [nterm] rows of their terms at q⁻
  const int* limit_side;          // [nlimit]

  AXION_HD bool exist() const { return m.tendon_axis_count > 0; }
  AXION_HD Real sign_along(int t, int row) const { return solver::sign_along(m, limit_side, m.tendons[t].axis, row); }

  // Calls f(row, tendon, sign) for the limits and efforts of tendons; sign as the row points beside the tendon's
  // length.
  template <typename F>
  AXION_HD void for_each_row(F&& f) const {
    for (int t = 0; t < m.tendon_axis_count; ++t) {
      for_each_row_of_axis(m, limit_side, m.tendons[t].axis, [&](int row, Real sign) { f(row, t, sign); });
    }
  }

  // Calls f(body, term, whether it is the term's body a) for the bodies of a tendon's terms.
  template <typename F>
  AXION_HD void for_each_side(int t, F&& f) const {
    constraints::for_each_term<Real>(m.tendons[t], [&](int k) {
      const model::TendonTermData<Real>& term = m.tendon_terms[k];
      f(term.a, k, true);
      if (term.b >= 0) f(term.b, k, false);
    });
  }
};

// Rows whose impulses pass through the joints together, a lane each.
template <typename Real>
struct PushedLanes {
  ArrayView<Real> velocity, impulse;  // [nb × 6 × kPushLanes] of the bodies
  ArrayView<int> row;                 // [kPushLanes]
  ArrayView<int> block;               // [kPushLanes] the first row of each row or contact
  ArrayView<int> count;               // [2] rows, and rows and contacts
  ArrayView<int> touched;             // [nb] whether they act on a body, or on one that hangs on it
};

// Columns are whole vectors.
AXION_HD inline int delassus_length(const RowLayout& rows) {
  constexpr int padding = SweepSizes::kDelassusPadding;
  static_assert((padding & (padding - 1)) == 0);
  return (rows.row_count() - rows.limit_base() + padding - 1) & -padding;
}

template <typename Real>
struct DelassusColumns {
  ArrayView<Real> delassus;  // [length^2 + 1] by columns
  ArrayView<int> known;      // [length] whether a row's column is there
  SweptGeometry<Real> geometry;
  SweptTendons<Real> tendons;
  PushedLanes<Real> push;
  JointResponse<Real> joints;
  const model::BodyData<Real>* bodies;
  int rows, length, contact_base, body_count;

  // After another factorisation no column holds.
  template <typename Team>
  AXION_HD void forget(const Team& team) {
    team.for_each(length, [&](int i) { known[i] = 0; });
  }

  // The columns of the first of the `found` blocks in `push`, as many as fit. Returns of how many blocks.
  template <typename Team>
  AXION_HD_CALL int make(const Team& team, int found) {
    team.for_each(1, [&](int) { fill_lanes(found); });
    const int lanes = push.count[0], blocks = push.count[1];
    if (lanes <= SweepSizes::kFewLanes) {
      make_columns<SweepSizes::kFewLanes>(team, lanes);
    } else {
      make_columns<kPushLanes>(team, lanes);
    }
    return blocks;
  }

 private:
  // Bodies that the rows of tendons among the lanes touch.
  AXION_HD_RARE void touch_tendons(int used) {
    for (int lane = 0; lane < used; ++lane) {
      const int row = push.row[lane], t = row < contact_base ? joints.tendon_of_row(row) : -1;
      if (t >= 0) tendons.for_each_side(t, [&](int b, int, bool) { push.touched[b] = 1; });
    }
  }

  // Adds to the lanes of f the impulses on bodies of one along rows of tendons.
  template <int lanes, typename Team>
  AXION_HD_RARE void push_tendons(const Team& team, int used, Real* f) {
    team.for_each(used, [&](int lane) {
      const int row = push.row[lane], t = row < contact_base ? joints.tendon_of_row(row) : -1;
      if (t < 0) return;
      const Real sign = tendons.sign_along(t, row);
      tendons.for_each_side(t, [&](int b, int term, bool is_child) {
        Real J[6];
        row_against(tendons.force[term], is_child, J);
        for (int c = 0; c < 6; ++c) f[6 * lanes * b + lanes * c + lane] += sign * J[c];
      });
    });
  }

  // Entries of the lanes' columns of D in the rows of tendons.
  template <int lanes, typename Team>
  AXION_HD_RARE void finish_tendon_rows(const Team& team, int used, const Real* u) {
    constexpr int width = team::pack_lanes<Team, Real>(lanes);
    const int base = geometry.limit_base, length = this->length;
    team.for_each((used + width - 1) / width, [&](int part) {
      const int at = width * part;
      tendons.for_each_row([&](int row, int t, Real sign) {
        lanes::Pack<Real, width> sum{};
        tendons.for_each_side(t, [&](int b, int term, bool is_child) {
          Real J[6];
          row_against(tendons.force[term], is_child, J);
          const Real* of_body = u + 6 * lanes * b + at;
          const auto add = [&](int c)
                               AXION_INLINED { sum = sum + J[c] * lanes::load_pack<width>(of_body + lanes * c); };
          const bool moves = J[0] != Real(0) || J[1] != Real(0) || J[2] != Real(0);  // not so along turning axes
          for (int c = 0; c < 3 && moves; ++c) add(c);
          for (int c = 3; c < 6; ++c) add(c);
        });
        sum = sign * sum;
        for (int k = 0; k < width && at + k < used; ++k) {
          const int column = push.row[at + k] - base;
          delassus[column * length + row - base] = lanes::lane<width, Real>(sum, k);
        }
      });
    });
  }

  // The lanes of the blocks found: as many as fit, their columns known from now on. Bodies that they touch.
  AXION_HD void fill_lanes(int found) {
    int lanes = 0, blocks = 0;
    const int bodies = body_count, base = geometry.limit_base, contacts = contact_base;
    const model::BodyData<Real>* body = this->bodies;
    const int *block_row = push.block, *sweep_body = geometry.row_bodies;
    int *touched = push.touched, *known = this->known, *lane_row = push.row;
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
    if (tendons.exist()) touch_tendons(lanes);
    for (int b = bodies - 1; b >= 0; --b) {
      if (touched[b] != 0 && body[b].parent >= 0) touched[body[b].parent] = 1;
    }
    push.count[0] = lanes, push.count[1] = blocks;
  }

  // J V for the rows of the lanes, and from it their columns of D.
  template <int lanes, typename Team>
  AXION_HD void make_columns(const Team& team, int used) {
    constexpr int width = team::pack_lanes<Team, Real>(lanes), parts = lanes / width, block = 6 * lanes;
    const int base = geometry.limit_base, length = this->length, rows = this->rows, bodies = body_count;
    Real *u = push.velocity, *f = push.impulse;
    const int *lane_row = push.row, *touched = push.touched;
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
      const RowBodies on = geometry.bodies(lane_row[lane]);
      Real J[6];
      row_against(geometry.row[lane_row[lane]], true, J);
      for (int c = 0; c < 6; ++c) f[block * on.a + lanes * c + lane] = J[c];
      if (on.b < 0) return;
      row_against(geometry.row[lane_row[lane]], false, J);
      for (int c = 0; c < 6; ++c) f[block * on.b + lanes * c + lane] = J[c];
    });
    if (tendons.exist()) push_tendons<lanes>(team, used, f);
    joints.template push<lanes>(team, touched, f, u);
    const int* on = geometry.row_bodies;
    const model::Row<Real>* row = geometry.row + base;
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
    Real* delassus = this->delassus;
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
    if (tendons.exist()) finish_tendon_rows<lanes>(team, used, u);
  }
};

template <typename Real>
AXION_HD inline DelassusColumns<Real> delassus_columns(const Problem<Real>& p) {
  const auto& w = p.w.sweeps;
  return {w.delassus,
          w.delassus_known,
          swept_geometry(p),
          {p.m, p.w.tendon_force, p.w.limit_side},
          {w.push_velocity, w.push_impulse, w.push_row, w.push_block, w.push_count, w.body_touched},
          JointResponse<Real>(p),
          p.m.bodies,
          p.row_count() - p.limit_base(),
          delassus_length(p.rows()),
          p.contact_base(),
          p.m.body_count};
}

// Whether this step's rows fit, and columns of D cost less than columns of V.
template <typename Real>
AXION_HD inline bool delassus_serves(const model::ModelView<Real>& m, const RowLayout& rows) {
  const int length = delassus_length(rows);
  return length <= delassus_rows(m) && length * m.body_count <= 24 * m.inverse_blocks;
}

// What visits of units read and write of a RowSpace: velocities, and the columns by which impulses move them.
template <typename Real>
struct RowVelocities {
  Real* row_velocity;
  const Real* delassus;
  const int* known;
  int first, length;

  AXION_HD bool has_block(int row) const { return known[row - first] != 0; }
  AXION_HD Real velocity(int row) const { return row_velocity[row - first]; }

  // Adds what impulses x along `count` rows from `row` on, one or three, do to the velocities; each(k) for every k
  // below a number of three or more.
  template <typename Team, typename Each>
  AXION_HD void move(const Team& team, int row, int count, const Real* x, Each&& each) const {
    const Real *column = delassus + (row - first) * length, *second = column + length, *third = second + length;
    const Real n = x[0];
    if (count == 1) {
      return add(
          team, [=](auto load, int i) AXION_INLINED { return load(column, i) * n; }, each);
    }
    const Real t1 = x[1], t2 = x[2];
    add(
        team,
        [=](auto load, int i)
            AXION_INLINED { return load(column, i) * n + load(second, i) * t1 + load(third, i) * t2; },
        each);
  }

 private:
  template <typename Team, typename Effect, typename Each>
  AXION_HD void add(const Team& team, Effect&& effect, Each&& each) const {
    constexpr int lanes = Team::kSharesByWarp ? 1 : team::pack_lanes<Team, Real>(SweepSizes::kDelassusPadding);
    const auto load = [](const Real* from, int i) AXION_INLINED { return lanes::load_pack<lanes>(from + lanes * i); };
    Real* v = row_velocity;
    if constexpr (Team::kSharesByWarp) {  // a barrier less
      team.for_each(length, [=](int i) { v[i] = v[i] + effect(load, i), each(i); });
    } else {
      team.for_each(length / lanes,
                    [=](int i) { lanes::store_pack<lanes>(v + lanes * i, load(v, i) + effect(load, i)); });
      team.for_each(3, each);
    }
  }
};

template <typename Real>
struct RowSpace {
  DelassusColumns<Real> columns;
  ArrayView<Real> row_velocity;       // [length]
  ArrayView<Real> row_velocity_last;  // [length] after the last sweep
  int first, length;                  // the first swept row, and how many there are in whole vectors

  // From the answer of the joints without new impulses.
  template <typename Team>
  AXION_HD void start(const Team& team, const math::Vec3<Real>* du_linear, const math::Vec3<Real>* du_angular) {
    const SweptGeometry<Real>& geometry = columns.geometry;
    const int rows = columns.rows;
    team.for_each(length, [&](int i) {
      row_velocity[i] = 0;
      if (i >= rows) return;
      const RowBodies on = geometry.bodies(first + i);
      row_velocity[i] = constraints::row_velocity(geometry.row[first + i], on.a, on.b, du_linear, du_angular);
    });
    if (columns.tendons.exist()) start_tendon_rows(team, du_linear, du_angular);
  }

  // The columns of a row or contact, and in the remaining lanes the columns of the next rows without one that will not
  // stay open at the present velocities: one passage through the tree serves them all.
  template <typename Team>
  AXION_HD int prepare(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                       const Real* impulses, int row) {
    return moved().has_block(row) ? 0 : find_columns(team, laws, system, impulses, row);
  }
  AXION_HD int prepared_row(int k) const { return columns.push.block[k]; }

  AXION_HD Real block(int row, int k, int l) const {
    const int at = row - first;
    return columns.delassus[(at + l) * length + at + k];
  }

  AXION_HD RowVelocities<Real> moved() { return {row_velocity, columns.delassus, columns.known, first, length}; }

  template <typename Team>
  AXION_HD void apply_impulses(const Team& team, int row, int count, const Real* x) {
    moved().move(team, row, count, x, [](int) {});
  }

 private:
  // Whether a sweep would do something with the unit that begins with `row`, as velocities are.
  AXION_HD bool would_change(const SweptLaws<Real>& laws, const SweptSystem<Real>& system, const Real* impulses,
                             int row) const {
    const Real v = system.start_velocity[row] + row_velocity[row - first];
    return laws.with_unit(row, [&](const auto& units, int i) {
      const auto law = units.law(i, impulses);
      return !law.idle(v, laws::impulse_of<decltype(law)>(impulses + row));
    });
  }

  template <typename Team>
  AXION_HD_CALL int find_columns(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                 const Real* impulses, int row) {
    const int all = laws.unit_count(), start = laws.unit_of_row(row);
    const auto row_of = [&](int k) { return laws.first_row(start + k < all ? start + k : start + k - all); };
    const int found = team.filter(
        all,
        [&](int k) {
          const int on = row_of(k);
          if (columns.known[on - first] != 0) return false;
          return k == 0 || would_change(laws, system, impulses, on);
        },
        [&](int k, int place) {
          if (place < kPushLanes) columns.push.block[place] = row_of(k);
        });
    return columns.make(team, found);
  }

  // row_velocity of tendons' rows.
  template <typename Team>
  AXION_HD_RARE void start_tendon_rows(const Team& team, const math::Vec3<Real>* du_linear,
                                       const math::Vec3<Real>* du_angular) {
    const SweptTendons<Real>& tendons = columns.tendons;
    team.for_each(1, [&](int) {
      tendons.for_each_row([&](int row, int t, Real sign) {
        row_velocity[row - first] = sign * constraints::tendon_velocity<Real>(tendons.m, tendons.m.tendons[t],
                                                                              tendons.force, du_linear, du_angular);
      });
    });
  }
};

template <typename Real>
AXION_HD inline RowSpace<Real> row_space(const Problem<Real>& p) {
  return {delassus_columns(p), p.w.sweeps.row_velocity, p.w.sweeps.row_velocity_last, p.limit_base(),
          delassus_length(p.rows())};
}

}  // namespace axion::solver
