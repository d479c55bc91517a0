// Every linear solver against one dense solve of the whole Newton system, in float64.
//
// The oracle builds [M̂ −J_Fᵀ; D₃J C₃] from the same rows, without any elimination, and solves it by full pivoting LU.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cstdio>
#include <random>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"

namespace axion {
namespace {

using model::JointMode;
using Problem = solver::Problem<double>;
using Team = team::SerialTeam;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// A tree of five bodies over a plane with a loose box that touches two of them: branches, every kind of row, contacts with
// the world and between bodies.
model::SceneSpec mixed_scene() {
  using testing::hinge;
  model::SceneSpec scene;
  scene.shapes = {testing::ground_plane(0.6)};
  const model::Vec3d half{0.1, 0.1, 0.1};
  const model::Vec3d at[6] = {{0, 0, 0.099}, {0.25, 0, 0.15}, {0.5, 0.02, 0.099}, {-0.25, 0, 0.3}, {-0.5, 0, 0.4}, {0.25, 0.03, 0.348}};
  for (int i = 0; i < 6; ++i) {
    const std::string name = "body" + std::to_string(i);
    scene.bodies.push_back(testing::solid_box(name, 1.0 + 0.3 * i, half, at[i]));
    scene.shapes.push_back(testing::box_shape(name, i, half, 0.6));
  }
  const int parent[5] = {-1, 0, 1, 0, 3};
  for (int i = 1; i < 5; ++i) {
    model::JointSpec joint;
    joint.name = "joint" + std::to_string(i), joint.kind = model::JointKind::kAxes;
    joint.parent = parent[i], joint.child = i;
    joint.axes = {hinge("axis" + std::to_string(i), {0, 1, 0.2 * i}, {i < 3 ? -0.12 : 0.12, 0, 0})};
    joint.axes[0].damping = 0.1 * (i % 2), joint.axes[0].armature = i == 3 ? 0.01 : 0;
    joint.axes[0].limited = i < 3, joint.axes[0].lower = -0.001, joint.axes[0].upper = 1;
    scene.joints.push_back(joint);
  }
  return scene;
}

class LinearSolvers : public ::testing::Test {
 protected:
  void prepare(const model::SceneSpec& scene, model::SolverOptions options, unsigned seed) {
    options.precision = model::Precision::kFloat64;
    world_ = std::make_unique<testing::SingleWorld<double>>(scene, options, 0.005);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> u(-1, 1);
    auto& w = world_->world();
    const auto m = world_->model();
    for (int b = 0; b < m.body_count; ++b) {
      w.v[b] = {u(random), u(random), u(random)};
      w.omega[b] = {u(random), u(random), u(random)};
    }
    world_->step(2);  // impulses of a real step
    const auto s = world_->settings();
    constraints::start_joints(Team{}, m, w);
    constraints::free_motion(Team{}, m, w, s);
    constraints::build_axis_rows(Team{}, m, w, s);
    constraints::build_limit_rows(Team{}, m, w);
    const int contacts = collide::find_contacts(Team{}, m, w, s).count;
    constraints::build_contact_rows(Team{}, m, w, contacts);
    constraints::list_contacts_of_bodies(Team{}, m, w, contacts);
    problem_ = std::make_unique<Problem>(Problem{m, w, s, s.joint_mode, contacts});
    step::scale_rows(Team{}, *problem_);
    solver::find_couplings(Team{}, *problem_, solver::Scope::kWhole);
    solver::warm_start(Team{}, *problem_);
    solver::prepare_mode(Team{}, *problem_);
    solver::choose_start(Team{}, *problem_);
    solver::linearise(Team{}, *problem_);
  }

  static void put_row(Matrix& J, int i, const model::Row<double>& row, int a, int b) {
    for (int k = 0; k < 3; ++k) {
      J(i, 6 * a + k) = row.l[k], J(i, 6 * a + 3 + k) = row.k_a[k];
      if (b >= 0) J(i, 6 * b + k) = -row.l[k], J(i, 6 * b + 3 + k) = row.k_b[k];
    }
  }

  // Dense J (matrix rows) and F (impulse rows).
  void dense_rows(Matrix& J, Matrix& F) const {
    const Problem& p = *problem_;
    J = Matrix::Zero(p.row_count(), 6 * p.m.body_count);
    F = J;
    for (int i = 0; i < p.row_count(); ++i) {
      int a, b;
      solver::bodies_of_row(p, i, a, b);
      put_row(J, i, p.w.row[i], a, b);
      put_row(F, i, i < p.axis_base() && !solver::symmetric_solver(p) ? p.w.row_force[i] : p.w.row[i], a, b);
    }
  }

  Matrix dense_mass() const {
    const Problem& p = *problem_;
    Matrix M = Matrix::Zero(6 * p.m.body_count, 6 * p.m.body_count);
    for (int b = 0; b < p.m.body_count; ++b) {
      for (int r = 0; r < 3; ++r) {
        M(6 * b + r, 6 * b + r) = constraints::body_mass(p.m, p.w, b);
        for (int c = 0; c < 3; ++c) M(6 * b + 3 + r, 6 * b + 3 + c) = p.w.I_world[b](r, c) + p.w.K_geometric[b](r, c);
      }
    }
    return M;
  }

  // Solves the system whose lower rows are J Δu + C Δλ = −r; contacts give Δλ + G J Δu = −e instead where `blocks`.
  Vector dense_solution(bool blocks) const {
    const Problem& p = *problem_;
    const int nu = 6 * p.m.body_count, n = p.row_count();
    Matrix J, F;
    dense_rows(J, F);
    Matrix A = Matrix::Zero(nu + n, nu + n);
    Vector rhs(nu + n);
    A.topLeftCorner(nu, nu) = dense_mass();
    A.topRightCorner(nu, n) = -F.transpose();
    for (int b = 0; b < p.m.body_count; ++b) {
      for (int k = 0; k < 3; ++k) rhs[6 * b + k] = -p.w.g_linear[b][k], rhs[6 * b + 3 + k] = -p.w.g_angular[b][k];
    }
    for (int i = 0; i < n; ++i) {
      A.block(nu + i, 0, 1, nu) = J.row(i);
      A(nu + i, nu + i) = p.w.compliance[i];
      rhs[nu + i] = -p.w.residual[i];
    }
    for (int c = 0; blocks && c < p.contact_count; ++c) {
      const int row = p.contact_base() + 3 * c;
      for (int k = 0; k < 3; ++k) {
        A.row(nu + row + k).setZero();
        for (int l = 0; l < 3; ++l) A.block(nu + row + k, 0, 1, nu) += p.w.contact_gain[9 * c + 3 * k + l] * J.row(row + l);
        A(nu + row + k, nu + row + k) = 1;
        rhs[nu + row + k] = -p.w.contact_offset[3 * c + k];
      }
    }
    return Eigen::FullPivLU<Matrix>(A).solve(rhs);
  }

  // Largest difference of (Δu, Δλ) from the oracle, relative to the largest entry of each.
  double difference(const Vector& exact) const {
    const Problem& p = *problem_;
    const int nu = 6 * p.m.body_count, n = p.row_count();
    double du = 0, dl = 0;
    for (int b = 0; b < p.m.body_count; ++b) {
      for (int k = 0; k < 3; ++k) {
        du = std::max(du, std::abs(p.w.du_linear[b][k] - exact[6 * b + k]));
        du = std::max(du, std::abs(p.w.du_angular[b][k] - exact[6 * b + 3 + k]));
      }
    }
    for (int i = 0; i < n; ++i) dl = std::max(dl, std::abs(p.w.dlambda[i] - exact[nu + i]));
    return std::max(du / exact.head(nu).cwiseAbs().maxCoeff(), dl / exact.tail(n).cwiseAbs().maxCoeff());
  }

  std::unique_ptr<testing::SingleWorld<double>> world_;
  std::unique_ptr<Problem> problem_;
};

TEST_F(LinearSolvers, tree_factorisation_equals_the_dense_solve_in_every_mode) {
  for (const JointMode mode : {JointMode::kPrevious, JointMode::kCurrent, JointMode::kLinearised, JointMode::kBlended}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      model::SolverOptions options = model::make_options(model::Preset::kDefault);
      options.joint_mode = mode;
      prepare(mixed_scene(), options, seed);
      ASSERT_GT(problem_->contact_count, 6);
      solver::solve_tree(Team{}, *problem_);
      const double error = difference(dense_solution(true));
      if (seed == 1) std::printf("mode %d: %d contacts, relative difference %.1e\n", int(mode), problem_->contact_count, error);
      EXPECT_LT(error, 1e-7) << "mode " << int(mode) << " seed " << seed;
    }
  }
}

TEST_F(LinearSolvers, couplings_between_moving_bodies_take_part) {
  prepare(mixed_scene(), model::make_options(model::Preset::kDefault), 1);
  int between_bodies = 0;
  for (int i = 0; i < problem_->contact_count; ++i) between_bodies += problem_->w.contacts[i].body_b >= 0;
  EXPECT_GT(between_bodies, 0);
  EXPECT_GT(problem_->w.coupling_count[0], 4);  // more than the tree's four joints
}

TEST_F(LinearSolvers, eliminated_contacts_equal_the_law_that_was_linearised) {
  // Scalar friction is a diagonal C: the blocks that the tree eliminates must say the same as the plain rows.
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.friction_model = model::FrictionModel::kScalarFixedPoint;
  prepare(mixed_scene(), options, 2);
  const Vector blocks = dense_solution(true);
  for (int c = 0; c < problem_->contact_count; ++c) {
    const int row = problem_->contact_base() + 3 * c;
    int a, b;
    solver::bodies_of_row(*problem_, row, a, b);
    const int nu = 6 * problem_->m.body_count;
    Matrix J, F;
    dense_rows(J, F);
    const double left = J.row(row).dot(blocks.head(nu)) + problem_->w.compliance[row] * blocks[nu + row];
    EXPECT_NEAR(left, -problem_->w.residual[row], 1e-9 * (1 + std::abs(problem_->w.residual[row])));
  }
}

TEST_F(LinearSolvers, conjugate_residuals_equal_the_dense_solve) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    model::SolverOptions options = model::make_options(model::Preset::kAxionSeed);
    options.max_linear_iterations = 1000;
    options.linear_tolerance = 1e-14;
    prepare(mixed_scene(), options, seed);
    const int iterations = solver::solve_pcr(Team{}, *problem_);
    const double error = difference(dense_solution(false));
    if (seed == 1) std::printf("PCR: %d iterations, relative difference %.1e\n", iterations, error);
    EXPECT_LT(error, 1e-5) << "seed " << seed;  // condition 1e5 to 1e8 times the tolerance
  }
}

TEST_F(LinearSolvers, jacobi_diagonal_is_the_diagonal_of_the_schur_operator) {
  prepare(mixed_scene(), model::make_options(model::Preset::kAxionSeed), 3);
  solver::solve_pcr(Team{}, *problem_);
  Matrix J, F;
  dense_rows(J, F);
  Matrix S = J * dense_mass().inverse() * J.transpose();
  for (int i = 0; i < problem_->row_count(); ++i) {
    const double exact = S(i, i) + problem_->w.compliance[i];
    EXPECT_NEAR(solver::operator_diagonal(*problem_, i), exact, 1e-10 * exact);
  }
}

}  // namespace
}  // namespace axion
