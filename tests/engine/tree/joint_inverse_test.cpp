// The joint tree inverted, against a dense solve of the same system: joints' rows alone, contacts and limits left out.
#include "engine/tree/joint_inverse.hpp"

#include <gtest/gtest.h>

#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/engine/problem/newton_system.hpp"

namespace axion::joint_inverse_test {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using System = testing::NewtonSystem<double>;

// A world without loops with its joint tree factorised, and [M̂ −F_Jᵀ; J_J C_J] with its inverse.
struct JointSystem {
  System system;
  int velocities, rows;
  Matrix inverse;

  template <typename Team>
  JointSystem(const Team& team, const model::SceneSpec& scene, model::JointMode mode, unsigned seed)
      : system(scene, options_of(mode), seed),
        velocities(system.velocity_count()),
        rows(system.problem().limit_base()) {
    auto& p = system.problem();
    solver::keep_body_order(team, p);
    solver::linearise_joints(team, p);
    const int n = velocities + rows;
    Matrix K = Matrix::Zero(n, n);
    K.topLeftCorner(velocities, velocities) = system.mass();
    K.topRightCorner(velocities, rows) = -system.rows(true).topRows(rows).transpose();
    K.bottomLeftCorner(rows, velocities) = system.rows(false).topRows(rows);
    K.bottomRightCorner(rows, rows) = Matrix(system.compliance().head(rows).asDiagonal());
    inverse = K.fullPivLu().inverse();
    solver::solve_joints(team, p);
  }

  static model::SolverOptions options_of(model::JointMode mode) {
    model::SolverOptions options = model::make_options(model::Preset::kDefault);
    options.joint_mode = mode;
    return options;
  }
  // Δu, and Δλ of the joints' rows.
  Vector solution() const { return system.solution().head(velocities + rows); }
  Vector right_hand_side() const {
    const auto& p = system.problem();
    Vector rhs(velocities + rows);
    for (int b = 0; b < p.m.body_count; ++b) {
      for (int k = 0; k < 3; ++k) rhs[6 * b + k] = -p.w.g_linear[b][k], rhs[6 * b + 3 + k] = -p.w.g_angular[b][k];
    }
    for (int i = 0; i < rows; ++i) rhs[velocities + i] = -p.w.row_rhs[i];
    return rhs;
  }
};

double difference(const Vector& a, const Vector& b) { return (a - b).cwiseAbs().maxCoeff() / b.cwiseAbs().maxCoeff(); }

template <typename Check>
void for_each_system(Check&& check) {
  for (const auto mode : {model::JointMode::kPrevious, model::JointMode::kCurrent, model::JointMode::kBlended}) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE("mode " + std::to_string(int(mode)) + " seed " + std::to_string(seed));
      JointSystem serial(team::SerialTeam{}, testing::mixed_scene(), mode, seed);
      check(team::SerialTeam{}, serial);
      JointSystem shuffled(team::ShuffledTeam{}, testing::mixed_scene(), mode, seed);
      check(team::ShuffledTeam{}, shuffled);
      JointSystem loose(team::SerialTeam{}, testing::box_stack(3, 2), mode, seed);
      check(team::SerialTeam{}, loose);
    }
  }
}

TEST(JointInverse, solves_the_joints_alone) {
  for_each_system([](const auto&, const JointSystem& joints) {
    EXPECT_LT(difference(joints.solution(), joints.inverse * joints.right_hand_side()), 1e-9);
  });
}

TEST(JointInverse, solves_again_for_another_right_hand_side) {
  for_each_system([](const auto& team, JointSystem& joints) {
    auto& p = joints.system.problem();
    Vector rhs = Vector::Zero(joints.velocities + joints.rows);
    for (int b = 0; b < p.m.body_count; ++b) {
      double* unknowns = solver::body_unknowns(p, b);
      for (int k = 0; k < solver::kNodeSize; ++k) unknowns[k] = 0;
      for (int k = 0; k < 6; ++k) rhs[6 * b + k] = unknowns[k] = std::cos(6 * b + k);
    }
    solver::solve_joints_with_factors(team, p);
    EXPECT_LT(difference(joints.solution(), joints.inverse * rhs), 1e-9);
  });
}

TEST(JointInverse, has_the_velocities_of_every_tree_for_each_impulse_in_its_columns) {
  for_each_system([](const auto& team, JointSystem& joints) {
    auto& p = joints.system.problem();
    solver::find_joint_response(team, p);
    const double greatest = joints.inverse.topLeftCorner(joints.velocities, joints.velocities).cwiseAbs().maxCoeff();
    for (int b = 0; b < p.m.body_count; ++b) {
      const int start = p.m.bodies[b].tree_start, size = p.m.bodies[b].tree_size;
      for (int c = 0; c < 6; ++c) {
        const double* column = solver::response_column(p, b, c);
        for (int i = 0; i < joints.velocities; ++i) {
          const bool in_tree = i >= 6 * start && i < 6 * (start + size);
          const double found = in_tree ? column[i - 6 * start] : 0;
          EXPECT_NEAR(found, joints.inverse(i, 6 * b + c), 1e-10 * greatest) << "body " << b << ", " << c << ", " << i;
        }
      }
    }
  });
}

// Bodies 0 to `pushed` have impulses of their own.
template <int lanes, typename Team>
void expect_velocities_for_impulses(const Team& team, JointSystem& joints, int pushed) {
  auto& p = joints.system.problem();
  const int bodies = p.m.body_count;
  const double greatest = joints.inverse.topLeftCorner(joints.velocities, joints.velocities).cwiseAbs().maxCoeff();
  // What is not touched is not read, and what is written had something else before.
  std::vector<double> f(6 * lanes * bodies, std::nan("")), u(6 * lanes * bodies, std::nan(""));
  std::vector<int> touched(bodies);
  Matrix impulse = Matrix::Zero(joints.velocities + joints.rows, lanes);
  for (int b = bodies - 1; b >= 0; --b) {
    touched[b] = touched[b] != 0 || b <= pushed;
    if (touched[b] != 0 && p.m.bodies[b].parent >= 0) touched[p.m.bodies[b].parent] = 1;
  }
  for (int b = 0; b < bodies; ++b) {
    for (int i = 0; i < 6 * lanes && touched[b] != 0; ++i) {
      f[6 * lanes * b + i] = b <= pushed ? std::sin(1 + i + b) : 0;
      impulse(6 * b + i / lanes, i % lanes) = f[6 * lanes * b + i];
    }
  }
  solver::push_lanes<lanes>(team, p, touched.data(), f.data(), u.data());
  const Matrix exact = joints.inverse * impulse;
  for (int i = 0; i < joints.velocities; ++i) {
    for (int k = 0; k < lanes; ++k) {
      EXPECT_NEAR(u[lanes * i + k], exact(i, k), 1e-9 * bodies * greatest)
          << lanes << " lanes, up to " << pushed << ", " << i;
    }
  }
}

TEST(JointInverse, passes_impulses_on_bodies_to_their_trees_in_lanes) {
  for_each_system([](const auto& team, JointSystem& joints) {
    for (int pushed = 0; pushed < joints.system.problem().m.body_count; ++pushed) {
      expect_velocities_for_impulses<4>(team, joints, pushed);
      expect_velocities_for_impulses<solver::kPushLanes>(team, joints, pushed);
    }
  });
}

TEST(JointInverse, responds_to_the_impulses_of_limits_efforts_and_contacts) {
  bool seen[3] = {};
  for_each_system([&](const auto& team, JointSystem& joints) {
    auto& p = joints.system.problem();
    const Vector before = joints.solution();
    Vector change = Vector::Zero(joints.system.row_count());
    for (int row = joints.rows; row < joints.system.row_count(); ++row) {
      change[row] = p.w.dlambda[row] = std::sin(3.0 * row);
      seen[row < p.effort_base() ? 0 : row < p.contact_base() ? 1 : 2] = true;
    }
    Vector impulse = Vector::Zero(joints.velocities + joints.rows);
    impulse.head(joints.velocities) = joints.system.rows(true).transpose() * change;
    solver::respond(team, p);
    EXPECT_LT(difference(joints.solution(), before + joints.inverse * impulse), 1e-9);
  });
  EXPECT_TRUE(seen[0] && seen[1] && seen[2]);
}

}  // namespace
}  // namespace axion::joint_inverse_test
