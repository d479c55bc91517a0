// The numbers that factorisations along the joint tree go by, each with what it does. Sizes of nodes and arrays stand
// beside the arrays (tree_scratch.hpp).
#pragma once

namespace axion::solver {

// Pivots and fill (node_pivots.hpp, tree_assembly.hpp).
struct FactorParameters {
  // Multiples of the least normal number: no pivot of a body is smaller, so that no factorisation fails.
  static constexpr double kLeastPivot = 1e6;
  // Factors of fill below this are zero, in float32 and float64 (least_factor).
  static constexpr double kLeastFactorSingle = 1e-20, kLeastFactorDouble = 1e-154;
};

}  // namespace axion::solver
