// The pivots of a node's factors, bounded so that no factorisation fails, and the factorisation itself.
//
//   body   |pivot| ≥ 1e6 times the least normal number: the matrix is quasi-definite up to friction's unsymmetry
//   loop   pivot ≥ the compliance of its row, which no pivot of a symmetric system can be below
//
// In: the node's matrix in p.w.tree.node. Out: its factors in place (node_factors.hpp). Cost: that of factorise().
#pragma once

#include "engine/tree/node_factors.hpp"
#include "engine/tree/parameters.hpp"
#include "engine/tree/tree_nodes.hpp"

namespace axion::solver {

// The pivot of a body's node, at least this in magnitude.
template <typename Real>
AXION_HD inline Real bounded_body_pivot(Real pivot) {
  const Real least = std::numeric_limits<Real>::min() * Real(FactorParameters::kLeastPivot);
  if (std::abs(pivot) >= least) return pivot;
  return pivot < 0 ? -least : least;
}

// The k-th pivot of a node of what closes loops, whose sign is known.
template <typename Real>
AXION_HD_RARE Real bounded_closing_pivot(const Problem<Real>& p, int node, int k, Real pivot) {
  Real least;
  if (is_tendon_node<Real>(p.m, node)) {
    if (k > 0) return pivot;
    least = tendon_compliance(p, tendon_of_node(p.m, node));
  } else {
    const int j = joint_of_loop(p.m, node);
    if (k >= joint_row_count(p.m, j)) return pivot;
    least = p.w.compliance[node_row(p, p.m.joints[j], k)];
  }
  return pivot > least ? pivot : least;
}

// The k-th pivot of a node.
template <typename Real>
AXION_HD inline Real bounded_pivot(const Problem<Real>& p, int node, int k, Real pivot) {
  if (node < p.m.closing_nodes()) return bounded_closing_pivot(p, node, k, pivot);
  return bounded_body_pivot(pivot);
}

// Factors of a node's matrix.
template <typename Real, typename Team>
AXION_HD_CALL void factorise_node(const Team& team, const Problem<Real>& p, int node) {
  Real* K = p.w.tree.node + node * kNodeStride;
  const auto bound = [&](int k, Real pivot) { return bounded_pivot(p, node, k, pivot); };
  if (node_size(p, node) <= kHalfNode) {
    factorise<kHalfNode>(team, K, bound);
  } else {
    factorise<kNodeSize>(team, K, bound);
  }
}

}  // namespace axion::solver
