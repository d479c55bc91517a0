// Links: the part of the system that a factorisation of Scope::kTree (tree_nodes.hpp) leaves out, loop joints and some
// of the contacts between moving bodies. Six unknowns each.
//
// A loop joint is a link whose unknowns are its multipliers; a tendon is one of one. Contacts between the same two
// bodies that follow each other are one link, whose unknowns are the wrench y = Σ J_aᵀ λ that they give to body a,
// about its centre: their four or eight points determine no more than that, and without the redundancy the iteration on
// links is well conditioned. A contact is linearised as Δλ = −(e + G J Δu); both bodies meet at its point, so J Δu =
// J_a w with the twist
//
//   w = Δu_a − T Δu_b,   T Δu_b = (Δv_b + Δω_b × d, Δω_b),   d = x_a − x_b
//   y + H w = −h,        H = Σ J_aᵀ G J_a,  h = Σ J_aᵀ e
//
// The link gives body b the wrench −Tᵀ y.
//
// In: the system as `linearise` left it, the tree's parents. Out: link_gain, link_offset, link_block. Cost: linear in
// links.
#pragma once

#include "engine/math/small_matrix.hpp"
#include "engine/problem/linearise.hpp"
#include "engine/reference/reference_scratch.hpp"
#include "engine/tree/tree_assembly.hpp"

namespace axion::solver {

// Groups of contacts: link_start, link_of_contact, link_count. Once a step, after find_couplings.
template <typename Real, typename Team>
AXION_HD inline void find_links(const Team& team, const Problem<Real>& p) {
  team.for_each(1, [&](int) {
    int count = 0;
    for (int i = 0; i < p.block_count(); ++i) {
      const model::Contact<Real>& c = p.w.contacts[i];
      p.w.reference.link_of_contact[i] = -1;
      if (in_scope(p, i, Scope::kTree)) continue;
      const bool joins = i > 0 && p.w.contacts[i - 1].body_a == c.body_a && p.w.contacts[i - 1].body_b == c.body_b;
      if (!joins) p.w.reference.link_start[count++] = i;
      p.w.reference.link_of_contact[i] = count - 1;
    }
    p.w.reference.link_count[0] = count;
  });
}

template <typename Real>
AXION_HD inline int link_unknown_count(const Problem<Real>& p) {
  return 6 * (p.m.closing_count + p.w.reference.link_count[0]);
}

// Where the unknowns of a group of contacts begin.
template <typename Real>
AXION_HD inline int first_unknown_of_group(const Problem<Real>& p, int group) {
  return 6 * (p.m.closing_count + group);
}

// x_a − x_b of a group.
template <typename Real>
AXION_HD inline math::Vec3<Real> offset_of_group(const Problem<Real>& p, int group) {
  const model::Contact<Real>& c = p.w.contacts[p.w.reference.link_start[group]];
  return c.r_b - c.r_a;
}

// H and h of each group.
template <typename Real, typename Team>
AXION_HD_CALL void assemble_links(const Team& team, const Problem<Real>& p) {
  team.for_each(p.w.reference.link_count[0], [&](int group) {
    Real H[6 * kPanelWidth] = {};
    Real* h = p.w.reference.link_offset + 6 * group;
    for (int k = 0; k < 6; ++k) h[k] = 0;
    for (int i = p.w.reference.link_start[group]; i < p.block_count() && p.w.reference.link_of_contact[i] == group;
         ++i) {
      add_contact<Team>(p, i, true, true, H, kPanelWidth);
      for (int k = 0; k < 3; ++k) {
        Real J[6];
        row_against(p.w.row[p.contact_base() + 3 * i + k], true, J);
        for (int r = 0; r < 6; ++r) h[r] += J[r] * p.w.contact_offset[3 * i + k];
      }
    }
    for (int k = 0; k < 36; ++k) p.w.reference.link_gain[36 * group + k] = H[k / 6 * kPanelWidth + k % 6];
  });
}

// The impulse that links with unknowns y give to body b.
template <typename Real>
AXION_HD_CALL Impulse<Real> gather_links(const Problem<Real>& p, int b, ConstArray<Real> y) {
  Impulse<Real> sum;
  model::for_each_loop_joint<Real>(p.m, b, [&](int j, bool on_child) {
    const Real* own = y + 6 * (j - joint_of_loop(p.m, 0));
    for (int i = 0; i < joint_row_count(p.m, j); ++i) {
      sum.add(impulse_row(p, node_row(p, p.m.joints[j], i)), own[i], on_child);
    }
  });
  if (p.m.tendon_count > 0) {
    add_tendon_impulses(
        impulse_rows<Real>(p.m, p.w), b,
        [&](int t) { return acts_on_node(p, t) ? y[6 * (p.m.loop_count + t)] : Real(0); }, sum);
  }
  for (int k = p.w.contact_start[b]; k < p.w.contact_start[b + 1]; ++k) {
    const int i = p.w.contact_list[k], group = p.w.reference.link_of_contact[i];
    if (group < 0 || p.w.reference.link_start[group] != i) continue;
    const Real* own = y + first_unknown_of_group(p, group);
    const math::Vec3<Real> f{own[0], own[1], own[2]}, torque{own[3], own[4], own[5]};
    if (p.w.contacts[i].body_a == b) {
      sum.linear += f, sum.angular += torque;
    } else {
      sum.linear -= f, sum.angular -= torque + math::cross(offset_of_group(p, group), f);
    }
  }
  return sum;
}

// The twist of a group at velocities v, omega.
template <typename Real>
AXION_HD inline void twist_of_group(const Problem<Real>& p, int group, ConstArray<math::Vec3<Real>> v,
                                    ConstArray<math::Vec3<Real>> omega, Real (&out)[6]) {
  const model::Contact<Real>& c = p.w.contacts[p.w.reference.link_start[group]];
  const math::Vec3<Real> linear = v[c.body_a] - v[c.body_b] - math::cross(omega[c.body_b], offset_of_group(p, group));
  const math::Vec3<Real> angular = omega[c.body_a] - omega[c.body_b];
  for (int k = 0; k < 3; ++k) out[k] = linear[k], out[3 + k] = angular[k];
}

// S = X_a + T X_b Tᵀ, how wrenches of a group twist it when each body moves as X (body_mobility) says.
template <typename Real>
AXION_HD inline void group_mobility(const Problem<Real>& p, int group, Real (&S)[36]) {
  const model::Contact<Real>& c = p.w.contacts[p.w.reference.link_start[group]];
  const Real* X_a = p.w.reference.body_mobility + 36 * c.body_a;
  const Real* X_b = p.w.reference.body_mobility + 36 * c.body_b;
  const math::Vec3<Real> d = offset_of_group(p, group);
  // T = [1 −d×; 0 1]: Δω × d = −d × Δω
  Real T[36] = {};
  for (int k = 0; k < 6; ++k) T[7 * k] = 1;
  T[4] = d.z, T[5] = -d.y, T[9] = -d.z, T[11] = d.x, T[15] = d.y, T[16] = -d.x;
  Real TX[36];
  for (int r = 0; r < 6; ++r) {
    for (int k = 0; k < 6; ++k) {
      TX[6 * r + k] = 0;
      for (int i = 0; i < 6; ++i) TX[6 * r + k] += T[6 * r + i] * X_b[6 * i + k];
    }
  }
  for (int r = 0; r < 6; ++r) {
    for (int k = 0; k < 6; ++k) {
      S[6 * r + k] = X_a[6 * r + k];
      for (int i = 0; i < 6; ++i) S[6 * r + k] += TX[6 * r + i] * T[6 * k + i];
    }
  }
}

// J X Fᵀ of a loop joint's rows, each body moving alone as X says.
template <typename Real>
AXION_HD inline Real loop_mobility(const Problem<Real>& p, const model::JointData<Real>& joint, int row, int column) {
  Real sum = 0, J[6], F[6], moved[6];
  for (int side = 0; side < 2; ++side) {
    const int body = side == 0 ? joint.child : joint.parent;
    if (body < 0) continue;
    row_against(p.w.row[row], side == 0, J);
    row_against(impulse_row(p, column), side == 0, F);
    math::multiply(p.w.reference.body_mobility + 36 * body, 6, 6, F, moved);
    for (int k = 0; k < 6; ++k) sum += J[k] * moved[k];
  }
  return sum;
}

// J X Fᵀ of tendon t, each body moving alone as X says.
template <typename Real>
AXION_HD_RARE Real tendon_block(const Problem<Real>& p, int t) {
  if (!acts_on_node(p, t)) return tendon_compliance(p, t);
  const model::TendonData<Real>& tendon = p.m.tendons[t];
  Real sum = tendon_compliance(p, t);
  const auto for_each_side = [&](int k, auto&& f) {
    const model::TendonTermData<Real>& term = p.m.tendon_terms[k];
    f(term.a, true);
    if (term.b >= 0) f(term.b, false);
  };
  constraints::for_each_term(tendon, [&](int k) {
    for_each_side(k, [&](int body, bool is_child) {
      Real J[6], F[6], moved[6];
      row_against(p.w.tendon_row[k], is_child, J);
      constraints::for_each_term(tendon, [&](int l) {
        for_each_side(l, [&](int other, bool other_is_child) {
          if (other != body) return;
          row_against(p.w.tendon_force[l], other_is_child, F);
          math::multiply(p.w.reference.body_mobility + 36 * body, 6, 6, F, moved);
          for (int c = 0; c < 6; ++c) sum += J[c] * moved[c];
        });
      });
    });
  });
  return sum;
}

// link_block: inverses of C + J X Fᵀ for loops and of 1 + H S for groups. Needs body_mobility and assemble_links.
template <typename Real, typename Team>
AXION_HD_CALL void invert_link_blocks(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.loop_count, [&](int l) {
    const int j = joint_of_loop(p.m, l), size = joint_row_count(p.m, j);
    const model::JointData<Real>& joint = p.m.joints[j];
    Real* block = p.w.reference.link_block + 36 * l;
    for (int r = 0; r < size; ++r) {
      for (int c = 0; c < size; ++c) {
        const int row = node_row(p, joint, r);
        const Real C = r == c ? p.w.compliance[row] : Real(0);
        block[6 * r + c] = C + loop_mobility(p, joint, row, node_row(p, joint, c));
      }
    }
    math::invert_general(block, size, 6);
  });
  if (p.m.tendon_count > 0) {
    team.for_each(p.m.tendon_count,
                  [&](int t) { p.w.reference.link_block[36 * (p.m.loop_count + t)] = Real(1) / tendon_block(p, t); });
  }
  team.for_each(p.w.reference.link_count[0], [&](int group) {
    Real S[36];
    group_mobility(p, group, S);
    const Real* H = p.w.reference.link_gain + 36 * group;
    Real* block = p.w.reference.link_block + 6 * first_unknown_of_group(p, group);
    for (int r = 0; r < 6; ++r) {
      for (int c = 0; c < 6; ++c) {
        Real sum = r == c ? Real(1) : Real(0);
        for (int k = 0; k < 6; ++k) sum += H[6 * r + k] * S[6 * k + c];
        block[6 * r + c] = sum;
      }
    }
    math::invert_general(block, 6, 6);
  });
}

// The part of tendons in contract_links.
template <typename Real, typename Team>
AXION_HD_RARE void contract_tendons(const Team& team, const Problem<Real>& p, ConstArray<math::Vec3<Real>> v,
                                    ConstArray<math::Vec3<Real>> omega, ConstArray<Real> y, OutArray<Real> out) {
  team.for_each(p.m.tendon_count, [&](int t) {
    const int slot = 6 * (p.m.loop_count + t);
    Real left = 0;
    if (acts_on_node(p, t)) {
      left = constraints::tendon_velocity<Real>(p.m, p.m.tendons[t], p.w.tendon_row, v, omega);
      left -= y != nullptr ? Real(0) : node_row_rhs(p, row_of_tendon(p, t), p.w.row_rhs);
    }
    if (y != nullptr) left += tendon_compliance(p, t) * y[slot];
    out[slot] = p.w.reference.link_block[6 * slot] * left;
    for (int k = 1; k < 6; ++k) out[slot + k] = 0;
  });
}

// out = block (J v + C y) for loops and block (y + H w) for groups, at velocities v, omega; with y null the right-hand
// sides r and h stand in for C y and y.
template <typename Real, typename Team>
AXION_HD_CALL void contract_links(const Team& team, const Problem<Real>& p, ConstArray<math::Vec3<Real>> v,
                                  ConstArray<math::Vec3<Real>> omega, ConstArray<Real> y, OutArray<Real> out) {
  team.for_each(p.m.loop_count, [&](int l) {
    const int j = joint_of_loop(p.m, l), size = joint_row_count(p.m, j);
    const model::JointData<Real>& joint = p.m.joints[j];
    Real left[6];
    for (int k = 0; k < size; ++k) {
      const int row = node_row(p, joint, k);
      left[k] = constraints::row_velocity(p.w.row[row], joint.child, joint.parent, v, omega);
      left[k] += y != nullptr ? p.w.compliance[row] * y[6 * l + k] : p.w.row_rhs[row];
    }
    math::multiply(p.w.reference.link_block + 36 * l, size, 6, left, out + 6 * l);
    for (int k = size; k < 6; ++k) out[6 * l + k] = 0;
  });
  if (p.m.tendon_count > 0) contract_tendons(team, p, v, omega, y, out);
  team.for_each(p.w.reference.link_count[0], [&](int group) {
    Real w[6], left[6];
    twist_of_group(p, group, v, omega, w);
    math::multiply(p.w.reference.link_gain + 36 * group, 6, 6, w, left);
    const int first = first_unknown_of_group(p, group);
    for (int k = 0; k < 6; ++k) left[k] += y != nullptr ? y[first + k] : p.w.reference.link_offset[6 * group + k];
    math::multiply(p.w.reference.link_block + 6 * first, 6, 6, left, out + first);
  });
}

}  // namespace axion::solver
