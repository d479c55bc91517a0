// Which nodes of the factorisation meet, with fill, and the order of the bodies among them.
//
// Bodies come in their own order, children after parents, which is without fill for joint trees and for stacks. Where
// it fills, bodies are ordered by minimum degree: eliminate next the body that meets fewest others, among those whose
// joints' children are gone (minimum_degree.hpp). A pile of a hundred spheres then takes a seventh of the work. Once a
// step, after the contacts. Memory and work follow from the couplings, not from the pairs of nodes.
//
// In: the step's contacts. Out: body_rank, body_of_rank, coupling_start, coupling_node, coupling_count.
#pragma once

#include "engine/constraints/tendon_rows.hpp"
#include "engine/tree/minimum_degree.hpp"
#include "engine/tree/tree_nodes.hpp"

namespace axion::solver {

// Calls f(i, j), j < i, for the couplings that rows make; some come more than once.
template <typename Real, typename F>
AXION_HD inline void for_each_edge(const Problem<Real>& p, Scope scope, F&& f) {
  const auto edge = [&](int i, int j) { i > j ? f(i, j) : f(j, i); };
  const auto node = [&](int b) { return node_of_body(p, b); };
  for (int b = 0; b < p.m.body_count; ++b) {
    const int parent = scope == Scope::kTree ? p.w.tree.parent[b] : p.m.bodies[b].parent;
    if (parent >= 0) edge(node(b), node(parent));
  }
  if (scope == Scope::kTree) return;
  for (int l = 0; l < p.m.loop_count; ++l) {
    const model::JointData<Real>& joint = p.m.joints[joint_of_loop(p.m, l)];
    edge(node(joint.child), l);
    if (joint.parent >= 0) edge(node(joint.parent), l);
  }
  for (int k = 0; k < p.m.tendon_term_count; ++k) {
    const model::TendonTermData<Real>& term = p.m.tendon_terms[k];
    if (p.m.tendons[term.tendon].node < 0) continue;
    const int tendon = p.m.loop_count + p.m.tendons[term.tendon].node;
    edge(node(term.a), tendon);
    if (term.b >= 0) edge(node(term.b), tendon);
  }
  for (int k = 0; k < p.m.condensed_pair_count; ++k) {
    edge(node(p.m.condensed_pairs[2 * k]), node(p.m.condensed_pairs[2 * k + 1]));
  }
  for (int i = 0; i < p.block_count(); ++i) {
    const model::Contact<Real>& c = p.w.contacts[i];
    if (c.body_b >= 0) edge(node(c.body_a), node(c.body_b));
  }
}

// Lists the couplings that rows make by their lower nodes, each once: edge_start, edge_node. Returns how many they are.
// One thread.
template <typename Real>
AXION_HD inline int mark_couplings(const Problem<Real>& p, Scope scope) {
  const int n = node_count(p.m);
  int *start = p.w.tree.edge_start, *mark = p.w.tree.node_mark;
  for (int i = 0; i <= n; ++i) start[i] = 0;
  for_each_edge(p, scope, [&](int, int j) { ++start[j]; });
  int end = 0;
  for (int j = 0; j < n; ++j) end += start[j], start[j] = end;
  start[n] = end;
  for_each_edge(p, scope, [&](int i, int j) { p.w.tree.edge_node[--start[j]] = i; });
  for (int i = 0; i < n; ++i) mark[i] = -1;
  int count = 0;
  for (int j = 0, k = 0; j < n; ++j) {  // couplings that come again are left out
    const int next = start[j + 1];
    start[j] = count;
    for (; k < next; ++k) {
      const int i = p.w.tree.edge_node[k];
      if (mark[i] == j) continue;
      mark[i] = j;
      p.w.tree.edge_node[count++] = i;
    }
  }
  start[n] = count;
  return count;
}

// Calls f(i, j) for the couplings that are marked and those that elimination adds, j falling. Those of a node go on to
// the greatest that it couples to: from each that j is marked with, j so comes to all on that way which have not met it
// yet. Source: Liu 1990, "The role of elimination trees in sparse factorization".
template <typename Real, typename F>
AXION_HD inline void for_each_coupling(const Problem<Real>& p, F&& f) {
  const int n = node_count(p.m);
  int *mark = p.w.tree.node_mark, *first = p.w.tree.node_first;
  for (int i = 0; i < n; ++i) mark[i] = first[i] = -1;
  for (int j = n - 1; j >= 0; --j) {
    for (int k = p.w.tree.edge_start[j]; k < p.w.tree.edge_start[j + 1]; ++k) {
      for (int i = p.w.tree.edge_node[k]; i != j && mark[i] != j; i = first[i]) {
        mark[i] = j;
        if (first[i] < 0) first[i] = j;
        f(i, j);
      }
    }
  }
}

// Numbers the couplings that are marked and those that elimination adds. Returns how many are added; coupling_count is
// negative, the complement of the count, where some did not fit: the factorisation then leaves them out. One thread.
template <typename Real>
AXION_HD inline int fill_couplings(const Problem<Real>& p, int marked) {
  const int n = node_count(p.m), capacity = p.m.coupling_capacity;
  int *start = p.w.tree.coupling_start, *used = p.w.tree.coupling_used;
  for (int i = 0; i < n; ++i) used[i] = 0;
  for_each_coupling(p, [&](int i, int) { ++used[i]; });
  int count = 0;
  for (int i = n - 1; i >= 0; --i) {
    start[i] = count < capacity ? count : capacity;
    count += used[i];
    used[i] = 0;
  }
  for_each_coupling(p, [&](int i, int j) {
    const int at = start[i] + used[i]++;
    if (at < capacity) p.w.tree.coupling_node[at] = j;
  });
  p.w.tree.coupling_count[0] = count <= capacity ? count : ~capacity;
  return count - marked;
}

// Bodies in their own order.
template <typename Real, typename Team>
AXION_HD inline void keep_body_order(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int b) { p.w.tree.body_rank[b] = p.w.tree.body_of_rank[b] = b; });
}

// body_rank, body_of_rank, coupling_start, coupling_node, coupling_count.
template <typename Real, typename Team>
AXION_HD_CALL void find_couplings(const Team& team, const Problem<Real>& p, Scope scope) {
  if (scope == Scope::kTree) find_tree_parents(team, p);
  keep_body_order(team, p);
  team.for_each(1, [&](int) { p.w.tree.coupling_fill[0] = fill_couplings(p, mark_couplings(p, scope)); });
  if (p.w.tree.coupling_fill[0] == 0) return;
  team.for_each(1, [&](int) {
    order_bodies(p);
    p.w.tree.coupling_fill[0] = fill_couplings(p, mark_couplings(p, scope));
  });
}

}  // namespace axion::solver
