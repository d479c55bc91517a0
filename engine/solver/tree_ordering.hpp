// Which nodes of the factorisation meet, with fill, and the order of the bodies among them.
//
// Bodies come in their own order, children after parents, which is without fill for joint trees and for stacks. Where it
// fills, bodies are ordered by minimum degree: eliminate next the body that meets fewest others, among those whose
// joints' children are gone. A pile of a hundred spheres then takes a seventh of the work. Once a step, after the
// contacts. Source: Tinney and Walker 1967, scheme 2; George and Liu 1989, "The evolution of the minimum degree
// ordering algorithm".
#pragma once

#include "engine/solver/tree_nodes.hpp"

namespace axion::solver {

// Marks the pairs of nodes that rows couple; returns how many they are. One thread.
template <typename Real>
AXION_HD inline int mark_couplings(const Problem<Real>& p, Scope scope) {
  const int n = node_count(p.m);
  int count = 0;
  const auto mark = [&](int i, int j) {
    int& index = p.w.coupling_index[i > j ? i * n + j : j * n + i];
    count += index < 0;
    index = 0;
  };
  const auto node = [&](int b) { return node_of_body(p, b); };
  for (int b = 0; b < p.m.body_count; ++b) {
    const int parent = scope == Scope::kTree ? p.w.tree_parent[b] : p.m.bodies[b].parent;
    if (parent >= 0) mark(node(b), node(parent));
  }
  if (scope == Scope::kTree) return count;
  for (int l = 0; l < p.m.loop_count; ++l) {
    const model::JointData<Real>& joint = p.m.joints[joint_of_loop(p.m, l)];
    mark(node(joint.child), l);
    if (joint.parent >= 0) mark(node(joint.parent), l);
  }
  for (int i = 0; i < p.contact_count; ++i) {
    const model::Contact<Real>& c = p.w.contacts[i];
    if (c.body_b >= 0) mark(node(c.body_a), node(c.body_b));
  }
  return count;
}

// Numbers the couplings that are marked and those that elimination adds. Returns how many are added; coupling_count is
// negative, the complement of the count, where some did not fit: the factorisation then leaves them out. One thread.
template <typename Real>
AXION_HD inline int fill_couplings(const Problem<Real>& p, int marked) {
  const int n = node_count(p.m);
  int* index = p.w.coupling_index;
  int count = 0, left_out = 0;
  for (int i = n - 1; i >= 0; --i) {
    p.w.coupling_start[i] = count;
    int first = -1;
    for (int j = i - 1; j >= 0; --j) {
      if (index[i * n + j] < 0) continue;
      if (count == p.m.coupling_capacity) {
        index[i * n + j] = -1;
        ++left_out;
        continue;
      }
      index[i * n + j] = count;
      p.w.coupling_node[count++] = j;
      if (first < 0) {
        first = j;
      } else {
        index[first * n + j] = 0;  // eliminating i couples what it meets
      }
    }
  }
  p.w.coupling_count[0] = left_out == 0 ? count : ~count;
  return count + left_out - marked;
}

// Eliminates body `best` from the graph of what is marked: its neighbours meet each other.
template <typename Real>
AXION_HD inline void contract_graph(const Problem<Real>& p, int best) {
  const int n = node_count(p.m), loops = p.m.loop_count;
  int *degree = p.w.order_degree, *list = p.w.order_list, count = 0;
  const auto edge = [&](int i, int j) -> int& { return p.w.coupling_index[i > j ? i * n + j : j * n + i]; };
  degree[loops + best] = -1;  // gone
  for (int i = 0; i < n; ++i) {
    if (degree[i] < 0 || edge(loops + best, i) < 0) continue;
    list[count++] = i;
    --degree[i];
  }
  for (int k = 0; k < count; ++k) {
    for (int i = 0; i < k; ++i) {
      if (edge(list[k], list[i]) >= 0) continue;
      edge(list[k], list[i]) = 0;
      ++degree[list[k]], ++degree[list[i]];
    }
  }
}

// body_rank and body_of_rank by minimum degree. One thread; bodies are in their own order and their couplings marked.
template <typename Real>
AXION_HD inline void order_bodies(const Problem<Real>& p) {
  const int n = node_count(p.m), nb = p.m.body_count, loops = p.m.loop_count;
  int *degree = p.w.order_degree, *children = p.w.order_children;
  for (int i = 0; i < n; ++i) degree[i] = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      if (p.w.coupling_index[i * n + j] >= 0) ++degree[i], ++degree[j];
    }
  }
  for (int b = 0; b < nb; ++b) children[b] = p.m.bodies[b].child_joint_count;
  for (int rank = nb - 1; rank >= 0; --rank) {
    int best = -1;
    for (int b = nb - 1; b >= 0; --b) {
      if (degree[loops + b] < 0 || children[b] > 0) continue;
      if (best < 0 || degree[loops + b] < degree[loops + best]) best = b;
    }
    contract_graph(p, best);
    if (p.m.bodies[best].parent >= 0) --children[p.m.bodies[best].parent];
    p.w.body_rank[best] = rank;
    p.w.body_of_rank[rank] = best;
  }
}

// Bodies in their own order.
template <typename Real, typename Team>
AXION_HD inline void keep_body_order(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int b) { p.w.body_rank[b] = p.w.body_of_rank[b] = b; });
}

// body_rank, body_of_rank, coupling_index, coupling_start, coupling_node, coupling_count.
template <typename Real, typename Team>
AXION_HD_CALL void find_couplings(const Team& team, const Problem<Real>& p, Scope scope) {
  const int n = node_count(p.m);
  const auto clear = [&] { team.for_each(n * n, [&](int i) { p.w.coupling_index[i] = -1; }); };
  if (scope == Scope::kTree) find_tree_parents(team, p);
  keep_body_order(team, p);
  clear();
  team.for_each(1, [&](int) { p.w.coupling_fill[0] = fill_couplings(p, mark_couplings(p, scope)); });
  if (p.w.coupling_fill[0] == 0) return;
  clear();
  team.for_each(1, [&](int) {
    mark_couplings(p, scope);
    order_bodies(p);
  });
  clear();
  team.for_each(1, [&](int) { p.w.coupling_fill[0] = fill_couplings(p, mark_couplings(p, scope)); });
}

}  // namespace axion::solver
