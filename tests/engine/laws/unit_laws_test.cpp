// Laws of units by themselves: sweeps of one unit settle, impulses stay lawful, and steps end at bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <type_traits>

#include "engine/laws/bounded_effort.hpp"
#include "engine/laws/friction_cone.hpp"
#include "engine/laws/limit.hpp"
#include "engine/laws/spin_friction.hpp"

namespace axion::laws::unit_laws_test {
namespace {

class UnitLaws : public ::testing::Test {
 protected:
  double number(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random_); }

  // A random block of three rows, its least eigenvalue above 0.2, with what laws divide by.
  struct Block {
    double G[9], inverse[3];
  };
  Block block() {
    Block b{};
    double J[9];
    for (double& x : J) x = number(-1, 1);
    for (int k = 0; k < 9; ++k) {
      b.G[k] = k % 4 == 0 ? 0.2 : 0;
      for (int i = 0; i < 3; ++i) b.G[k] += J[3 * (k / 3) + i] * J[3 * (k % 3) + i];
    }
    const double half = (b.G[4] - b.G[8]) / 2, mean = (b.G[4] + b.G[8]) / 2;
    b.inverse[0] = 1 / b.G[0], b.inverse[1] = 1 / (mean + std::hypot(half, b.G[5]));
    b.inverse[2] = 1 / (b.G[4] * b.G[8] - b.G[5] * b.G[7]);
    return b;
  }

  // Solves a unit of three rows alone until its law holds; the velocity of its rows is p + G λ.
  template <typename Law>
  void expect_settles(const Law& law) {
    const Block b = block();
    const double p[3] = {number(-1, 1), number(-1, 1), number(-1, 1)}, tolerance[2] = {1e-8, 1e-8};
    Triple<double> lambda{0, 0, 0}, v{};
    bool unsettled = true;
    for (int sweep = 0; sweep < 1000 && unsettled; ++sweep) {
      const double* G = b.G;
      v.n = p[0] + G[0] * lambda.n + G[1] * lambda.x + G[2] * lambda.y;
      v.x = p[1] + G[3] * lambda.n + G[4] * lambda.x + G[5] * lambda.y;
      v.y = p[2] + G[6] * lambda.n + G[7] * lambda.x + G[8] * lambda.y;
      unsettled = law.exceeds(v, lambda, tolerance, 1.0);
      if (!unsettled) break;
      lambda = law.solve_alone({b.G, b.inverse}, v, lambda);
      double held[3] = {lambda.n, lambda.x, lambda.y};
      law.project(held);
      EXPECT_NEAR(held[0], lambda.n, 1e-14);
      EXPECT_NEAR(held[1], lambda.x, 1e-14);
      EXPECT_NEAR(held[2], lambda.y, 1e-14);
    }
    EXPECT_FALSE(unsettled);
  }

 private:
  std::mt19937 random_{3};
};

TEST_F(UnitLaws, a_row_solved_alone_obeys_its_law_at_once) {
  int idle = 0, held = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const double G = number(0.1, 2), p = number(-1, 1), last = number(0, 1), tolerance[1] = {1e-12};
    const Limit<double> limit{number(0.1, 2)};
    const double pushed = limit.solve_alone(G, p + G * last, last);
    EXPECT_FALSE(limit.exceeds(p + G * pushed, pushed, tolerance, 1));
    idle += limit.idle(p + G * pushed, pushed);
    EXPECT_EQ(limit.idle(p + G * pushed, pushed), p >= 0);
    const double compliance = trial % 2 == 0 ? 0.3 : 0;
    const BoundedEffort<double> effort{number(0.1, 2), compliance, -number(0, 1), number(0, 1)};
    const double next = effort.solve_alone(G + compliance, p + (G + compliance) * last, last);
    EXPECT_FALSE(effort.exceeds(p + (G + compliance) * next, next, tolerance, 1));
    held += next == effort.lower || next == effort.upper;
  }
  EXPECT_GT(idle, 100);
  EXPECT_GT(held, 100);
}

TEST_F(UnitLaws, three_rows_solved_alone_settle_and_stay_within_their_bounds) {
  for (int trial = 0; trial < 300; ++trial) {
    expect_settles(FrictionCone<double>{number(0, 0.5), number(0.1, 2), number(0.1, 2)});
    expect_settles(SpinFriction<double>{number(0, 0.3), number(0, 0.3), number(0.1, 2), number(0.1, 2)});
  }
}

// A step from lawful impulses ends where going on would break the law.
TEST_F(UnitLaws, a_step_ends_where_an_impulse_meets_its_bound) {
  int met = 0;
  const auto expect_end = [&](const auto& law, int part, bool sticks, double* l, double* x, int first) {
    constexpr int rows = std::decay_t<decltype(law)>::kRows;
    const StepEnd<double> end = law.end_of_step(part, sticks, l + part, x + part);
    const auto excess = [&](double share) {
      double at[3] = {}, held[3] = {};
      for (int k = 0; k < rows; ++k) at[k] = held[k] = l[k] + (k >= first ? share * x[k] : 0);
      law.project(held);
      double most = 0;
      for (int k = 0; k < rows; ++k) most = std::max(most, std::abs(held[k] - at[k]));
      return most;
    };
    const double whole = std::min(end.share, 1.0);
    EXPECT_LE(excess(whole), 1e-12);
    if (end.share >= 1) return;
    ++met;
    EXPECT_NE(end.bound, ActiveBound::kNone);
    EXPECT_GT(excess(whole + 1e-3), 1e-10) << end.share;
  };
  for (int trial = 0; trial < 1000; ++trial) {
    const double angle = number(0, 6), mu = number(0.1, 1), n = number(0.1, 1), within = number(0, 0.9);
    double l[3] = {n, within * mu * n * std::cos(angle), within * mu * n * std::sin(angle)};
    double x[3] = {number(-1, 1), number(-1, 1), number(-1, 1)};
    expect_end(Limit<double>{1}, 0, true, l, x, 0);
    expect_end(BoundedEffort<double>{1, 0, -0.5, 1.2}, 0, true, l, x, 0);
    expect_end(FrictionCone<double>{mu, 1, 1}, 0, true, l, x, 0);
    const SpinFriction<double> spin{1.1, mu * n, 1, 1};
    expect_end(spin, 1, true, l, x, 1);
    x[1] = x[2] = 0;
    expect_end(spin, 0, true, l, x, 0);
  }
  EXPECT_GT(met, 1000);
}

TEST_F(UnitLaws, a_bounded_row_at_its_bound_keeps_it_in_newtons_matrix) {
  const BoundedEffort<double> effort{0.5, 0.1, -1, 2};
  const LinearisedRow<double> inside = effort.linearise(0.2, 0.3, 1e-4), outside = effort.linearise(-3, 1.5, 1e-4);
  EXPECT_EQ(inside.rhs, 0.2);
  EXPECT_EQ(inside.compliance, 0.1);
  EXPECT_NEAR(1.5 - outside.rhs / outside.compliance, 2, 1e-15);
  EXPECT_GT(outside.compliance, 1e6 * effort.scale);
}

}  // namespace
}  // namespace axion::laws::unit_laws_test
