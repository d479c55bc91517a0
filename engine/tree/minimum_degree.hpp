// The order in which bodies are eliminated by minimum degree.
//
//   repeat: of the bodies whose joints' children are eliminated take the one of least degree, of equal degrees the last
//           eliminate it: its neighbours become neighbours of each other; count their degrees anew
//
// Neighbours are kept as a quotient graph: an eliminated node stands in its neighbours' lists for all of them, so that
// the graph never needs more cells than the couplings that rows make. Nodes of loops count, and stay. Source: Tinney
// and Walker 1967, scheme 2; George and Liu 1989, "The evolution of the minimum degree ordering algorithm".
//
// In: the couplings of the rows (edge_start, edge_node). Out: body_rank, body_of_rank. Cost: the sum over eliminated
// nodes of the nodes that their neighbours meet.
#pragma once

#include "engine/tree/tree_nodes.hpp"

namespace axion::solver {

// The lists of nodes: of a node that is left, its neighbours and the eliminated nodes that were; of an eliminated node,
// its neighbours.
template <typename Real>
struct QuotientGraph {
  const Problem<Real>& p;

  AXION_HD int& head(int node) const { return p.w.tree.order_head[node]; }
  AXION_HD int& node(int cell) const { return p.w.tree.order_cell[2 * cell]; }
  AXION_HD int& next(int cell) const { return p.w.tree.order_cell[2 * cell + 1]; }
  AXION_HD int& degree(int node) const { return p.w.tree.order_degree[node]; }
  AXION_HD bool is_gone(int node) const { return degree(node) < 0; }

  AXION_HD void push(int list, int cell, int item) const {
    node(cell) = item, next(cell) = head(list);
    head(list) = cell;
  }
};

// Calls f(i) once for each node that `node` meets, itself not; `stamp` is a number that node_mark does not hold.
template <typename Real, typename F>
AXION_HD inline void for_each_met(const QuotientGraph<Real>& graph, int node, int stamp, F&& f) {
  int* mark = graph.p.w.tree.node_mark;
  const auto meet = [&](int i) {
    if (i == node || graph.is_gone(i) || mark[i] == stamp) return;
    mark[i] = stamp;
    f(i);
  };
  for (int cell = graph.head(node); cell >= 0; cell = graph.next(cell)) {
    const int i = graph.node(cell);
    if (!graph.is_gone(i)) {
      meet(i);
    } else {
      for (int other = graph.head(i); other >= 0; other = graph.next(other)) meet(graph.node(other));
    }
  }
}

// The graph of edge_start and edge_node.
template <typename Real>
AXION_HD inline void build_graph(const QuotientGraph<Real>& graph) {
  const Problem<Real>& p = graph.p;
  const int n = node_count(p.m);
  for (int i = 0; i < n; ++i) graph.head(i) = -1, graph.degree(i) = 0;
  for (int j = 0; j < n; ++j) {
    for (int k = p.w.tree.edge_start[j]; k < p.w.tree.edge_start[j + 1]; ++k) {
      const int i = p.w.tree.edge_node[k];
      graph.push(i, 2 * k, j);
      graph.push(j, 2 * k + 1, i);
      ++graph.degree(i), ++graph.degree(j);
    }
  }
}

// Eliminates node `gone`: its `count` neighbours, in `met`, are neighbours of each other through it from now on. Each
// of them had a cell for it, or for an eliminated neighbour of it, which is free now: there are enough cells.
template <typename Real>
AXION_HD inline void eliminate_from_graph(const QuotientGraph<Real>& graph, int gone, const int* met, int count) {
  int* absorbed = graph.p.w.tree.order_absorbed;  // 1 of nodes gone whose neighbours met `gone`, else 0
  int spare = -1;                                 // cells in a list
  const auto release = [&](int list) {
    for (int cell = graph.head(list); cell >= 0;) {
      const int next = graph.next(cell);
      graph.next(cell) = spare, spare = cell;
      cell = next;
    }
    graph.head(list) = -1;
  };
  for (int cell = graph.head(gone); cell >= 0; cell = graph.next(cell)) {
    const int i = graph.node(cell);
    if (!graph.is_gone(i)) continue;
    absorbed[i] = 1;
    release(i);
  }
  release(gone);
  graph.degree(gone) = -1;
  for (int k = 0; k < count; ++k) {
    const int i = met[k];
    int kept = -1;  // the cells that stay in its list
    for (int cell = graph.head(i); cell >= 0;) {
      const int next = graph.next(cell), item = graph.node(cell);
      const bool stays = item != gone && !(graph.is_gone(item) && absorbed[item] == 1);
      int& list = stays ? kept : spare;
      graph.next(cell) = list, list = cell;
      cell = next;
    }
    const auto take = [&] {
      const int cell = spare;
      spare = graph.next(cell);
      return cell;
    };
    graph.head(i) = kept;
    graph.push(i, take(), gone);
    graph.push(gone, take(), i);
  }
}

// A tree over the bodies whose top is the one to go next: of least degree, of these the last; -1 where none may go yet.
template <typename Real>
struct Tournament {
  const Problem<Real>& p;

  AXION_HD int better(int a, int b) const {
    if (a < 0 || b < 0) return a < 0 ? b : a;
    const int loops = p.m.closing_nodes();
    const int degree_a = p.w.tree.order_degree[loops + a], degree_b = p.w.tree.order_degree[loops + b];
    if (degree_a != degree_b) return degree_a < degree_b ? a : b;
    return a > b ? a : b;
  }
  AXION_HD bool may_go(int b) const {
    return p.w.tree.order_degree[p.m.closing_nodes() + b] >= 0 && p.w.tree.order_children[b] == 0;
  }
  AXION_HD void enter(int b) const {
    int* winner = p.w.tree.order_winner;
    int at = order_leaves(p.m.body_count) + b;
    winner[at] = may_go(b) ? b : -1;
    for (at /= 2; at > 0; at /= 2) winner[at] = better(winner[2 * at], winner[2 * at + 1]);
  }
  AXION_HD void enter_all() const {
    const int leaves = order_leaves(p.m.body_count);
    int* winner = p.w.tree.order_winner;
    for (int b = 0; b < leaves; ++b) winner[leaves + b] = b < p.m.body_count && may_go(b) ? b : -1;
    for (int at = leaves - 1; at > 0; --at) winner[at] = better(winner[2 * at], winner[2 * at + 1]);
  }
  AXION_HD int top() const { return p.w.tree.order_winner[1]; }
};

// body_rank and body_of_rank by minimum degree. One thread; bodies are in their own order and their couplings marked.
template <typename Real>
AXION_HD inline void order_bodies(const Problem<Real>& p) {
  const int n = node_count(p.m), nb = p.m.body_count, loops = p.m.closing_nodes();
  int *children = p.w.tree.order_children, *met = p.w.tree.order_met, *mark = p.w.tree.node_mark;
  const QuotientGraph<Real> graph{p};
  const Tournament<Real> bodies{p};
  build_graph(graph);
  for (int i = 0; i < n; ++i) mark[i] = -1, p.w.tree.order_absorbed[i] = 0;
  for (int b = 0; b < nb; ++b) children[b] = p.m.bodies[b].child_joint_count;
  bodies.enter_all();
  int stamp = 0;
  for (int rank = nb - 1; rank >= 0; --rank) {
    const int best = bodies.top();
    int count = 0;
    for_each_met(graph, loops + best, stamp++, [&](int i) { met[count++] = i; });
    eliminate_from_graph(graph, loops + best, met, count);
    bodies.enter(best);
    for (int k = 0; k < count; ++k) {
      int degree = 0;
      for_each_met(graph, met[k], stamp++, [&](int) { ++degree; });
      graph.degree(met[k]) = degree;
      if (met[k] >= loops) bodies.enter(met[k] - loops);
    }
    const int parent = p.m.bodies[best].parent;
    if (parent >= 0 && --children[parent] == 0) bodies.enter(parent);
    p.w.tree.body_rank[best] = rank;
    p.w.tree.body_of_rank[rank] = best;
  }
}

}  // namespace axion::solver
