// Contacts that hold two bodies in synchronise_trees.hpp: added to the trees' own changes, as a few rows of a dense
// matrix.
//
//   δ = δ⁰ + V Jᵀλ,   λ = −G J δ = −(1 + G J V Jᵀ)⁻¹ G J δ⁰        V of the trees without these contacts
//
// Columns of V Jᵀ come by the trees' factors, kPanelWidth side by side. More links than kMostLinks fill so much that
// the system of synchronise_whole.hpp is solved instead. In: factors of the trees, δ⁰ in their changes. Out: δ. Cost:
// two passages through the trees for every kPanelWidth rows.
#pragma once

#include "engine/velocity_sync/tree_bodies.hpp"

namespace axion::velocity_sync {

inline constexpr int kMostLinks = 4;

// Contacts, and moments of contacts, that hold two bodies.
struct TreeLinks {
  int contact[kMostLinks];
  int count = 0;  // greater than kMostLinks where some have no place
};

// Needs note_touches. Each thread finds them for itself.
template <typename Real>
AXION_HD_CALL TreeLinks find_links_of_trees(const solver::Problem<Real>& p) {
  TreeLinks links;
  for (int i = 0; i < p.block_count() && links.count <= kMostLinks; ++i) {
    if (!links_bodies(p, i)) continue;
    if (links.count < kMostLinks) links.contact[links.count] = i;
    ++links.count;
  }
  return links;
}

// One part of all columns: impulses in the panels of the bodies become changes.
template <typename Team, typename Real>
AXION_HD_CALL void respond(const solver::Problem<Real>& p, int part) {
  using Part = lanes::Pack<Real, row_lanes<Team, Real>()>;
  const auto load = [&](const TreeBody<Real>& body, int r)
                        AXION_INLINED { return load_part<Team>(body.panel(r), part); };
  const auto store = [&](const TreeBody<Real>& body, int r, const Part& a)
                         AXION_INLINED { store_part<Team>(body.panel(r), part, a); };
  for (int b = p.m.body_count - 1; b >= 0; --b) {
    const TreeBody<Real> body = tree_body(p, b);
    if (p.m.bodies[b].joint < 0) {  // by the factors that solve_root left
      for (int k = 0; k < 5; ++k) {
        for (int r = k + 1; r < 6; ++r) store(body, r, load(body, r) - body.row(r)[k] * load(body, k));
      }
      for (int k = 5; k >= 0; --k) {
        Part left = load(body, k);
        for (int c = k + 1; c < 6; ++c) left = left - body.row(k)[c] * load(body, c);
        store(body, k, left / body.row(k)[k]);
      }
      continue;
    }
    const int n = constraints::joint_freedoms(p.m.joints[p.m.bodies[b].joint]), parent = p.m.bodies[b].parent;
    Part q[6];
    for (int r = 0; r < 6; ++r) q[r] = load(body, r);
    for (int k = 0; k < n; ++k) {
      Part rate = body.turned(k)[0] * load(body, 0);
      for (int r = 1; r < 6; ++r) rate = rate + body.turned(k)[r] * load(body, r);
      store(body, 6 + k, rate);
      for (int r = 0; r < 6; ++r) q[r] = q[r] - body.against(k)[r] * rate;
    }
    if (parent < 0) continue;
    const TreeBody<Real> to = tree_body(p, parent);
    const math::Vec3<Real> d = p.w.x[b] - p.w.x[parent];
    for (int r = 0; r < 3; ++r) {
      const int i = (r + 1) % 3, k = (r + 2) % 3;
      store(to, r, load(to, r) + q[r]);
      store(to, 3 + r, load(to, 3 + r) + (q[3 + r] + (d[i] * q[k] - d[k] * q[i])));
    }
  }
  for (int b = 0; b < p.m.body_count; ++b) {
    const TreeBody<Real> body = tree_body(p, b);
    if (p.m.bodies[b].joint < 0) continue;
    const int n = constraints::joint_freedoms(p.m.joints[p.m.bodies[b].joint]), parent = p.m.bodies[b].parent;
    Part change[6] = {}, before[6] = {};
    if (parent >= 0) {
      const TreeBody<Real> of = tree_body(p, parent);
      const math::Vec3<Real> d = p.w.x[b] - p.w.x[parent];
      for (int r = 0; r < 3; ++r) {
        const int i = (r + 1) % 3, k = (r + 2) % 3;
        before[r] = load(of, r) + (d[k] * load(of, 3 + i) - d[i] * load(of, 3 + k));
        before[3 + r] = load(of, 3 + r);
      }
    }
    for (int r = 0; r < 6; ++r) change[r] = before[r];
    for (int k = 0; k < n; ++k) {
      Part rate = load(body, 6 + k);
      for (int c = 0; c < 6; ++c) rate = rate - body.along(k)[c] * before[c];
      for (int r = 0; r < 6; ++r) change[r] = change[r] + body.axis(k)[r] * rate;
    }
    for (int r = 0; r < 6; ++r) store(body, r, change[r]);
  }
}

// J of row k of a contact times what `at` finds of each of its two bodies, six numbers.
template <typename Real, typename At>
AXION_HD inline Real link_velocity(const solver::Problem<Real>& p, int i, int k, At&& at) {
  const model::Contact<Real>& c = p.w.contacts[i];
  Real J[6], sum = 0;
  for (int side = 0; side < 2; ++side) {
    const bool on_a = side == 0;
    solver::row_against(p.w.row[p.contact_base() + 3 * i + k], on_a, J);
    for (int r = 0; r < 6; ++r) sum += J[r] * at(tree_body(p, on_a ? c.body_a : c.body_b), r);
  }
  return sum;
}

// Adds an impulse along row k of contact i to a column of the panels of its bodies. One thread a column.
template <typename Real>
AXION_HD inline void push_link(const solver::Problem<Real>& p, int i, int k, Real impulse, int column) {
  const model::Contact<Real>& c = p.w.contacts[i];
  Real J[6];
  for (int side = 0; side < 2; ++side) {
    const bool on_a = side == 0;
    solver::row_against(p.w.row[p.contact_base() + 3 * i + k], on_a, J);
    const TreeBody<Real> body = tree_body(p, on_a ? c.body_a : c.body_b);
    for (int r = 0; r < 6; ++r) body.panel(r)[column] += impulse * J[r];
  }
}

template <typename Real, typename Team>
AXION_HD inline void clear_panels(const Team& team, const solver::Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int b) {
    for (int k = 0; k < 6 * solver::kPanelWidth; ++k) tree_body(p, b).panel(0)[k] = 0;
  });
}

// λ of the links by rows of `system`, one more column wide than it has rows. One thread.
template <typename Real>
AXION_HD inline void solve_links(Real* system, int rows) {
  const int stride = rows + 1;
  for (int k = 0; k < rows; ++k) {
    const Real inverse = Real(1) / system[stride * k + k];
    for (int c = k; c < stride; ++c) system[stride * k + c] *= inverse;
    for (int r = 0; r < rows; ++r) {
      const Real factor = system[stride * r + k];
      if (r == k || factor == Real(0)) continue;
      for (int c = k; c < stride; ++c) system[stride * r + c] -= factor * system[stride * k + c];
    }
  }
}

// Adds to the changes of all bodies what the links make of them.
template <typename Real, typename Team>
AXION_HD_CALL void hold_links(const Team& team, const solver::Problem<Real>& p, const TreeLinks& links) {
  constexpr int width = solver::kPanelWidth;
  const int rows = 3 * links.count, stride = rows + 1;
  Real* system = solver::workspace(p);     // 1 + G J V Jᵀ, and −G J δ⁰
  Real* product = system + rows * stride;  // J V Jᵀ, and J δ⁰
  static_assert(2 * 3 * kMostLinks * (3 * kMostLinks + 1) <= solver::kWorkspace);
  team.for_each(rows, [&](int x) {
    product[stride * x + rows] = link_velocity(p, links.contact[x / 3], x % 3,
                                               [&](const TreeBody<Real>& body, int r) { return body.change()[r]; });
  });
  for (int start = 0; start < rows; start += width) {
    const int columns = rows - start < width ? rows - start : width;
    clear_panels(team, p);
    team.for_each(columns, [&](int c) { push_link(p, links.contact[(start + c) / 3], (start + c) % 3, Real(1), c); });
    team.for_each(row_parts<Team, Real>(), [&](int part) { respond<Team>(p, part); });
    team.for_each(rows * columns, [&](int task) {
      const int x = task / columns, c = task % columns;
      product[stride * x + start + c] = link_velocity(
          p, links.contact[x / 3], x % 3, [&](const TreeBody<Real>& body, int r) { return body.panel(r)[c]; });
    });
  }
  team.for_each(rows, [&](int x) {
    Real G[9];
    held_gains(p, links.contact[x / 3], noted_touch(p, links.contact[x / 3]), G);
    for (int c = 0; c < stride; ++c) {
      Real sum = 0;
      for (int k = 0; k < 3; ++k) sum += G[3 * (x % 3) + k] * product[stride * (x / 3 * 3 + k) + c];
      system[stride * x + c] = c == rows ? -sum : (c == x ? 1 + sum : sum);
    }
  });
  team.for_each(1, [&](int) { solve_links(system, rows); });
  clear_panels(team, p);
  team.for_each(1, [&](int) {
    for (int x = 0; x < rows; ++x) push_link(p, links.contact[x / 3], x % 3, system[stride * x + rows], 0);
  });
  team.for_each(row_parts<Team, Real>(), [&](int part) { respond<Team>(p, part); });
  team.for_each(p.m.body_count, [&](int b) {
    const TreeBody<Real> body = tree_body(p, b);
    for (int r = 0; r < 6; ++r) body.change()[r] += body.panel(r)[0];
  });
}

}  // namespace axion::velocity_sync
