// What a step should report of its residuals, computed anew from the states and impulses before and after it.
//
// Formulas are this file's own, in Eigen and float64: constraints of hinges (one each) and balls as functions of the
// poses, their Jacobians by differences of them, coordinates from quaternions. Of the engine it takes the compiled
// parameters, the contacts' points and normals, and the impulses. For split rotation at position level, joint impulses
// along J(q⁻) or J(q⁺), the minimum of (a, r λ) and the natural map as residuals; dt given, no wrenches, motors,
// springs of contacts or restitution.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/model/shape_pairs.hpp"
#include "tests/support/single_world.hpp"

namespace axion::testing {

class RecordOracle {
 public:
  using Vec = Eigen::Vector3d;
  using Mat = Eigen::Matrix3d;
  using Quat = Eigen::Quaterniond;
  using Vector = Eigen::VectorXd;
  struct Blocks {
    double dynamics = 0, joint = 0, contact = 0, friction = 0, control = 0;
  };

  // Before the step.
  explicit RecordOracle(SingleWorld<double>& world) : world_(world), m_(world.model()) {
    for (int b = 0; b < m_.body_count; ++b) {
      x_.push_back(vec(world.world().x[b])), q_.push_back(quat(world.world().q[b]));
      v_.push_back(vec(world.world().v[b])), omega_.push_back(vec(world.world().omega[b]));
    }
  }

  // After it.
  Blocks residuals() {
    const auto& w = world_.world();
    const double h = world_.settings().dt;
    Blocks r;
    momentum_ = Vector::Zero(6 * m_.body_count);
    for (int b = 0; b < m_.body_count; ++b) {
      x_plus_.push_back(vec(w.x[b])), q_plus_.push_back(quat(w.q[b]));
      v_plus_.push_back((x_plus_[b] - x_[b]) / h);
      // The step ends with the momentum of its own velocity: R⁻ I R⁻ᵀ ω⁺ = R⁺ I R⁺ᵀ ω.
      const Vec L = inertia(q_plus_[b], b) * vec(w.omega[b]);
      omega_plus_.push_back(inertia(q_[b], b).inverse() * L);
      momentum_.segment<3>(6 * b) = m_.bodies[b].mass * (v_plus_[b] - v_[b] - h * vec(m_.gravity));
      momentum_.segment<3>(6 * b + 3) = L - inertia(q_[b], b) * omega_[b];
    }
    for (int j = 0; j < m_.joint_count; ++j) add_locks(j, r);
    for (int i = 0; i < m_.axis_count; ++i) add_axis(i, r);
    for (int c = 0; c < world_.record().contact_count; ++c) add_contact(c, r);
    for (int b = 0; b < m_.body_count; ++b) {
      r.dynamics = std::max(r.dynamics, momentum_.segment<3>(6 * b).norm() / m_.bodies[b].mass);
      r.dynamics = std::max(r.dynamics, (inertia(q_[b], b).inverse() * momentum_.segment<3>(6 * b + 3)).norm());
    }
    return r;
  }

 private:
  struct Pose {
    Vec x;
    Quat q;
  };
  using Row = Vector;  // [12] against v, ω of the child or body a, then of the parent or body b

  static Vec vec(const math::Vec3<double>& a) { return {a.x, a.y, a.z}; }
  static Quat quat(const math::Quat<double>& q) { return {q.w, q.x, q.y, q.z}; }

  Mat inertia(const Quat& q, int b) const {
    const Mat R = q.toRotationMatrix();
    return R * vec(m_.bodies[b].inertia).asDiagonal() * R.transpose();
  }

  // c of a joint's locks: the anchors' distance in world axes, and the hinge's axis against two across it.
  Vector constraint(const model::JointData<double>& joint, const Pose& C, const Pose& P) const {
    Vector c(joint.is_ball ? 3 : 5);
    c.head<3>() = C.x + C.q * vec(joint.p_CA) - P.x - P.q * vec(joint.p_PA);
    for (int k = 0; k < 2 && !joint.is_ball; ++k) {
      c[3 + k] = (P.q * (quat(joint.q_PM0) * vec(joint.perpendicular[k]))).dot(C.q * vec(joint.hinge[0]));
    }
    return c;
  }

  Eigen::MatrixXd constraint_rows(const model::JointData<double>& joint, const Pose& C, const Pose& P) const {
    constexpr double kStep = 1e-6;
    Eigen::MatrixXd J(joint.is_ball ? 3 : 5, 12);
    for (int i = 0; i < 12; ++i) {
      Vector value[2];
      for (int side = 0; side < 2; ++side) {
        Pose moved[2] = {C, P};
        Pose& pose = moved[i / 6];
        Vec d = Vec::Zero();
        d[i % 3] = side == 0 ? -kStep : kStep;
        if (i % 6 < 3) {
          pose.x += d;
        } else {
          pose.q = Quat(Eigen::AngleAxisd(d.norm(), d.normalized())) * pose.q;
        }
        value[side] = constraint(joint, moved[0], moved[1]);
      }
      J.col(i) = (value[1] - value[0]) / (2 * kStep);
    }
    return J;
  }

  double row_velocity(const Row& row, int a, int b) const {
    double s = row.segment<3>(0).dot(v_plus_[a]) + row.segment<3>(3).dot(omega_plus_[a]);
    if (b >= 0) s += row.segment<3>(6).dot(v_plus_[b]) + row.segment<3>(9).dot(omega_plus_[b]);
    return s;
  }

  void take_impulse(const Row& row, int a, int b, double lambda) {
    momentum_.segment<6>(6 * a) -= lambda * row.head<6>();
    if (b >= 0) momentum_.segment<6>(6 * b) -= lambda * row.tail<6>();
  }

  // p M⁻¹ qᵀ
  double product(const Row& p, const Row& q, int a, int b) const {
    double s = 0;
    for (int side = 0; side < 2; ++side) {
      const int body = side == 0 ? a : b;
      if (body < 0) continue;
      s += p.segment<3>(6 * side).dot(q.segment<3>(6 * side)) / m_.bodies[body].mass;
      s += p.segment<3>(6 * side + 3).dot(inertia(q_[body], body).inverse() * q.segment<3>(6 * side + 3));
    }
    return s;
  }

  void add_locks(int j, Blocks& r) {
    const model::JointData<double>& joint = m_.joints[j];
    const Pose world{Vec::Zero(), Quat::Identity()};
    const auto pose = [&](int b, bool end) {
      return b < 0 ? world : end ? Pose{x_plus_[b], q_plus_[b]} : Pose{x_[b], q_[b]};
    };
    const bool at_end = world_.settings().joint_mode == model::JointMode::kCurrent;
    const Vector c = constraint(joint, pose(joint.child, true), pose(joint.parent, true));
    const Eigen::MatrixXd J = constraint_rows(joint, pose(joint.child, at_end), pose(joint.parent, at_end));
    // Of what the last step left no more is asked back than at 1 m/s or within the recovery time.
    const Vector left = constraint(joint, pose(joint.child, false), pose(joint.parent, false));
    const double dt = world_.settings().dt, off = left.cwiseAbs().maxCoeff();
    const double share = std::min(1.0, std::max(1.0, off / world_.settings().limit_recovery_time) * dt / off);
    r.joint = std::max(r.joint, (c - (1 - share) * left).cwiseAbs().maxCoeff() / dt);
    for (int k = 0; k < c.size(); ++k) {
      take_impulse(J.row(k), joint.child, joint.parent, world_.world().lambda_joint[joint.lock_start + k]);
    }
  }

  // Springs, dampers and drives; limits; dry friction and drives with bounded efforts. Hinges only.
  void add_axis(int i, Blocks& r) {
    const model::AxisData<double>& axis = m_.axes[i];
    const model::JointData<double>& joint = m_.joints[axis.joint];
    const auto& w = world_.world();
    const double h = world_.settings().dt;
    const int limits = m_.lock_count + m_.axis_count, efforts = limits + m_.limit_count;
    const Quat frame = (joint.parent < 0 ? Quat::Identity() : q_[joint.parent]) * quat(joint.q_PM0);
    const Vec a = frame * vec(joint.hinge[0]);
    Row row = Row::Zero(12);
    row.segment<3>(3) = a, row.segment<3>(9) = -a;
    const double rate = row_velocity(row, joint.child, joint.parent);
    const double alone = product(row, row, joint.child, joint.parent);
    const Quat turn = frame.conjugate() * q_[joint.child];
    const double s = axis.reference + 2 * std::atan2(turn.vec().dot(vec(joint.hinge[0])), turn.w());
    const double rate_before = a.dot(omega_[joint.child] - (joint.parent < 0 ? Vec::Zero() : omega_[joint.parent]));

    double beta = h * h * axis.stiffness + h * axis.damping + axis.armature;
    double alpha = -h * axis.stiffness * (s - axis.spring_reference) + axis.armature * rate_before;
    const auto drive = [&](int k, double& drive_alpha, double& drive_beta) {
      const model::ActuatorData<double>& d = m_.actuators[k];
      const double target = std::clamp(w.control[d.control], d.lower, d.upper);
      const bool position = d.kind == model::ActuatorKind::kPosition;
      drive_alpha += h * d.gear * (position ? d.kp * (target - d.gear * s) : d.kd * target);
      drive_beta += h * d.gear * d.gear * (position ? h * d.kp + d.kd : d.kd);
    };
    for (int k = axis.actuator_start; k < axis.actuator_start + axis.actuator_count; ++k) {
      if (!m_.actuators[k].effort_limited) drive(k, alpha, beta);
    }
    const double scale = alone / (1 + alone * beta);  // an impulse moves what the axis row adds as well
    const double lambda = w.lambda_joint[m_.lock_count + i];
    if (beta > 0) r.control = std::max(r.control, std::abs(rate + (lambda - alpha) / beta));
    take_impulse(row, joint.child, joint.parent, lambda);

    if (axis.limit >= 0) {
      const double sign = s - axis.lower <= axis.upper - s ? 1 : -1, impulse = w.lambda_joint[limits + axis.limit];
      const double gap = sign > 0 ? s - axis.lower : axis.upper - s;
      r.contact = std::max(r.contact, std::abs(std::min(limit_speed(gap) + sign * rate, scale * impulse)));
      take_impulse(row, joint.child, joint.parent, sign * impulse);
    }
    for (int e = axis.effort_start; e < axis.effort_start + axis.effort_count; ++e) {
      const model::EffortData<double>& effort = m_.efforts[e];
      double aim = 0, gain = 0, lower = -h * effort.friction_loss, upper = h * effort.friction_loss;
      if (effort.actuator >= 0) {
        drive(effort.actuator, aim, gain);
        lower = h * m_.actuators[effort.actuator].effort_lower, upper = h * m_.actuators[effort.actuator].effort_upper;
      }
      const double compliance = gain > 0 ? 1 / gain : 0, impulse = w.lambda_joint[efforts + e];
      const double off = rate + compliance * impulse - aim * compliance, total = scale + compliance;
      r.control = std::max(r.control, total * std::abs(impulse - std::clamp(impulse - off / total, lower, upper)));
      take_impulse(row, joint.child, joint.parent, impulse);
    }
  }

  // What the gap of a hinge's limit asks of the velocity: it may close; the joint is pushed back no faster than its
  // overlap in the recovery time, or half a radian a step, or the bound of contacts where that is more.
  double limit_speed(double gap) const {
    const double h = world_.settings().dt;
    const double back = std::min(-gap / world_.settings().limit_recovery_time, 0.5 / h);
    return std::max(gap / h, -std::max(back, double(world_.settings().depenetration_velocity)));
  }

  void add_contact(int i, Blocks& r) {
    const auto& w = world_.world();
    const model::Contact<double>& c = w.contacts[i];
    const double h = world_.settings().dt;
    const double* lambda = w.lambda_contact + 3 * i;
    const Vec directions[3] = {vec(c.normal), vec(c.t1), vec(c.t2)};
    Row row[3];
    for (int k = 0; k < 3; ++k) {
      row[k] = Row::Zero(12);
      // The point is that of the arms, between the surfaces.
      row[k].segment<3>(0) = directions[k], row[k].segment<3>(3) = vec(c.r_a).cross(directions[k]);
      if (c.body_b >= 0) {
        const Vec r_b = x_[c.body_a] + vec(c.r_a) - x_[c.body_b];
        row[k].segment<3>(6) = -directions[k], row[k].segment<3>(9) = -r_b.cross(directions[k]);
      }
      take_impulse(row[k], c.body_a, c.body_b, lambda[k]);
    }
    const double r_n = product(row[0], row[0], c.body_a, c.body_b);
    Eigen::Matrix2d tangents;
    for (int k = 0; k < 4; ++k) tangents(k / 2, k % 2) = product(row[1 + k / 2], row[1 + k % 2], c.body_a, c.body_b);
    const double r_t = Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d>(tangents).eigenvalues().maxCoeff();
    const double compliance = std::min(world_.settings().contact_compliance / (h * h), 1e-2 * r_n);
    // The gap, less what the contact's compliance takes, is closed; bodies part no faster than the bound.
    const double push = std::max(c.gap / h + compliance * lambda[0], -double(world_.settings().depenetration_velocity));
    const double a = push + row_velocity(row[0], c.body_a, c.body_b);
    r.contact = std::max(r.contact, std::abs(std::min(a, r_n * lambda[0])));
    const Eigen::Vector2d v(row_velocity(row[1], c.body_a, c.body_b), row_velocity(row[2], c.body_a, c.body_b));
    const Eigen::Vector2d f(lambda[1], lambda[2]), star = f - v / r_t;
    const double cone = model::pair_data(m_, c.pair).friction * std::max(0.0, lambda[0]);
    const double share = star.norm() > cone ? cone / star.norm() : 1.0;
    r.friction = std::max(r.friction, r_t * (f - share * star).norm());
  }

  SingleWorld<double>& world_;
  model::ModelView<double> m_;
  std::vector<Vec> x_, v_, omega_, x_plus_, v_plus_, omega_plus_;
  std::vector<Quat> q_, q_plus_;
  Vector momentum_;  // M̃(u⁺ − ũ) less all impulses
};

}  // namespace axion::testing
