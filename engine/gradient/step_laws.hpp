// The residual of each row by the branch that its law takes at the solution, and where that branch ends.
//
//   dynamics        g                              |  limit, contact normal   a where a ≤ r λ, else λ
//   lock            r                              |  effort                  r, or λ − its bound
//   axis            r where β > 0, else λ          |  friction                v_t, or r_t(λ_f − c d), or λ_f
//
// These are what Fischer-Burmeister and the minimum map, and both laws of friction, tend to. At a kink: what touches
// without a load is closed, what is on the cone sticks, an effort at its bound is free. In: an iterate, evaluated. Out:
// residuals in N s, m/s or rad/s, and N s. Cost: linear in rows.
#pragma once

#include "engine/gradient/dual_world.hpp"

#include <cmath>
#include <cstdint>

#include "engine/problem/linearise.hpp"

namespace axion::gradient {

inline std::size_t unknown_count(const solver::Problem<Dual>& p) {
  return static_cast<std::size_t>(6 * p.m.body_count + p.row_count());
}
inline std::size_t unknown_of(const solver::Problem<Dual>& p, int row) {
  return static_cast<std::size_t>(6 * p.m.body_count + row);
}

// a − r λ of a row: active where it is not above zero.
inline Dual opening(const solver::Problem<Dual>& p, int row) {
  return p.w.residual[row] - p.w.row_scale[row] * p.w.lambda[row];
}
inline bool presses(const solver::Problem<Dual>& p, int row) { return !(opening(p, row) > 0); }

// The impulse of an effort that its law asks for at this residual, and what its bounds leave of that.
inline laws::BoundedImpulse<Dual> impulse_of_effort(const solver::Problem<Dual>& p, int effort) {
  const int row = p.effort_base() + effort;
  return solver::unit_table<Dual>(p.rows(), p.w)
      .effort_units()
      .law(effort, p.w.lambda)
      .next_impulse(p.w.residual[row], p.w.lambda[row]);
}
inline bool is_free(const solver::Problem<Dual>& p, int effort) {
  const laws::BoundedImpulse<Dual> next = impulse_of_effort(p, effort);
  return next.held == next.free;
}

enum class Friction : std::uint8_t { kNone, kSticks, kSlides };

struct Cone {
  Dual radius, star[2], size;
};
inline Cone cone_of(const solver::Problem<Dual>& p, int i) {
  const int row = p.contact_base() + 3 * i;
  const Dual normal = p.w.lambda[row] > 0 ? p.w.lambda[row] : Dual(0), r_t = p.w.row_scale[row + 1];
  Cone cone{p.w.contacts[i].friction * normal, {}, Dual(0)};
  for (int k = 0; k < 2; ++k) cone.star[k] = p.w.lambda[row + 1 + k] - p.w.residual[row + 1 + k] / r_t;
  cone.size = std::sqrt(cone.star[0] * cone.star[0] + cone.star[1] * cone.star[1]);
  return cone;
}
inline Friction friction_at(const solver::Problem<Dual>& p, int i) {
  const Cone cone = cone_of(p, i);
  const Dual closed = Dual(1e-9 * math::kGravity) * p.s.dt / p.w.row_scale[p.contact_base() + 3 * i + 1];
  if (!presses(p, p.contact_base() + 3 * i) || cone.radius <= closed) return Friction::kNone;
  return cone.size <= cone.radius ? Friction::kSticks : Friction::kSlides;
}

// r_t (λ_f − c d) of a contact that slides.
inline void put_sliding(const solver::Problem<Dual>& p, int i, const Cone& cone, Dual* to) {
  const int row = p.contact_base() + 3 * i + 1;
  for (int k = 0; k < 2; ++k) {
    to[k] = p.w.row_scale[row] * (p.w.lambda[row + k] - cone.radius * cone.star[k] / cone.size);
  }
}

// One for each unknown.
inline void put_residual(const solver::Problem<Dual>& p, Dual* to) {
  for (int b = 0; b < p.m.body_count; ++b) {
    for (int k = 0; k < 3; ++k) {
      to[6 * b + k] = p.w.g_linear[b][k];
      to[6 * b + 3 + k] = p.w.g_angular[b][k];
    }
  }
  const auto at = [&](int row) -> Dual& { return to[unknown_of(p, row)]; };
  for (int i = 0; i < p.m.lock_count; ++i) at(i) = p.w.residual[i];
  for (int i = 0; i < p.m.axis_count; ++i) {
    const int row = p.axis_base() + i;
    at(row) = p.w.axis_beta[i] > 0 ? p.w.residual[row] : p.w.lambda[row];
  }
  const auto put_unilateral = [&](int row) { at(row) = presses(p, row) ? p.w.residual[row] : p.w.lambda[row]; };
  for (int i = 0; i < p.m.limit_count; ++i) put_unilateral(p.limit_base() + i);
  for (int e = 0; e < p.m.effort_count; ++e) {
    const int row = p.effort_base() + e;
    at(row) = is_free(p, e) ? p.w.residual[row] : p.w.lambda[row] - impulse_of_effort(p, e).held;
  }
  for (int i = 0; i < p.contact_count; ++i) {
    const int row = p.contact_base() + 3 * i;
    put_unilateral(row);
    const Friction friction = friction_at(p, i);
    if (friction == Friction::kSlides) {
      put_sliding(p, i, cone_of(p, i), &at(row + 1));
      continue;
    }
    const Dual* from = friction == Friction::kSticks ? p.w.residual : p.w.lambda;
    at(row + 1) = from[row + 1], at(row + 2) = from[row + 2];
  }
}

// Marks the lanes whose coordinate leads to another branch when it is moved by `distance` either way. What presses with
// less than `least` N s does not press.
class Kinks {
 public:
  Kinks(double distance, double least) : distance_(distance), least_(least) {}

  // At an iterate that has changed since its rows were evaluated.
  void find(const solver::Problem<Dual>& p) {
    const solver::BodyVelocities<Dual> u = solver::iterate_velocities<Dual>(p.w);
    const solver::IterateRows<Dual> rows = solver::iterate_rows<Dual>(p.rows(), p.w);
    const solver::CoordinateRows<Dual> coordinates = solver::coordinate_rows<Dual>(p.m, p.w);
    const auto efforts = solver::unit_table<Dual>(p.rows(), p.w).effort_units();
    solver::RowResiduals<Dual> residuals = solver::row_residuals<Dual>(p.w);
    for (int i = 0; i < p.m.limit_count; ++i) {
      const constraints::NormalLaw<Dual> law = constraints::limit_law<Dual>(p.m, p.w, p.s, i);
      solver::evaluate_limit(rows, coordinates, u, residuals, i, law, p.s.velocity_tolerance);
    }
    for (int e = 0; e < p.m.effort_count; ++e) {
      solver::evaluate_effort(rows, coordinates, u, efforts.law(e, rows.lambda), p.w.effort_alpha[e], residuals, e,
                              p.s.velocity_tolerance);
    }
    solver::evaluate_contacts(DualTeam{}, p, u);
    for (int i = 0; i < p.m.limit_count; ++i) find_unilateral(p, p.limit_base() + i);
    for (int e = 0; e < p.m.effort_count; ++e) {
      const Dual free = impulse_of_effort(p, e).free;
      pass(free - p.w.effort_lower[e]), pass(p.w.effort_upper[e] - free);
    }
    for (int i = 0; i < p.contact_count; ++i) {
      const int row = p.contact_base() + 3 * i;
      find_unilateral(p, row);
      if (!(p.w.lambda[row].value > least_) || p.w.contacts[i].friction == 0) continue;
      const Cone cone = cone_of(p, i);
      pass(cone.size - cone.radius);
    }
  }
  // A quantity whose sign decides a branch.
  void pass(const Dual& a) {
    for (int lane = 0; lane < math::kDualLanes; ++lane) {
      const double change = distance_ * std::abs(a.slope[lane]);
      is_kink[lane] = is_kink[lane] || change > std::abs(a.value);
    }
  }

  bool is_kink[math::kDualLanes] = {};

 private:
  void find_unilateral(const solver::Problem<Dual>& p, int row) {
    pass(presses(p, row) ? p.w.lambda[row] - Dual(least_) : p.w.residual[row]);
  }

  double distance_, least_;
};

}  // namespace axion::gradient
