// The arrays that this room keeps within a step, and their sizes: the nodes of the factorisation along the joint tree
// with their couplings, the order in which they are eliminated, and the response of the joints alone.
#pragma once

#include "engine/model/world_state.hpp"

namespace axion::solver {

// A node of the factorisation is a body and the rows of the joint to its parent, or a joint that closes a loop. What is
// kept of each is eight numbers apart from the next, so that threads of a GPU that take a node each meet in fewer
// banks.
inline constexpr int kNodeSize = 12;
inline constexpr int kNodeStride = 2 * kNodeSize * kNodeSize + 8;  // its matrix, then factors (node_factors.hpp)
inline constexpr int kPanelWidth = 8;  // columns kept side by side: six of a coupling, and two
inline constexpr int kCouplingStride = kNodeSize * kPanelWidth + 8;
inline constexpr int kTransferStride = 2 * 6 * kNodeSize + 6 * kPanelWidth + 8;
inline constexpr int kPushLanes = 16;     // impulses that are passed through the joint tree at once
inline constexpr int kWorkspace = 1024;   // numbers: a node of the joint tree, or a system of up to 31 unknowns
inline constexpr int kMaxSweptLoops = 8;  // loops that sweeps can close
inline constexpr int kMaxSweptRows = 96;  // rows of loops, where tendons or equalities are among them

// Couplings that rows can make, before those that are met twice are one: joints, two a loop and a term of a tendon,
// pairs of bodies of condensed tendons, contacts.
template <typename Real>
AXION_HD inline int edge_capacity(const model::ModelView<Real>& m) {
  return m.body_count + 2 * (m.loop_count + m.tendon_term_count) + m.condensed_pair_count + m.block_capacity();
}

// Leaves of a tree over bodies: a power of two.
AXION_HD inline int order_leaves(int body_count) {
  int count = 1;
  while (count < body_count) count *= 2;
  return count;
}

// Rows of all that closes loops, where contacts are swept: six a joint, one a tendon or an equality; tendons without a
// row of their own, whose limits are swept, have none.
template <typename Real>
AXION_HD inline int loop_rows(const model::ModelView<Real>& m) {
  return 6 * m.loop_count + m.tendon_count - m.slack_tendon_count;
}

// Whether the answer of the loops to impulses (loop_response.hpp) takes no more room than the inverse of the tree.
template <typename Real>
AXION_HD inline bool loops_fit(const model::ModelView<Real>& m) {
  const int loops = m.loop_count;
  if (m.tendon_count > 0) return loop_rows(m) <= kMaxSweptRows && m.inverse_blocks > 0;
  return loops <= kMaxSweptLoops && loops * (m.body_count + loops + (kPushLanes + 5) / 6) <= m.inverse_blocks;
}

template <typename Real>
struct TreeScratch {
  Real* node;            // [nn kNodeStride] diagonal blocks; nn nodes, loop joints, tendons, equalities and bodies
  Real* node_rhs;        // [nn kNodeSize] right-hand sides, then solutions
  Real* workspace;       // [kWorkspace] a matrix that threads have at hand; nothing lasts in it (tree_nodes.hpp)
  int* parent;           // [nb] body that each hangs on in Scope::kTree (tree_nodes.hpp)
  Real* coupling_upper;  // [coupling_capacity kCouplingStride] [12][8] rows of i, columns u_j
  Real* coupling_lower;  // [coupling_capacity kCouplingStride] [6][12] rows u_j, columns of i
  int* coupling_start;   // [nn]
  int* coupling_node;    // [coupling_capacity] j, descending within i
  int* coupling_count;   // [1] or its complement where some did not fit
  int* coupling_fill;    // [1] couplings that elimination adds to those of the rows
  int* coupling_used;    // [nn] couplings of each node, while they are numbered
  int* body_rank;        // [nb] place of each body in the order of the nodes
  int* body_of_rank;     // [nb]
  int* edge_start;       // [nn + 1] edges: couplings of rows, by the lower of their nodes,
  int* edge_node;        // [edge_capacity] the other of each
  int* node_mark;        // [nn] the last node that came by, while couplings are found
  int* node_first;       // [nn] the next node that each couples to, the greatest
  int* order_degree;     // [nn] while bodies are ordered: nodes that each meets
  int* order_met;        // [nn] nodes that the body to go meets
  int* order_absorbed;   // [nn] whether a node that is gone gave its neighbours to the one that goes
  int* order_children;   // [nb] children of its joints that are not eliminated yet
  int* order_head;       // [nn] first cell of what each meets: nodes, and nodes gone whose neighbours it meets
  int* order_cell;       // [4 edge_capacity] cells: node, next cell
  int* order_winner;     // [2 order_leaves(nb)] tree of the body to eliminate next
  Real* joint_upper;     // [nb kCouplingStride] blocks to the parent, joints alone
  Real* joint_lower;     // [nb kCouplingStride]
  Real* transfer;        // [nb kTransferStride] between each body and its parent (joint_inverse.hpp)
  Real* swept_response;  // [nb kNodeSize] velocities and joint impulses for impulses on swept rows
  // V: velocities for impulses, by columns of each tree; none where loops close
  Real* joint_response;  // [36 inverse_blocks]
  Real* loop_columns;    // [6 nloop × 6 nb] U: velocities for impulses of the loops (loop_response.hpp)
  Real* loop_gain;       // [6 nloop × 6 nloop] G, then its factors
  Real* loop_impulse;    // [kPushLanes × 6 nloop]
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, TreeScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t nb = m.body_count, nn = nb + m.closing_nodes(), nc = m.coupling_capacity, nedge = edge_capacity(m);
  const std::size_t couplings = nc * kCouplingStride, joints = nb * kCouplingStride;
  const std::size_t nloop = loops_fit(m) ? loop_rows(m) : 0;  // rows of loops that are swept
  f(kScratch, "node", w.node, nn * kNodeStride);
  f(kScratch, "node_rhs", w.node_rhs, nn * kNodeSize);
  f(kScratch, "workspace", w.workspace, kWorkspace);
  f(kScratch, "parent", w.parent, nb);
  f(kScratch, "coupling_upper", w.coupling_upper, couplings);
  f(kScratch, "coupling_lower", w.coupling_lower, couplings);
  f(kScratch, "coupling_start", w.coupling_start, nn);
  f(kScratch, "coupling_node", w.coupling_node, nc);
  f(kScratch, "coupling_count", w.coupling_count, 1);
  f(kScratch, "coupling_fill", w.coupling_fill, 1);
  f(kScratch, "coupling_used", w.coupling_used, nn);
  f(kScratch, "body_rank", w.body_rank, nb);
  f(kScratch, "body_of_rank", w.body_of_rank, nb);
  f(kScratch, "edge_start", w.edge_start, nn + 1);
  f(kScratch, "edge_node", w.edge_node, nedge);
  f(kScratch, "node_mark", w.node_mark, nn);
  f(kScratch, "node_first", w.node_first, nn);
  f(kScratch, "order_degree", w.order_degree, nn);
  f(kScratch, "order_met", w.order_met, nn);
  f(kScratch, "order_absorbed", w.order_absorbed, nn);
  f(kScratch, "order_children", w.order_children, nb);
  f(kScratch, "order_head", w.order_head, nn);
  f(kScratch, "order_cell", w.order_cell, 4 * nedge);
  f(kScratch, "order_winner", w.order_winner, 2 * order_leaves(m.body_count));
  f(kScratch, "joint_upper", w.joint_upper, joints);
  f(kScratch, "joint_lower", w.joint_lower, joints);
  f(kScratch, "transfer", w.transfer, nb * kTransferStride);
  f(kScratch, "swept_response", w.swept_response, nb * kNodeSize);
  f(kScratch, "joint_response", w.joint_response, m.closing_count == 0 ? 36 * std::size_t(m.inverse_blocks) : 0);
  f(kScratch, "loop_columns", w.loop_columns, nloop * 6 * nb);
  f(kScratch, "loop_gain", w.loop_gain, nloop * nloop);
  f(kScratch, "loop_impulse", w.loop_impulse, nloop * kPushLanes);
}

}  // namespace axion::solver
