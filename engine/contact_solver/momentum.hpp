// Nesterov's momentum for sweeps, started anew where it leads astray.
//
//   a sweep takes impulses x to g;  f = g − x;  the next sweep starts from g + m (g − g_last)
//   θ⁺ = (1 + √(1 + 4 θ²))/2,  m = (θ − 1)/θ⁺, at most `greatest`
//   θ = 1 again where f · (g − g_last) < 0, or |f|² has grown beyond SweepParameters
//
// Products are in the norm of the rows' scales. Velocities are affine in the impulses and follow by the same
// combination. Cost: two sums over the rows and a pass over rows and velocities a sweep. Source: Nesterov 1983;
// O'Donoghue and Candès 2015, "Adaptive restart for accelerated gradient schemes".
#pragma once

#include "engine/contact_solver/parameters.hpp"
#include "engine/contact_solver/sweep_views.hpp"

namespace axion::solver {

template <typename Real>
struct Momentum {
  Real greatest;  // m is at most this
  int first = 0;  // sweep since which it has not started anew for another's sake
  Real theta = 1;
  Real size = 0;   // |f|² of the last sweep
  Real least = 0;  // and the least since momentum started anew
};

// m after a sweep with |f|² = size, which the next is compared with; `along` is f · (g − g_last), in the same norm.
template <typename Real>
AXION_HD inline Real next_coefficient(Momentum<Real>& momentum, Real size, Real along) {
  const bool grew = size > Real(SweepParameters::kMomentumGrowth) * momentum.size ||
                    size > Real(SweepParameters::kMomentumExcess) * momentum.least;
  if (along < Real(0) || grew) momentum.theta = 1, momentum.least = size;
  const Real next = (1 + std::sqrt(1 + 4 * momentum.theta * momentum.theta)) / 2;
  const Real m = (momentum.theta - 1) / next;
  momentum.theta = next;
  momentum.size = size;
  if (size < momentum.least) momentum.least = size;
  return m < momentum.greatest ? m : momentum.greatest;
}

// A quantity that is g after a sweep and was `last` after the one before, or one in each lane.
template <typename Number, typename Real>
AXION_HD AXION_INLINED inline Number extrapolated(Real m, const Number& g, const Number& last) {
  return g + m * (g - last);
}
template <typename Real>
AXION_HD inline void extrapolate(Real m, Real& value, Real& last) {
  const Real g = value;
  value = m != Real(0) ? extrapolated(m, g, last) : g;
  last = g;
}

// A row's part of the product of f with the change of its impulse since `last`: |f|² from the impulses before the
// sweep, f · (g − g_last) from swept_impulse.
template <typename Real>
AXION_HD inline Real sweep_product(const SweptLaws<Real>& laws, const SweepHistory<Real>& history, const Real* impulses,
                                   int row, const Real* last) {
  const Real f = impulses[row] - history.last_impulse[row];
  return laws.row_scale[row] * f * (impulses[row] - last[row]);
}

}  // namespace axion::solver
