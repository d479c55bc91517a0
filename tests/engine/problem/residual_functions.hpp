// The functions whose roots a step seeks, row by row, from what `evaluate` reports: written out again, for tests.
//
//   locks and axes   the reported residual limits, normals  φ(a, r λ), Fischer-Burmeister or minimum, of the reported a
//   efforts          (r + C)(λ − proj(λ − residual/(r + C))) tangents         natural map: r_t (λ_f − proj_c(λ_f −
//   v/r_t)), c = μ max(0, λ_n); scalar law: v + W λ_f with W held at
//                    what it was where this was made
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/problem/residual.hpp"

namespace axion::testing {

class Functions {
 public:
  using Vector = Eigen::VectorXd;
  using Problem = solver::Problem<double>;

  // `evaluate` has run at the iterate where W is taken.
  explicit Functions(const Problem& p) {
    for (int c = 0; c < p.contact_count; ++c) W_.push_back(scalar_weight(p, c));
  }

  // `evaluate` has run at the iterate in question.
  Vector rows(const Problem& p) const {
    Vector f(p.row_count());
    for (int i = 0; i < p.row_count(); ++i) f[i] = p.w.residual[i];
    for (int i = p.limit_base(); i < p.effort_base(); ++i) f[i] = unilateral(p, i);
    for (int i = 0; i < p.m.effort_count; ++i) {
      const int row = p.effort_base() + i;
      const double r = p.w.row_scale[row] + p.w.effort_compliance[i], lambda = p.w.lambda[row];
      f[row] = r * (lambda - std::clamp(lambda - f[row] / r, p.w.effort_lower[i], p.w.effort_upper[i]));
    }
    for (int c = 0; c < p.contact_count; ++c) {
      const int row = p.contact_base() + 3 * c;
      const Eigen::Vector2d v(f[row + 1], f[row + 2]);
      f[row] = unilateral(p, row);
      f.segment<2>(row + 1) = tangents(p, c, v);
    }
    return f;
  }

 private:
  static double unilateral(const Problem& p, int row) {
    const double a = p.w.residual[row], b = p.w.row_scale[row] * p.w.lambda[row];
    if (p.s.contact_function == model::ContactFunction::kMinimumMap) return std::min(a, b);
    return a + b - std::sqrt(a * a + b * b);
  }

  static double cone(const Problem& p, int c) {
    return p.w.contacts[c].friction * std::max(0.0, p.w.lambda[p.contact_base() + 3 * c]);
  }

  static Eigen::Vector2d impulse(const Problem& p, int c) {
    const int row = p.contact_base() + 3 * c;
    return {p.w.lambda[row + 1], p.w.lambda[row + 2]};
  }

  // ψ = FB(|v|, r_t (c − |λ_f|)), W = r_t (|v| − ψ)/(r_t |λ_f| + ψ), held to 0 .. 1e5 r_t.
  static double scalar_weight(const Problem& p, int c) {
    const int row = p.contact_base() + 3 * c;
    const double r_t = p.w.row_scale[row + 1], speed = std::hypot(p.w.residual[row + 1], p.w.residual[row + 2]);
    const double size = impulse(p, c).norm(), slack = r_t * (cone(p, c) - size);
    const double psi = speed + slack - std::hypot(speed, slack);
    const double below = std::max(r_t * size + psi, 1e-6 * r_t * cone(p, c));
    return std::clamp(r_t * (speed - psi) / below, 0.0, 1e5 * r_t);
  }

  Eigen::Vector2d tangents(const Problem& p, int c, const Eigen::Vector2d& v) const {
    const double r_t = p.w.row_scale[p.contact_base() + 3 * c + 1], limit = cone(p, c);
    const Eigen::Vector2d lambda = impulse(p, c);
    if (limit <= 0) return r_t * lambda;
    if (p.s.friction_model == model::FrictionModel::kScalarFixedPoint) return v + W_[c] * lambda;
    const Eigen::Vector2d star = lambda - v / r_t;
    return r_t * (lambda - std::min(1.0, limit / star.norm()) * star);
  }

  std::vector<double> W_;  // [contact]
};

// g of all bodies.
inline Eigen::VectorXd dynamics_residual(const solver::Problem<double>& p) {
  Eigen::VectorXd g(6 * p.m.body_count);
  for (int b = 0; b < p.m.body_count; ++b) {
    for (int k = 0; k < 3; ++k) g[6 * b + k] = p.w.g_linear[b][k], g[6 * b + 3 + k] = p.w.g_angular[b][k];
  }
  return g;
}

}  // namespace axion::testing
