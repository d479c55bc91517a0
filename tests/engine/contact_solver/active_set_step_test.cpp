// The step on the active set: its dense solve against Eigen, and the laws of its rows after it.
#include "engine/contact_solver/active_set_step.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/contact_solver/contact_sweeps.hpp"
#include "tests/engine/contact_solver/sweep_arguments.hpp"
#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/engine/problem/newton_system.hpp"
#include "tests/support/validation.hpp"

namespace axion::active_set_step_test {
namespace {

template <typename Real>
class ActiveSetStep : public ::testing::Test {};
TYPED_TEST_SUITE(ActiveSetStep, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(ActiveSetStep, solves_systems_of_any_size_whatever_stands_beyond_them) {
  using Real = TypeParam;
  constexpr int kStride = solver::SweepSizes::kActiveStride;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int count = 1; count <= solver::SweepSizes::kMaxActiveRows; ++count) {
    Eigen::MatrixXd dense(count, count);
    Eigen::VectorXd b(count);
    std::vector<Real> A(kStride * kStride, std::numeric_limits<Real>::quiet_NaN()), multipliers(2 * kStride);
    for (int k = 0; k <= count; ++k) {
      for (int i = 0; i < count; ++i) {
        const Real entry = Real(uniform(random) + (i == k ? 2.0 * count : 0));
        A[kStride * k + i] = entry;
        (k < count ? dense(i, k) : b[i]) = entry;
      }
    }
    std::vector<Real> other = A;
    solver::solve_active_rows(team::SerialTeam{}, A.data(), multipliers.data(), multipliers.data() + kStride, count);
    solver::solve_active_rows(team::ShuffledTeam{}, other.data(), multipliers.data(), multipliers.data() + kStride,
                              count);
    const Eigen::VectorXd exact = dense.partialPivLu().solve(b);
    for (int i = 0; i < count; ++i) {
      EXPECT_NEAR(A[kStride * count + i], exact[i], 100 * testing::epsilon<Real>()) << i << " of " << count;
      EXPECT_EQ(A[kStride * count + i], other[kStride * count + i])
          << i << " of " << count << ": order of a team's loop";
    }
  }
}

// Sweeps of a scene up to where a step may be made.
template <typename Real>
struct Swept {
  using Team = team::SerialTeam;
  testing::NewtonSystem<Real> system;

  Swept(const model::SceneSpec& scene, unsigned seed, int sweeps)
      : system(scene, model::make_options(model::Preset::kDefault), seed) {
    system.ready_for_sweeps();
    const auto& p = system.problem();
    testing::SweepArguments<Real> of(p);
    of.rows.columns.forget(Team{});
    of.rows.start(Team{}, p.w.du_linear, p.w.du_angular);
    for (int k = 0; k < sweeps; ++k) sweep(1);
  }
  // Returns whether a row's residual was above `share` of its tolerance.
  bool sweep(double share) {
    const auto& p = system.problem();
    testing::SweepArguments<Real> of(p);
    solver::Sweep<Real, solver::RowSpace<Real>> sweep{of.laws, of.system, of.rows, of.impulses, Real(share), false};
    bool above = false;
    of.laws.for_each_law([&](const auto& units) { above |= solver::visit_units(Team{}, sweep, units); });
    return above;
  }
};

// Four balls in a row on a plane, each joined to the next: a contact each, so that no impulse is redundant.
model::SceneSpec train_of_balls() {
  model::SceneSpec scene;
  scene.shapes = {testing::ground_plane(0.3)};
  for (int i = 0; i < 4; ++i) {
    const std::string name = "ball" + std::to_string(i);
    scene.bodies.push_back(testing::solid_box(name, 1 + 0.5 * i, {0.1, 0.1, 0.1}, {0.25 * i, 0, 0.099}));
    scene.shapes.push_back(testing::sphere_shape(name, i, 0.1, 0.3));
    if (i > 0) scene.joints.push_back(testing::ball_joint("pin" + std::to_string(i), i - 1, i, {-0.125, 0, 0.02}));
  }
  return scene;
}

// Where a few sweeps have found the active set, four chains of steps settle it to rounding, slip that turns and all. In
// a scene or two of 24 a contact opens on the way that should not, and sweeps close it again.
TYPED_TEST(ActiveSetStep, settles_what_sweeps_have_found) {
  int settled = 0, unsettled_before = 0, sticking = 0, sliding = 0;
  for (unsigned seed = 1; seed <= 24; ++seed) {
    Swept<TypeParam> swept(train_of_balls(), seed, 5);
    const auto& p = swept.system.problem();
    testing::SweepArguments<TypeParam> of(p);
    ASSERT_TRUE(solver::delassus_serves<TypeParam>(p.m, p.rows()));
    unsettled_before += swept.sweep(1);
    for (int k = 0; k < 4; ++k) {
      ASSERT_TRUE(solver::follow_active_set(team::SerialTeam{}, of.laws, of.system, of.rows, of.impulses, of.set,
                                            TypeParam(1e-6)));
    }
    const solver::HeldUnits none{};
    const int count =
        solver::list_active_rows(team::SerialTeam{}, of.laws, of.system, of.rows, of.impulses, of.set, none).all;
    for (int k = 0; k < count; ++k) {
      sliding += p.w.sweeps.active_kind[k] == solver::kSlidingAcross,
          sticking += p.w.sweeps.active_kind[k] == solver::kSingleRow;
    }
    settled += !swept.sweep(testing::allowed<TypeParam>(1e-9, 1e-3));
  }
  EXPECT_GE(settled, 20);
  EXPECT_GE(unsettled_before, 12);
  EXPECT_GT(sliding, 10);
  EXPECT_GT(sticking, 10);
}

// The way out of the cone of a point within, by bisection: cones are convex.
TYPED_TEST(ActiveSetStep, meets_the_cone_where_friction_leaves_it) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> unit(-1, 1);
  int meets = 0;
  for (int i = 0; i < 2000; ++i) {
    const double mu = 0.1 + 0.9 * std::abs(unit(random)), n = 0.1 + std::abs(unit(random));
    const double angle = 3.2 * unit(random), within = i % 3 == 0 ? 1 : std::abs(unit(random));
    const double size = within * mu * n;
    const TypeParam l[3] = {TypeParam(n), TypeParam(size * std::cos(angle)), TypeParam(size * std::sin(angle))};
    TypeParam d[3];
    for (TypeParam& x : d) x = TypeParam(unit(random));
    const auto excess = [&](double t) {
      const double x = l[1] + t * d[1], y = l[2] + t * d[2];
      return std::hypot(x, y) - mu * (l[0] + t * d[0]);
    };
    const double share = laws::share_to_cone(l, d, TypeParam(mu));
    if (l[0] + d[0] < 0) continue;  // the normal's bound comes first, or the cone does on the way there
    const double rounding = 200 * testing::epsilon<TypeParam>();
    if (excess(1) <= rounding) {
      if (within < 0.99 && excess(1) < -rounding) {
        EXPECT_GE(share, 1 - rounding) << i;
      }
      continue;
    }
    ++meets;
    ASSERT_LE(share, 1 + rounding) << i;
    EXPECT_NEAR(excess(share), 0, rounding) << i << " share " << share;
    EXPECT_LE(excess(share / 2), rounding) << i;
  }
  EXPECT_GT(meets, 500);
}

// Columns of D, made for many rows at once or for few, are what the whole inverse of the trees does to each row.
TYPED_TEST(ActiveSetStep, has_the_columns_of_rows_that_sweeps_met) {
  int most = 0, least = 1000, known = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    Swept<TypeParam> swept(testing::mixed_scene(), seed, 0);
    const auto& p = swept.system.problem();
    testing::SweepArguments<TypeParam> of(p);
    const int base = p.limit_base(), rows = p.row_count() - base, length = of.rows.length;
    for (int row = base; row < p.row_count(); row += of.laws.rows_from(row)) {
      if (p.w.sweeps.delassus_known[row - base] != 0) continue;
      const int units = of.rows.prepare(team::SerialTeam{}, of.laws, of.system, of.impulses, row);
      ASSERT_GE(units, 1);
      most = std::max(most, p.w.sweeps.push_count[0]), least = std::min(least, p.w.sweeps.push_count[0]);
      ASSERT_NE(p.w.sweeps.delassus_known[row - base], 0);
      ASSERT_EQ(of.rows.prepare(team::SerialTeam{}, of.laws, of.system, of.impulses, row), 0);
    }
    solver::find_joint_response(team::SerialTeam{}, p);
    for (int r = 0; r < rows; ++r) {
      ++known;
      std::fill_n(p.w.sweeps.body_velocity.begin(), 6 * p.m.body_count, TypeParam(0));
      const TypeParam impulse[1] = {1};
      of.bodies.apply_impulses(team::SerialTeam{}, base + r, 1, impulse);
      for (int i = 0; i < rows; ++i) {
        const double scale = std::sqrt(double(p.w.row_scale[base + r]) * p.w.row_scale[base + i]);
        EXPECT_NEAR(p.w.sweeps.delassus[r * length + i], of.bodies.velocity(base + i),
                    1e3 * testing::epsilon<TypeParam>() * scale)
            << "row " << i << " for " << r;
      }
    }
  }
  EXPECT_GT(most, 12);
  EXPECT_LE(least, 4);
  EXPECT_GT(known, 100);
}

// Impulses stay lawful and velocities are those of the impulses, wherever the step is made from.
TYPED_TEST(ActiveSetStep, leaves_impulses_within_their_laws_and_velocities_that_follow_them) {
  int made = 0, shortened = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    for (const int sweeps : {1, 2, 5}) {
      Swept<TypeParam> swept(testing::mixed_scene(), seed, sweeps);
      const auto& p = swept.system.problem();
      testing::SweepArguments<TypeParam> of(p);
      const int base = p.limit_base(), rows = p.row_count() - base, length = of.rows.length;
      const std::vector<TypeParam> lambda(p.w.lambda + base, p.w.lambda + base + rows);
      const std::vector<TypeParam> velocity(p.w.sweeps.row_velocity.begin(), p.w.sweeps.row_velocity + rows);
      solver::HeldUnits held;
      const solver::ActiveStep<TypeParam> step =
          solver::step_active_set(team::SerialTeam{}, of.laws, of.system, of.rows, of.impulses, of.set, held);
      if (!step.made) continue;
      ++made;
      EXPECT_TRUE(step.share >= 0 && step.share <= 1) << step.share;
      shortened += step.share < 1;
      bool meets = false;  // the bound or the cone that shortened it
      for (int k = 0; k < held.count; ++k) {
        const int contact = held.unit[k] - of.laws.single_count();
        const TypeParam* f = p.w.lambda + p.contact_base() + 3 * contact;
        const double cone = p.w.contacts[contact].friction * f[0];
        meets |= std::abs(std::hypot(f[1], f[2]) - cone) <= 1e3 * testing::epsilon<TypeParam>() * cone;
      }
      for (int r = 0; r < rows; ++r) {
        const int e = base + r - p.effort_base(), now = base + r;
        const bool bounded = now >= p.effort_base() && now < p.contact_base();
        const TypeParam value = p.w.lambda[now];
        const bool at = bounded ? value == p.w.effort_lower[e] || value == p.w.effort_upper[e] : value == 0;
        meets |= at && lambda[r] != value;
      }
      EXPECT_EQ(meets, step.share < 1) << step.share;
      for (int i = 0; i < p.m.limit_count; ++i) EXPECT_GE(p.w.lambda[base + i], 0);
      for (int e = 0; e < p.m.effort_count; ++e) {
        EXPECT_GE(p.w.lambda[p.effort_base() + e], p.w.effort_lower[e]);
        EXPECT_LE(p.w.lambda[p.effort_base() + e], p.w.effort_upper[e]);
      }
      for (int i = 0; i < p.contact_count; ++i) {
        const TypeParam* f = p.w.lambda + p.contact_base() + 3 * i;
        EXPECT_GE(f[0], 0);
        EXPECT_LE(std::hypot(f[1], f[2]), p.w.contacts[i].friction * f[0] * (1 + 4 * testing::epsilon<TypeParam>()));
      }
      for (int i = 0; i < rows; ++i) {
        double expected = velocity[i], size = std::abs(expected);
        for (int r = 0; r < rows; ++r) {
          const double change = double(p.w.lambda[base + r]) - double(lambda[r]);
          if (change == 0) continue;
          ASSERT_NE(
              p.w.sweeps.delassus_known[r < p.contact_base() - base ? r : r - (r - (p.contact_base() - base)) % 3], 0);
          expected += p.w.sweeps.delassus[r * length + i] * change,
              size += std::abs(p.w.sweeps.delassus[r * length + i] * change);
        }
        EXPECT_NEAR(p.w.sweeps.row_velocity[i], expected, 100 * testing::epsilon<TypeParam>() * (1 + size)) << i;
      }
    }
  }
  EXPECT_GE(made, 9);
  EXPECT_GE(shortened, 3);
}

}  // namespace
}  // namespace axion::active_set_step_test
