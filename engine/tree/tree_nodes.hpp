// Nodes of the factorisation along the joint tree, and which of them meet.
//
// A node is a body with the rows of the joint to its parent, at most 12 unknowns (u_i, λ_i), or what closes loops: a
// joint, with its at most 6 multipliers, or a tendon or an equality of coordinates with one; but where muscles and
// springs are many, tendons are condensed into their bodies (model/condense_tendons.hpp). Loop joints are nodes 0 to
// L − 1, tendons and equalities L to L + T − 1, bodies the rest in the order that tree_ordering.hpp gives them, and
// nodes are eliminated from the highest: children before parents, bodies before loops. A node couples to earlier nodes
// through their first six unknowns: the velocity of a body, the multipliers of a loop. The scope of a factorisation is
// the whole system, or a tree of it that needs no fill: the joint tree, contacts with the world, and of the contacts
// between moving bodies those that hang a body without a parent on one before it, as boxes of a stack hang on each
// other. Loop joints and all other contacts are out of that scope.
//
// In: the model's joints and the step's contacts. Cost: a look-up is constant, of a coupling a bisection.
#pragma once

#include "engine/base/partition_point.hpp"
#include "engine/model/row.hpp"
#include "engine/problem/problem.hpp"
#include "engine/tree/tree_scratch.hpp"

namespace axion::solver {

enum class Scope { kWhole, kTree };

// Numbers that mean nothing once the function that wrote them has returned, of this room or of one right of it: where a
// GPU has a matrix at hand. [kWorkspace]
template <typename Real>
AXION_HD inline Real* workspace(const Problem<Real>& p) {
  return p.w.tree.workspace;
}

template <typename Real>
AXION_HD inline int node_count(const model::ModelView<Real>& m) {
  return m.closing_nodes() + m.body_count;
}

template <typename Real>
AXION_HD inline int node_of_body(const Problem<Real>& p, int b) {
  return p.m.closing_nodes() + p.w.tree.body_rank[b];
}

template <typename Real>
AXION_HD inline int body_of_node(const Problem<Real>& p, int node) {
  return p.w.tree.body_of_rank[node - p.m.closing_nodes()];
}

// The joint of a loop's node.
template <typename Real>
AXION_HD inline int joint_of_loop(const model::ModelView<Real>& m, int loop) {
  return m.joint_count - m.loop_count + loop;
}

// Whether a node is a tendon or an equality, which of them, and its row.
template <typename Real>
AXION_HD inline bool is_tendon_node(const model::ModelView<Real>& m, int node) {
  return node >= m.loop_count && node < m.closing_nodes();
}
template <typename Real>
AXION_HD inline int tendon_of_node(const model::ModelView<Real>& m, int node) {
  return m.node_tendons[node - m.loop_count];
}
template <typename Real>
AXION_HD inline int row_of_tendon(const Problem<Real>& p, int t) {
  const model::TendonData<Real>& tendon = p.m.tendons[t];
  return tendon.axis < 0 ? tendon.lock : p.axis_base() + tendon.axis;
}

// The joint whose rows a node holds, or -1.
template <typename Real>
AXION_HD inline int joint_of_node(const Problem<Real>& p, int node) {
  if (node >= p.m.closing_nodes()) return p.m.bodies[body_of_node(p, node)].joint;
  return node < p.m.loop_count ? joint_of_loop(p.m, node) : -1;
}

// Locks and axes of a joint, the rows that a node keeps.
template <typename Real>
AXION_HD inline int joint_row_count(const model::ModelView<Real>& m, int j) {
  if (j < 0) return 0;
  return m.joints[j].translation_lock_count + m.joints[j].rotation_lock_count + m.joints[j].axis_count;
}

// Where a node's rows begin among its unknowns: after a body's velocity.
template <typename Real>
AXION_HD inline int node_row_offset(const model::ModelView<Real>& m, int node) {
  return node < m.closing_nodes() ? 0 : 6;
}

// Unknowns of a body's node: its velocity, and the impulses of its joint's rows.
template <typename Real>
AXION_HD inline int body_node_size(const Problem<Real>& p, int b) {
  return 6 + joint_row_count(p.m, p.m.bodies[b].joint);
}

template <typename Real>
AXION_HD inline int node_size(const Problem<Real>& p, int node) {
  if (node >= p.m.closing_nodes()) return body_node_size(p, body_of_node(p, node));
  return node < p.m.loop_count ? joint_row_count(p.m, joint_of_loop(p.m, node)) : 1;
}

// The k-th row that a node keeps of a joint: its index among all rows.
template <typename Real>
AXION_HD inline int node_row(const Problem<Real>& p, const model::JointData<Real>& joint, int k) {
  const int locks = joint.translation_lock_count + joint.rotation_lock_count;
  return k < locks ? joint.lock_start + k : p.axis_base() + joint.axis_start + (k - locks);
}

// The row along which the impulse of joint row `row` acts.
template <typename Real>
AXION_HD inline const model::Row<Real>& impulse_row(const Problem<Real>& p, int row) {
  return row < p.axis_base() ? p.w.row_force[row] : p.w.row[row];
}

// The tendon or equality whose row this is, one along it, its limit's or an effort's; -1 of a joint's.
template <typename Real>
AXION_HD_RARE int find_tendon(const Problem<Real>& p, int row) {
  if (row < p.axis_base()) return row < p.m.joint_lock_count ? -1 : row - p.m.joint_lock_count + p.m.tendon_axis_count;
  const int axis = row >= p.effort_base()  ? p.m.efforts[row - p.effort_base()].axis
                   : row >= p.limit_base() ? p.m.limit_axis[row - p.limit_base()]
                                           : row - p.axis_base();
  return axis < p.m.joint_axis_count ? -1 : axis - p.m.joint_axis_count;
}

// The two bodies of a row; b is -1 for the world. Of a tendon or an equality those of its first joint.
template <typename Real>
AXION_HD inline void bodies_of_row(const Problem<Real>& p, int row, int& a, int& b) {
  if (row >= p.contact_base()) {
    const model::Contact<Real>& c = p.w.contacts[(row - p.contact_base()) / 3];
    a = c.body_a, b = c.body_b;
    return;
  }
  int j;
  if (row >= p.effort_base()) {
    j = p.m.axes[p.m.efforts[row - p.effort_base()].axis].joint;
  } else if (row >= p.limit_base()) {
    j = p.m.axes[p.m.limit_axis[row - p.limit_base()]].joint;
  } else if (row >= p.axis_base()) {
    j = p.m.axes[row - p.axis_base()].joint;
  } else {
    j = p.m.lock_joint[row];
  }
  a = p.m.joints[j].child, b = p.m.joints[j].parent;
}

// Whether contact i takes part. Scope::kTree needs `parent`.
template <typename Real>
AXION_HD inline bool in_scope(const Problem<Real>& p, int i, Scope scope) {
  const int a = p.w.contacts[i].body_a, b = p.w.contacts[i].body_b;
  if (scope == Scope::kWhole || b < 0) return true;
  return p.w.tree.parent[a > b ? a : b] == (a > b ? b : a);
}

// parent: the body that each hangs on in Scope::kTree: by its joint, else by its contacts with the body before it
// with which it has most.
template <typename Real, typename Team>
AXION_HD inline void find_tree_parents(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int b) {
    p.w.tree.parent[b] = p.m.bodies[b].parent;
    if (p.m.bodies[b].parent >= 0) return;
    const int start = p.w.contact_start[b], end = p.w.contact_start[b + 1];
    const auto other = [&](int k) {
      const model::Contact<Real>& c = p.w.contacts[p.w.contact_list[k]];
      return c.body_a == b ? c.body_b : c.body_a;
    };
    int most = 0;
    for (int k = start; k < end; ++k) {
      const int candidate = other(k);
      if (candidate < 0 || candidate > b) continue;
      int count = 0;
      for (int i = start; i < end; ++i) count += other(i) == candidate;
      if (count > most || (count == most && candidate > p.w.tree.parent[b])) {
        most = count;
        p.w.tree.parent[b] = candidate;
      }
    }
  });
}

// Nodes from this on are eliminated.
template <typename Real>
AXION_HD inline int first_node(const model::ModelView<Real>& m, Scope scope) {
  return scope == Scope::kWhole ? 0 : m.closing_nodes();
}

// Couplings of node i are coupling_start[i] up to this.
template <typename Real>
AXION_HD inline int coupling_end(const Problem<Real>& p, int i) {
  if (i > 0) return p.w.tree.coupling_start[i - 1];
  const int count = p.w.tree.coupling_count[0];
  return count < 0 ? ~count : count;
}

// Where the blocks of nodes i and j < i are, -1 where there are none.
template <typename Real>
AXION_HD inline int find_coupling(const Problem<Real>& p, int i, int j) {
  const int end = coupling_end(p, i);
  const int index =
      partition_point(p.w.tree.coupling_start[i], end, [&](int k) { return p.w.tree.coupling_node[k] > j; });
  return index < end && p.w.tree.coupling_node[index] == j ? index : -1;
}

template <typename Real>
AXION_HD inline bool couplings_complete(const Problem<Real>& p) {
  return p.w.tree.coupling_count[0] >= 0;
}

}  // namespace axion::solver
