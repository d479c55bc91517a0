// The exact derivative of a step that begins with a state that was set: A and B of what it leaves, as clients read it,
// C and D of its sensors.
//
//   F(y, s) = 0 at the solution y = (u⁺, λ⁺),   dy = −K⁻¹ F_s ds,   x⁺ = Y(y, s),   dx⁺ = Y_y dy + Y_s ds
//
// s are the coordinates and controls. Eight of them at a time: the step's own functions run once on dual numbers at the
// solution, so that F_s is their residual's slopes; K, the same for all, is eliminated once (step_matrix.hpp); then the
// slopes of the solution are put in, and what follows a solve, `accept` and the velocities at the instant of the poses,
// runs on dual numbers, too. Every law keeps the branch that it took. A kink is marked where a coordinate that is moved
// by the difference of the request leads to another branch, as the derivative says.
//
// A step without such a derivative is told apart, by its law or because what was found again is not what was solved:
// nothing of the answer counts then.
//
// In: the model's arrays with the world's numbers; the state before the step and after it. Out: rows of the matrices.
// Cost: coordinates times that of some residuals, and the elimination. Host only.
#pragma once

#include "engine/gradient/dual_world.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/gradient/direction.hpp"
#include "engine/gradient/dual_step.hpp"
#include "engine/gradient/start_motion.hpp"
#include "engine/gradient/step_matrix.hpp"
#include "engine/world/mocap_tables.hpp"

namespace axion::gradient {

inline constexpr int kMostUnknowns = 1024;  // of a matrix of 8 MB

// Which law of a step has no derivative, as far as the state after it tells.
inline LawWithoutDerivative law_of_step(const model::ModelView<double>& m, const model::WorldState<double>& after) {
  using Law = LawWithoutDerivative;
  const model::StepRecord& record = *after.record;
  if (m.is_soft) return Law::kSoftContact;
  if (m.moment_capacity > 0) return Law::kRollingFriction;
  if (record.outcome != kConverged) return Law::kRemedy;
  const bool turns =
      record.joint_mode != model::JointMode::kPrevious && record.joint_mode != model::JointMode::kBlended;
  if (turns && m.joint_count > 0) return Law::kJointMode;
  for (int i = 0; i < record.contact_count; ++i) {
    const model::PairData<double> pair = model::pair_data(m, after.contacts[i].pair);
    const auto is_round = [&](int shape) { return m.shapes[shape].kind > model::ShapeKind::kBox; };
    const bool presses = after.lambda_contact[3 * i] > 0;
    if (presses && (is_round(pair.shape_a) || is_round(pair.shape_b))) return Law::kShape;
  }
  return 6 * m.body_count + m.contact_base() + 3 * record.contact_count > kMostUnknowns ? Law::kSize : Law::kNone;
}

// Whether a ball with springs or a cone stands at its reference, where its turn's axis is none (turn_ball).
inline bool has_ball_at_reference(const model::ModelView<Dual>& m, const model::WorldState<double>& before) {
  const auto plain = [](const math::Quat<Dual>& q) {
    return math::Quat<double>{q.w.value, q.x.value, q.y.value, q.z.value};
  };
  for (int j = 0; j < m.joint_count; ++j) {
    const model::JointData<Dual>& joint = m.joints[j];
    if (!joint.is_ball || joint.axis_count == 0) continue;
    if (!joint.has_cone && !(m.axes[joint.axis_start].stiffness > 0)) continue;
    const math::Quat<double> q_P = joint.parent < 0 ? math::Quat<double>{} : before.q[joint.parent];
    const math::Vec3<double> turn = (math::conjugate(q_P * plain(joint.q_PM0)) * before.q[joint.child]).vec();
    if (!(math::dot(turn, turn) > 0)) return true;
  }
  return false;
}

// A step, from a state that was reset and set, to the state after it; `rates` are joint_velocity before, `wrench` is
// its body_wrench or empty.
struct SolvedStep {
  model::WorldState<double> before, after;
  const std::vector<double>& rates;
  std::span<const double> wrench = {};
};

// Where the matrices of one step go, row-major; empty: not wanted.
struct MatrixRows {
  std::span<double> A, B, C, D;
  std::span<std::int32_t> kink;
};

// dL/d(what a step leaves): by the coordinates of the state, and by the numbers of fields. Empty: zero.
struct Cotangents {
  std::span<const double> state, joint_position, joint_velocity, activation, body_pose, body_velocity, sensors;
};

class StepDerivative {
 public:
  using Law = LawWithoutDerivative;

  StepDerivative(const model::ModelArrays<double>& arrays, const model::UserLayout<double>& user,
                 const model::SolverOptions& options, double dt, const DualStepRunner& runner)
      : world_(arrays, user, options, dt), start_(world_), counts_(coordinate_counts(world_)), runner_(runner) {
    const auto numbers = [](int count) { return std::vector<Dual>(static_cast<std::size_t>(count), Dual(0)); };
    position_ = numbers(user.position_count), velocity_ = numbers(counts_.rates);
    activation_ = numbers(counts_.activations), sensors_ = numbers(world_.m.sensors.size);
  }

  // Columns of the coordinates `first` to first + kDualLanes - 1, as many as there are; those from zero on come first.
  // law_of_step finds nothing of the step. Kinks are looked for within `difference`.
  Law find_columns(const SolvedStep& solved, int first, double difference, const MatrixRows& out) {
    DualStep step{{}, world_.user()};
    step.senses = senses_ = !out.C.empty() || !out.D.empty();
    step.difference = difference;
    if (const Law law = follow(solved, first, {}, step); law != Law::kNone) return law;
    put_columns(first, step.is_kink, out);
    return Law::kNone;
  }

  // The numbers of the dual world that directions are made of.
  DualWorld& world() { return world_; }

  // dL/d(coordinates, controls, then the directions `beyond`), one after the other: of each eight what the columns of
  // their matrices are with the cotangents. `is_idle` are those directions of which this is not so, as they would make
  // something act along an axis on which nothing acts, a branch of its own. `is_kink` is set where any of them leads
  // over a kink within `difference`.
  Law find_products(const SolvedStep& solved, std::span<const Direction> beyond, double difference,
                    const Cotangents& of, std::span<double> out, std::vector<bool>& is_idle, bool& is_kink) {
    is_idle.assign(beyond.size(), false);
    DualStep step{{}, world_.user()};
    step.senses = !of.sensors.empty();
    step.difference = difference;
    body_pose_.resize(of.body_pose.size()), body_velocity_.resize(of.body_velocity.size());
    step.body_pose = of.body_pose.empty() ? nullptr : body_pose_.data();
    step.body_velocity = of.body_velocity.empty() ? nullptr : body_velocity_.data();
    const int all = counts_.all() + static_cast<int>(beyond.size());
    for (int first = 0; first < all; first += math::kDualLanes) {
      if (const Law law = follow(solved, first, beyond, step); law != Law::kNone) return law;
      const math::Slopes sum = product(of);
      for (int lane = 0; lane < math::kDualLanes && first + lane < all; ++lane) {
        out[static_cast<std::size_t>(first + lane)] = sum[lane];
        is_kink = is_kink || step.is_kink[lane];
        if (first + lane >= counts_.all() && is_idle_[lane]) {
          is_idle[static_cast<std::size_t>(first + lane - counts_.all())] = true;
        }
      }
    }
    return Law::kNone;
  }

 private:
  // The step along the coordinates `first` to first + kDualLanes - 1, after all of which come the directions `beyond`.
  Law follow(const SolvedStep& solved, int first, std::span<const Direction> beyond, DualStep& step) {
    const model::WorldState<double>& after = solved.after;
    world_.load(solved.before, after, solved.wrench);
    const auto turn = [&](bool on) {
      for (int lane = 0; lane < math::kDualLanes; ++lane) {
        const int i = first + lane - counts_.all();
        if (i < 0 || i >= static_cast<int>(beyond.size())) continue;
        for (const DualSlope& slope : beyond[static_cast<std::size_t>(i)]) {
          slope.number->slope.set(lane, on ? slope.by : 0);
        }
      }
    };
    turn(true);
    find_idle_axes();
    const Law law = follow_seeded(solved, first, step);
    turn(false);
    return law;
  }

  Law follow_seeded(const SolvedStep& solved, int first, DualStep& step) {
    const model::WorldState<double>& after = solved.after;
    model::ModelView<Dual> m = world_.m;
    if (has_ball_at_reference(m, solved.before)) return Law::kOther;
    if (m.mocap_count > 0) world::stand_on_mocaps(team_, m, world_.w);
    start_.seed(m, world_, solved.rates, first);
    step.p = {m, world_.w, world_.settings, world_.settings.joint_mode, after.record->contact_count};
    step.least_load = least_load(solved.before);
    residual_.resize(unknown_count(step.p));
    step.residual = residual_.data();
    step.position = position_.data(), step.velocity = velocity_.data();
    step.activation = activation_.data(), step.sensors = sensors_.data();
    if (const Law law = runner_.begin(step, after); law != Law::kNone) return law;
    if (!(step.ratio.value <= kMostResidual)) return Law::kOther;
    if (first == 0 && !matrix_.build(step.p)) return Law::kSingular;
    slopes_.resize(residual_.size());
    for (std::size_t i = 0; i < slopes_.size(); ++i) slopes_[i] = -residual_[i].slope;
    if (!matrix_.solve(slopes_)) return Law::kSingular;
    runner_.end(step, slopes_.data());
    return first == 0 && !is_result(after) ? Law::kOther : Law::kNone;
  }

  // Of each lane whether it makes something resist along an axis on which nothing does, or gives an axis an armature:
  // the laws of these have branches of their own (constraints/axis_rows.hpp, velocity_sync/owed_forces.hpp).
  void find_idle_axes() {
    const model::ModelView<Dual>& m = world_.m;
    for (int lane = 0; lane < math::kDualLanes; ++lane) {
      is_idle_[lane] = false;
      for (int i = 0; i < m.axis_count; ++i) {
        const model::AxisData<Dual>& axis = m.axes[i];
        bool resists = false, changes = false;
        const auto look = [&](const Dual& number) {
          resists = resists || number > 0, changes = changes || number.slope[lane] != 0;
        };
        look(axis.damping), look(axis.armature), look(axis.stiffness);
        for (int k = axis.actuator_start; k < axis.actuator_start + axis.actuator_count; ++k) {
          const model::ActuatorData<Dual>& drive = m.actuators[k];
          if (drive.kind != model::ActuatorKind::kMotor) look(drive.kp), look(drive.kd);
        }
        const bool is_new = !(axis.armature > 0) && axis.armature.slope[lane] != 0;
        is_idle_[lane] = is_idle_[lane] || is_new || (changes && !resists);
      }
    }
  }

  // Of what the step leaves with the cotangents, in each direction.
  math::Slopes product(const Cotangents& of) const {
    math::Slopes sum{};
    const auto add = [&sum](std::span<const double> cotangent, const std::vector<Dual>& numbers) {
      for (std::size_t i = 0; i < cotangent.size(); ++i) sum += cotangent[i] * numbers[i].slope;
    };
    const auto rates = static_cast<std::size_t>(counts_.rates);
    if (!of.state.empty()) {
      const std::vector<math::Slopes> position = position_change();
      for (std::size_t i = 0; i < rates; ++i) sum += of.state[i] * position[i];
      add(of.state.subspan(rates, rates), velocity_), add(of.state.subspan(2 * rates), activation_);
    }
    add(of.joint_position, position_), add(of.joint_velocity, velocity_), add(of.activation, activation_);
    add(of.body_pose, body_pose_), add(of.body_velocity, body_velocity_), add(of.sensors, sensors_);
    return sum;
  }

  static constexpr double kLeastLoad = 1e-8;    // of the impulse of gravity in a step
  static constexpr double kMostResidual = 100;  // tolerances, of the solution put in again
  static constexpr double kSameResult = 1e-8;   // m, rad, m/s, rad/s, of what comes out

  double least_load(const model::WorldState<double>& before) const {
    double mass = 0;
    for (int b = 0; b < world_.m.body_count; ++b) mass += world_.m.bodies[b].mass.value * before.mass_scale[b];
    return kLeastLoad * mass * math::kGravity * world_.settings.dt.value;
  }

  // Whether the bodies are where the step left them.
  bool is_result(const model::WorldState<double>& after) const {
    const auto near = [](const math::Vec3<Dual>& a, const math::Vec3<double>& b) {
      return distance(a, b) <= kSameResult * (1 + std::abs(b.x) + std::abs(b.y) + std::abs(b.z));
    };
    for (int b = 0; b < world_.m.body_count; ++b) {
      if (!near(world_.w.x[b], after.x[b]) || !near(world_.w.q[b].vec(), after.q[b].vec())) return false;
      if (!near(world_.w.v_at_pose[b], after.v_at_pose[b])) return false;
      if (!near(world_.w.omega_at_pose[b], after.omega_at_pose[b])) return false;
    }
    return true;
  }

  // The change of joint positions along the coordinates of joint_velocity: of a quaternion 2 dq q*.
  std::vector<math::Slopes> position_change() const {
    std::vector<math::Slopes> change(static_cast<std::size_t>(counts_.rates));
    const model::UserLayout<Dual> user = world_.user();
    const auto turn = [](const Dual* at, math::Slopes* to) {
      const double w = at[0].value, x = at[1].value, y = at[2].value, z = at[3].value;
      const math::Slopes dw = at[0].slope, dx = at[1].slope, dy = at[2].slope, dz = at[3].slope;
      to[0] = 2 * (w * dx - x * dw + y * dz - z * dy);
      to[1] = 2 * (w * dy - y * dw + z * dx - x * dz);
      to[2] = 2 * (w * dz - z * dw + x * dy - y * dx);
    };
    for (int j = 0; j < user.joint_count; ++j) {
      const model::UserJoint& joint = user.joints[j];
      if (!joint.has_coordinates) continue;
      const Dual* at = position_.data() + joint.position_start;
      math::Slopes* to = change.data() + joint.velocity_start;
      if (joint.kind == model::JointKind::kFree) {
        for (int k = 0; k < 3; ++k) to[k] = world_.w.x[joint.child][k].slope;
        turn(at + 3, to + 3);
      } else if (joint.kind == model::JointKind::kBall) {
        turn(at, to);
      } else {
        for (int k = 0; k < world_.m.joints[joint.joint].axis_count; ++k) to[k] = at[k].slope;
      }
    }
    return change;
  }

  void put_columns(int first, const bool* is_kink, const MatrixRows& out) const {
    const std::vector<math::Slopes> position = position_change();
    const auto nv = static_cast<std::size_t>(counts_.rates), x = static_cast<std::size_t>(counts_.state());
    for (int lane = 0; lane < math::kDualLanes && first + lane < counts_.all(); ++lane) {
      const auto coordinate = static_cast<std::size_t>(first + lane);
      const bool of_state = coordinate < x;
      const std::size_t width = of_state ? x : static_cast<std::size_t>(counts_.controls);
      const std::size_t column = of_state ? coordinate : coordinate - x;
      const auto put = [&](std::span<double> to, std::size_t row, double value) {
        if (!to.empty()) to[row * width + column] = value;
      };
      const std::span<double> matrix = of_state ? out.A : out.B, sensed = of_state ? out.C : out.D;
      for (std::size_t i = 0; i < nv; ++i) {
        put(matrix, i, position[i][lane]), put(matrix, nv + i, velocity_[i].slope[lane]);
      }
      for (std::size_t i = 0; i < activation_.size(); ++i) {
        put(matrix, 2 * nv + i, activation_[i].slope[lane]);
      }
      for (std::size_t i = 0; i < (senses_ ? sensors_.size() : 0); ++i) put(sensed, i, sensors_[i].slope[lane]);
      if (!out.kink.empty()) out.kink[coordinate] = is_kink[lane] ? 1 : 0;
    }
  }

  DualWorld world_;
  StartMotion start_;
  CoordinateCounts counts_;
  DualStepRunner runner_;
  DualTeam team_;
  StepMatrix matrix_;
  std::vector<Dual> residual_, position_, velocity_, activation_, sensors_, body_pose_, body_velocity_;
  std::vector<math::Slopes> slopes_;
  bool senses_ = false, is_idle_[math::kDualLanes] = {};
};

}  // namespace axion::gradient
