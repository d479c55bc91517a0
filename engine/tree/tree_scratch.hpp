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

using model::kBodies, model::Heat, model::Length;

inline constexpr Length kNodes{
    [](const auto& m) { return m.body_count + m.closing_nodes(); }};  // loop joints, tendons, equalities and bodies
inline constexpr Length kCouplings{[](const auto& m) { return m.coupling_capacity; }};
inline constexpr Length kEdges{[](const auto& m) { return edge_capacity(m); }};
inline constexpr Length kOrderLeaves{[](const auto& m) { return order_leaves(m.body_count); }};
inline constexpr Length kInverseBlocks{
    [](const auto& m) { return m.closing_count == 0 ? m.inverse_blocks : 0; }};  // none where loops close
inline constexpr Length kSweptLoopRows{
    [](const auto& m) { return loops_fit(m) ? loop_rows(m) : 0; }};  // of loops that are swept
inline constexpr Length kLoopColumns{
    [](const auto& m) { return loops_fit(m) ? std::size_t(m.body_count) * loop_rows(m) : 0; }};
inline constexpr Length kLoopGains{
    [](const auto& m) { return loops_fit(m) ? std::size_t(loop_rows(m)) * loop_rows(m) : 0; }};

template <typename Real, typename Form = model::Placed>
struct TreeScratch {
  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kScratch>;

  // diagonal blocks; nn nodes, loop joints, tendons, equalities and bodies
  Array<Real> node{"node", (kNodeStride * kNodes), Heat{84, 30}};
  Array<Real> node_rhs{"node_rhs", (kNodeSize * kNodes), Heat{0, 106}};  // right-hand sides, then solutions
  // a matrix that threads have at hand; nothing lasts in it (tree_nodes.hpp)
  Array<Real> workspace{"workspace", kWorkspace, Heat{11, 185}};
  Array<int> parent{"parent", kBodies, Heat{141}};  // body that each hangs on in Scope::kTree (tree_nodes.hpp)
  // [12][8] rows of i, columns u_j
  Array<Real> coupling_upper{"coupling_upper", (kCouplingStride * kCouplings), Heat{150}};
  // [6][12] rows u_j, columns of i
  Array<Real> coupling_lower{"coupling_lower", (kCouplingStride * kCouplings), Heat{151}};
  Array<int> coupling_start{"coupling_start", kNodes, Heat{152}};
  Array<int> coupling_node{"coupling_node", kCouplings, Heat{153}};  // j, descending within i
  Array<int> coupling_count{"coupling_count", 1, Heat{159}};         // or its complement where some did not fit
  Array<int> coupling_fill{"coupling_fill", 1, Heat{154}};       // couplings that elimination adds to those of the rows
  Array<int> coupling_used{"coupling_used", kNodes, Heat{157}};  // couplings of each node, while they are numbered
  Array<int> body_rank{"body_rank", kBodies, Heat{12, 10}};      // place of each body in the order of the nodes
  Array<int> body_of_rank{"body_of_rank", kBodies, Heat{30, 1}};
  Array<int> edge_start{"edge_start", kNodes + 1, Heat{160}};  // edges: couplings of rows, by the lower of their nodes,
  Array<int> edge_node{"edge_node", kEdges, Heat{161}};        // the other of each
  Array<int> node_mark{"node_mark", kNodes, Heat{162}};        // the last node that came by, while couplings are found
  Array<int> node_first{"node_first", kNodes, Heat{163}};      // the next node that each couples to, the greatest
  Array<int> order_degree{"order_degree", kNodes, Heat{155}};  // while bodies are ordered: nodes that each meets
  Array<int> order_met{"order_met", kNodes, Heat{156}};        // nodes that the body to go meets
  // whether a node that is gone gave its neighbours to the one that goes
  Array<int> order_absorbed{"order_absorbed", kNodes, Heat{193}};
  // children of its joints that are not eliminated yet
  Array<int> order_children{"order_children", kBodies, Heat{158}};
  // first cell of what each meets: nodes, and nodes gone whose neighbours it meets
  Array<int> order_head{"order_head", kNodes, Heat{164}};
  Array<int> order_cell{"order_cell", 4 * kEdges, Heat{165}};                      // cells: node, next cell
  Array<int> order_winner{"order_winner", 2 * kOrderLeaves, Heat{166}};            // tree of the body to eliminate next
  Array<Real> joint_upper{"joint_upper", (kCouplingStride * kBodies), Heat{100}};  // blocks to the parent, joints alone
  Array<Real> joint_lower{"joint_lower", (kCouplingStride * kBodies), Heat{92, 2}};
  // between each body and its parent (joint_inverse.hpp)
  Array<Real> transfer{"transfer", (kTransferStride * kBodies), Heat{50, 38}};
  // velocities and joint impulses for impulses on swept rows
  Array<Real> swept_response{"swept_response", (kNodeSize * kBodies), Heat{35, 4}};
  // V: velocities for impulses, by columns of each tree; none where loops close
  Array<Real> joint_response{"joint_response", 36 * kInverseBlocks, Heat{107}};
  // U: velocities for impulses of the loops (loop_response.hpp)
  Array<Real> loop_columns{"loop_columns", 6 * kLoopColumns, Heat{108}};
  Array<Real> loop_gain{"loop_gain", kLoopGains, Heat{109}};  // G, then its factors
  Array<Real> loop_impulse{"loop_impulse", (kPushLanes * kSweptLoopRows), Heat{110}};
};

}  // namespace axion::solver
