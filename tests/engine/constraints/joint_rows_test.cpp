// Rows of joints against finite differences of their errors and coordinates.
#include "engine/constraints/joint_rows.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"

namespace axion::joint_rows_test {
namespace {

using math::Quat, math::Vec3;
using Evaluation = constraints::JointEvaluation<double>;

struct JointCase {
  const char* name;
  model::SceneSpec scene;
  int position_count;
};

std::vector<JointCase> joint_cases() {
  using testing::hinge, testing::slide, testing::two_bodies;
  const model::Vec3d p{-0.1, 0.05, 0.02}, r{-0.06, 0.09, 0.01}, s{-0.02, 0.03, -0.04};
  return {
      {"hinge", two_bodies({hinge("a", {0.3, 1, -0.2}, p)}), 1},
      {"slide", two_bodies({slide("a", {0.3, 1, -0.2})}), 1},
      {"two_slides", two_bodies({slide("a", {1, 0.2, 0}), slide("b", {0.1, 0.3, 1})}), 2},
      {"three_slides", two_bodies({slide("a", {1, 0.2, 0}), slide("b", {0.1, 0.3, 1}), slide("c", {0, 1, 0})}), 3},
      {"planar", two_bodies({slide("a", {1, 0, 0}), slide("b", {0, 0, 1}), hinge("c", {0, 1, 0}, p)}), 3},
      {"universal", two_bodies({hinge("a", {1, 0, 0}, p), hinge("b", {0, 1, 0}, p)}), 2},
      {"offset_universal", two_bodies({hinge("a", {1, 0, 0}, p), hinge("b", {0.2, 1, 0.5}, r)}), 2},
      {"three_hinges", two_bodies({hinge("a", {1, 0, 0}, p), hinge("b", {0, 0, 1}, p), hinge("c", {0, 1, 0}, p)}), 3},
      {"offset_three_hinges",
       two_bodies({hinge("a", {1, 0, 0}, p), hinge("b", {0, 0.3, 1}, r), hinge("c", {0, 1, 0.1}, s)}), 3},
      {"ball", two_bodies({}, model::JointKind::kBall), 4},
  };
}

class JointRows : public ::testing::TestWithParam<JointCase> {
 protected:
  JointRows() : world_(GetParam().scene, model::make_options(model::Preset::kDefault), 0.01) {}

  // Poses of a random admissible configuration; coordinates become the branch.
  void pose_at_random(std::mt19937& random) {
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<double> position(GetParam().position_count);
    for (double& s : position) s = uniform(random);
    if (GetParam().position_count == 4) position[0] += 2.0;  // a quaternion, far from zero
    x_ = world_.compiled().x, q_ = world_.compiled().q;
    forward_kinematics(world_.compiled(), position.data(), x_, q_);
    position_ = position;
    const auto m = world_.model();
    for (int a = 0; a < m.axis_count; ++a) world_.world().axis_position[a] = position[a];
  }

  Evaluation evaluate() {
    Evaluation e;
    const auto m = world_.model();
    constraints::evaluate_joint(m, m.joints[0], x_.data(), q_.data(), world_.world().axis_position, e);
    return e;
  }

  // The evaluation after body b moved by a small twist in direction k (0..2 linear, 3..5 angular).
  Evaluation moved(int b, int k, double amount) {
    const auto x = x_;
    const auto q = q_;
    if (k < 3) {
      x_[b][k] += amount;
    } else {
      Vec3<double> r{};
      r[k - 3] = amount;
      q_[b] = math::exp_rotation(r) * q_[b];
    }
    const Evaluation e = evaluate();
    x_ = x, q_ = q;
    return e;
  }

  static double entry(const model::Row<double>& row, bool child, int k) {
    if (k < 3) return child ? row.l[k] : -row.l[k];
    return child ? row.k_a[k - 3] : row.k_b[k - 3];
  }

  testing::SingleWorld<double> world_;
  std::vector<Vec3<double>> x_;
  std::vector<Quat<double>> q_;
  std::vector<double> position_;
};

TEST_P(JointRows, vanish_on_admissible_configurations_and_read_their_coordinates) {
  std::mt19937 random(1);
  const auto m = world_.model();
  for (int trial = 0; trial < 50; ++trial) {
    pose_at_random(random);
    const Evaluation e = evaluate();
    for (int i = 0; i < m.lock_count; ++i) EXPECT_NEAR(e.error[i], 0.0, 1e-12) << "row " << i;
    for (int k = 0; k < m.joints[0].axis_count; ++k) EXPECT_NEAR(e.coordinate[k], position_[k], 1e-7);
  }
}

TEST_P(JointRows, lock_as_many_directions_as_the_joint_leaves_none) {
  std::mt19937 random(3);
  const auto m = world_.model();
  const auto& joint = m.joints[0];
  const int freedom = joint.is_ball ? 3 : joint.axis_count;
  EXPECT_EQ(m.lock_count, 6 - freedom);
  pose_at_random(random);
  const Evaluation e = evaluate();
  for (int i = 0; i < m.lock_count; ++i) {
    const auto& row = e.lock[i];
    const double size = math::norm(row.l) + math::norm(row.k_a);
    EXPECT_GT(size, 0.5) << "row " << i;  // of unit direction, or a rotation's unit axis to within the error's scale
  }
}

TEST_P(JointRows, equal_finite_differences_of_errors_and_coordinates) {
  std::mt19937 random(2);
  const auto m = world_.model();
  const auto& joint = m.joints[0];
  double worst = 0;
  for (int trial = 0; trial < 20; ++trial) {
    pose_at_random(random);
    const Evaluation e = evaluate();
    for (int b = 0; b < 2; ++b) {
      for (int k = 0; k < 6; ++k) {
        const double eps = 1e-6;
        const Evaluation plus = moved(b, k, eps), minus = moved(b, k, -eps);
        for (int i = 0; i < m.lock_count; ++i) {
          const double slope = (plus.error[i] - minus.error[i]) / (2 * eps);
          worst = std::max(worst, std::abs(slope - entry(e.lock[i], b == joint.child, k)));
        }
        if (joint.is_ball) continue;  // a ball's three axes carry rates only, no coordinates
        for (int i = 0; i < joint.axis_count; ++i) {
          const double slope = (plus.coordinate[i] - minus.coordinate[i]) / (2 * eps);
          worst = std::max(worst, std::abs(slope - entry(e.axis[i], b == joint.child, k)));
        }
      }
    }
  }
  std::printf("%s: worst difference %.1e\n", GetParam().name, worst);
  EXPECT_LT(worst, 1e-7);
}

INSTANTIATE_TEST_SUITE_P(All, JointRows, ::testing::ValuesIn(joint_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axion::joint_rows_test
