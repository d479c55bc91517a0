// One Newton iteration's linear system of a world, and its dense solution as an oracle.
//
// A world is thrown about, stepped twice to have impulses, and linearised at its next start. The oracle builds
// [M̂ −J_Fᵀ; D₃J C₃] from the rows that the linearisation left, without any elimination, and solves it by LU with full
// pivoting, in float64.
#pragma once

#include <Eigen/Dense>
#include <memory>
#include <random>

#include "engine/step/step_world.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"

namespace axion::testing {

template <typename Real>
class NewtonSystem {
 public:
  using Team = team::SerialTeam;
  using Matrix = Eigen::MatrixXd;
  using Vector = Eigen::VectorXd;

  NewtonSystem(const model::SceneSpec& scene, const model::SolverOptions& options, unsigned seed, double dt = 0.005)
      : world_(scene, options, dt) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> u(-1, 1);
    const auto vector = [&] {
      const Real x = static_cast<Real>(u(random)), y = static_cast<Real>(u(random)), z = static_cast<Real>(u(random));
      return math::Vec3<Real>{x, y, z};
    };
    auto& w = world_.world();
    const auto m = world_.model();
    for (int b = 0; b < m.body_count; ++b) w.v[b] = vector(), w.omega[b] = vector();
    for (int i = 0; i < m.control_count; ++i) w.control[i] = static_cast<Real>(u(random));
    world_.step(2);
    linearise();
  }

  const solver::Problem<Real>& problem() const { return *problem_; }
  solver::Problem<Real>& problem() { return *problem_; }
  SingleWorld<Real>& world() { return world_; }
  int velocity_count() const { return 6 * problem_->m.body_count; }
  int row_count() const { return problem_->row_count(); }

  // What a round of sweeps does before it chooses among them: joints linearised and solved, contacts left out.
  void ready_for_sweeps() {
    auto& p = *problem_;
    for (int i = p.limit_base(); i < p.row_count(); ++i) p.w.residual[i] = p.w.row_rhs[i];  // rows as drawn, linearised
    solver::keep_body_order(Team{}, p);
    solver::note_rows(Team{}, p);
    solver::note_bodies(Team{}, p);
    solver::linearise_joints(Team{}, p);
    solver::solve_joints(Team{}, p);
  }

  // J (matrix rows) and F (impulse rows).
  Matrix rows(bool along_impulses) const {
    const auto& p = *problem_;
    Matrix J = Matrix::Zero(row_count(), velocity_count());
    for (int i = 0; i < row_count(); ++i) {
      const int t = i < p.contact_base() ? solver::find_tendon(p, i) : -1;
      if (t >= 0) {
        add_tendon_row(J, i, t, along_impulses);
        continue;
      }
      int a, b;
      solver::bodies_of_row(p, i, a, b);
      put_row(J, i, along_impulses ? solver::impulse_row(p, i) : p.w.row[i], a, b);
    }
    return J;
  }

  Matrix mass() const {
    const auto& p = *problem_;
    Matrix M = Matrix::Zero(velocity_count(), velocity_count());
    for (int b = 0; b < p.m.body_count; ++b) {
      for (int r = 0; r < 3; ++r) {
        M(6 * b + r, 6 * b + r) = constraints::body_mass(p.m, p.w, b);
        for (int c = 0; c < 3; ++c) M(6 * b + 3 + r, 6 * b + 3 + c) = p.w.I_world[b](r, c) + p.w.K_geometric[b](r, c);
      }
    }
    return M;
  }

  Vector compliance() const {
    Vector C(row_count());
    for (int i = 0; i < row_count(); ++i) C[i] = problem_->w.compliance[i];
    return C;
  }

  // The Schur operator J M̂⁻¹ Jᵀ + C of a symmetric system.
  Matrix schur() const {
    const Matrix J = rows(false);
    return J * mass().inverse() * J.transpose() + Matrix(compliance().asDiagonal());
  }

  // Solution (Δu, Δλ). Rows are J Δu + C Δλ = −r; contacts of unsymmetric solvers Δλ + G J Δu = −e instead.
  Vector dense_solution() const {
    const auto& p = *problem_;
    const bool blocks = !solver::symmetric_solver(p);
    const int nu = velocity_count(), n = row_count();
    const Matrix J = rows(false);
    Matrix A = Matrix::Zero(nu + n, nu + n);
    Vector rhs(nu + n);
    A.topLeftCorner(nu, nu) = mass();
    A.topRightCorner(nu, n) = -rows(blocks).transpose();
    A.bottomLeftCorner(n, nu) = J;
    A.bottomRightCorner(n, n) = compliance().asDiagonal();
    for (int b = 0; b < p.m.body_count; ++b) {
      for (int k = 0; k < 3; ++k) rhs[6 * b + k] = -p.w.g_linear[b][k], rhs[6 * b + 3 + k] = -p.w.g_angular[b][k];
    }
    for (int i = 0; i < n; ++i) rhs[nu + i] = -p.w.row_rhs[i];
    for (int c = 0; blocks && c < p.contact_count; ++c) {
      const int row = p.contact_base() + 3 * c;
      for (int k = 0; k < 3; ++k) {
        A.row(nu + row + k).setZero();
        for (int l = 0; l < 3; ++l)
          A.row(nu + row + k).head(nu) += p.w.contact_gain[9 * c + 3 * k + l] * J.row(row + l);
        A(nu + row + k, nu + row + k) = 1;
        rhs[nu + row + k] = -p.w.contact_offset[3 * c + k];
      }
    }
    return Eigen::FullPivLU<Matrix>(A).setThreshold(1e-30).solve(rhs);
  }

  // What the last solver left.
  Vector solution() const {
    const auto& p = *problem_;
    Vector x(velocity_count() + row_count());
    for (int b = 0; b < p.m.body_count; ++b) {
      for (int k = 0; k < 3; ++k) x[6 * b + k] = p.w.du_linear[b][k], x[6 * b + 3 + k] = p.w.du_angular[b][k];
    }
    for (int i = 0; i < row_count(); ++i) x[velocity_count() + i] = p.w.dlambda[i];
    return x;
  }

  // Largest differences of Δu and of Δλ from `exact`, relative to the largest entry of each.
  double velocity_difference(const Vector& exact) const {
    const int nu = velocity_count();
    return (solution() - exact).head(nu).cwiseAbs().maxCoeff() / exact.head(nu).cwiseAbs().maxCoeff();
  }
  double impulse_difference(const Vector& exact) const {
    const int n = row_count();
    return (solution() - exact).tail(n).cwiseAbs().maxCoeff() / exact.tail(n).cwiseAbs().maxCoeff();
  }
  double difference(const Vector& exact) const {
    return std::max(velocity_difference(exact), impulse_difference(exact));
  }

 private:
  // The parts of a step up to the first linearisation.
  void linearise() {
    const auto m = world_.model();
    auto& w = world_.world();
    const auto s = world_.settings();
    const int contacts = step::begin_step(Team{}, m, w, s).count;
    problem_ = std::make_unique<solver::Problem<Real>>(solver::Problem<Real>{m, w, s, s.joint_mode, contacts});
    step::build_contacts(Team{}, *problem_);
    step::scale_rows(Team{}, *problem_);
    solver::prepare_linear_solver(Team{}, *problem_);
    solver::start_at_last(Team{}, *problem_);
    solver::prepare_mode(Team{}, *problem_);
    solver::evaluate(Team{}, *problem_);
    solver::linearise(Team{}, *problem_);
  }

  static void put_row(Matrix& J, int i, const model::Row<Real>& row, int a, int b) {
    for (int k = 0; k < 3; ++k) {
      J(i, 6 * a + k) = row.l[k], J(i, 6 * a + 3 + k) = row.k_a[k];
      if (b >= 0) J(i, 6 * b + k) = -row.l[k], J(i, 6 * b + 3 + k) = row.k_b[k];
    }
  }

  // Of a tendon or an equality, its limit or an effort along it: the sum of its terms.
  void add_tendon_row(Matrix& J, int i, int t, bool along_impulses) const {
    const auto& p = *problem_;
    Real sign = 1;
    const int axis = p.m.tendons[t].axis;
    if (axis >= 0) {
      if (i == p.axis_base() + axis && !(p.w.axis_beta[axis] > 0)) return;  // an empty row
      solver::for_each_row_of_axis<Real>(p.m, p.w.limit_side, axis,
                                         [&](int row, Real side) { sign = row == i ? side : sign; });
    }
    constraints::for_each_term(p.m.tendons[t], [&](int k) {
      const auto& term = p.m.tendon_terms[k];
      const model::Row<Real>& row = along_impulses ? p.w.tendon_force[k] : p.w.tendon_row[k];
      Matrix part = Matrix::Zero(1, J.cols());
      put_row(part, 0, row, term.a, term.b);
      J.row(i) += sign * part;
    });
  }

  SingleWorld<Real> world_;
  std::unique_ptr<solver::Problem<Real>> problem_;
};

}  // namespace axion::testing
