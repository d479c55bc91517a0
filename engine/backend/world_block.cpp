#include "engine/backend/world_block.hpp"

#include <algorithm>
#include <cstring>

#include "engine/backend/checks.hpp"
#include "engine/constraints/eased_locks.hpp"
#include "engine/constraints/joint_rows.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/readout/write_field.hpp"
#include "engine/team/serial_team.hpp"

namespace axion::backend {
namespace {

using math::cast;

template <typename T>
void copy(const Array<T>& from, int count, const Array<T>& to) {
  for (int i = 0; i < count; ++i) to[i] = from[i];
}
template <typename T>
void fill(const Array<T>& array, int count, const std::type_identity_t<T>& value) {
  for (int i = 0; i < count; ++i) array[i] = value;
}

std::vector<double> read_row(const InputView& view, int row, int count) {
  std::vector<double> values(view.data == nullptr ? 0 : count);
  for (int j = 0; j < static_cast<int>(values.size()); ++j) values[j] = read_input(view, row, 0, j);
  return values;
}

}  // namespace

template <typename Real>
WorldBlock<Real>::WorldBlock(WorldModel<Real> model, std::byte* block)
    : model_(std::move(model)), m_(model_.m), user_(model_.user), w_() {
  static_cast<model::WorldState<Real>&>(w_) = world::bind_state(m_, block);
  model_.stand_on_mocaps(w_);
}

template <typename Real>
void WorldBlock<Real>::set_default_parameters() {
  fill(w_.mass_scale, m_.body_count, Real(1));
  fill(w_.friction_scale, 1, Real(1));
  fill(w_.gain_scale, m_.control_count, Real(1));
  for (int b = 0; b < m_.body_count; ++b) {
    w_.x_initial[b] = cast<Real>(model_.compiled().x[b]);
    w_.q_initial[b] = cast<Real>(model_.compiled().q[b]);
  }
}

template <typename Real>
void WorldBlock<Real>::set_initial_poses(const InputView& body_pose, int row) {
  set_poses(body_pose, row, w_.x_initial, w_.q_initial);
}

template <typename Real>
void WorldBlock<Real>::reset(int keyframe) {
  const ArraySlot* slot = model::slots(w_).data();
  for (const model::ArrayDeclaration<Real>& array : model::declarations<model::WorldState, Real>()) {
    if (array.kind == model::FieldKind::kState && array.length(m_) > 0) std::memset(slot->first(), 0, array.bytes(m_));
    ++slot;
  }
  *w_.state_is_new = 1;
  copy(w_.x_initial, m_.body_count, w_.x);
  copy(w_.q_initial, m_.body_count, w_.q);
  for (int i = 0; i < m_.axis_count; ++i) w_.axis_position[i] = m_.axes[i].initial_position;
  for (int i = 0; i < m_.mocap_count; ++i) w_.mocap_x[i] = m_.mocaps[i].p_WM, w_.mocap_q[i] = m_.mocaps[i].q_WM;
  model_.stand_on_mocaps(w_);
  measure_axes();
  if (keyframe < 0) return;
  const model::KeyframeSpec& frame = engine().info().keyframes[keyframe];
  if (!frame.mocap_pose.empty()) set_mocaps(frame.mocap_pose);
  std::vector<double> velocity = frame.joint_velocity;
  velocity.resize(user_.velocity_count, 0.0);
  const std::vector<double> position =
      frame.joint_position.empty() ? read_reals(Field::kJointPosition, user_.position_count) : frame.joint_position;
  set_joints(position.data(), velocity.data(), true);
  copy(w_.v, m_.body_count, w_.v_at_pose);
  copy(w_.omega, m_.body_count, w_.omega_at_pose);
  *w_.time = frame.time;
  for (std::size_t i = 0; i < frame.control.size(); ++i) w_.control[i] = static_cast<Real>(frame.control[i]);
  for (std::size_t i = 0; i < frame.activation.size(); ++i) set_activation(static_cast<int>(i), frame.activation[i]);
}

template <typename Real>
void WorldBlock<Real>::change_model(const BodyFrames& from, const BodyFrames& to) {
  copy(w_.v_at_pose, m_.body_count, w_.v);
  copy(w_.omega_at_pose, m_.body_count, w_.omega);
  for (int b = 0; b < m_.body_count; ++b) {
    const bool same_frame = from.p_BC[b] == to.p_BC[b] && from.q_BC[b] == to.q_BC[b];
    // Of a principal frame C in its body frame B; how far its origin goes.
    const auto move = [&](math::Vec3<Real>& x, math::Quat<Real>& q) -> math::Vec3<double> {
      if (same_frame) return {};
      const math::Quat<double> q_WB = cast<double>(q) * math::conjugate(from.q_BC[b]);
      const math::Vec3<double> moved = math::rotate(q_WB, to.p_BC[b] - from.p_BC[b]);
      x = cast<Real>(cast<double>(x) + moved);
      q = cast<Real>(math::normalized(q_WB * to.q_BC[b]));
      return moved;
    };
    const math::Vec3<double> moved = move(w_.x[b], w_.q[b]);
    w_.v[b] = cast<Real>(cast<double>(w_.v[b]) + math::cross(cast<double>(w_.omega[b]), moved));
    // Where no call has set initial poses, worlds begin in the poses of the model.
    if (w_.x_initial[b] == cast<Real>(from.x[b]) && w_.q_initial[b] == cast<Real>(from.q[b])) {
      w_.x_initial[b] = cast<Real>(to.x[b]), w_.q_initial[b] = cast<Real>(to.q[b]);
    } else {
      move(w_.x_initial[b], w_.q_initial[b]);
    }
  }
  forget_impulses();
}

template <typename Real>
void WorldBlock<Real>::set_activation(int i, double value) {
  const model::ActivationData<Real>& activation = m_.activations[i];
  w_.control[m_.control_count + i] = std::clamp(static_cast<Real>(value), activation.least, activation.most);
}

template <typename Real>
void WorldBlock<Real>::set_mocaps(const std::vector<double>& poses) {
  for (int i = 0; i < m_.mocap_count; ++i) {
    const double* pose = poses.data() + 7 * i;
    w_.mocap_x[i] = cast<Real>(math::Vec3<double>{pose[0], pose[1], pose[2]});
    w_.mocap_q[i] = cast<Real>(unit_quaternion(pose + 3));
  }
  model_.stand_on_mocaps(w_);
}

template <typename Real>
void WorldBlock<Real>::set_state(const StateUpdate& state, int row) {
  if (state.time.data != nullptr) *w_.time = read_input(state.time, row, 0, 0);
  for (int i = 0; state.activation.data != nullptr && i < m_.activation_count; ++i) {
    set_activation(i, read_input(state.activation, row, 0, i));
  }
  if (state.mocap_pose.data != nullptr) set_mocaps(read_row(state.mocap_pose, row, 7 * m_.mocap_count));
  const bool positions = state.joint_position.data != nullptr, velocities = state.joint_velocity.data != nullptr;
  if (!positions && !velocities && state.body_pose.data == nullptr && state.body_velocity.data == nullptr) return;
  // What is kept of a state is what clients read of it: velocities at the instant of its poses.
  copy(w_.v_at_pose, m_.body_count, w_.v);
  copy(w_.omega_at_pose, m_.body_count, w_.omega);
  if (state.body_pose.data != nullptr) {
    set_poses(state.body_pose, row, w_.x, w_.q);
    measure_axes();
  }
  for (int b = 0; state.body_velocity.data != nullptr && b < m_.body_count; ++b) {
    const int start = 6 * user_.external_body[b];
    for (int k = 0; k < 3; ++k) {
      w_.v[b][k] = static_cast<Real>(read_input(state.body_velocity, row, 0, start + k));
      w_.omega[b][k] = static_cast<Real>(read_input(state.body_velocity, row, 0, start + 3 + k));
    }
  }
  if (positions || velocities) {
    std::vector<double> position = read_row(state.joint_position, row, user_.position_count);
    std::vector<double> velocity = read_row(state.joint_velocity, row, user_.velocity_count);
    if (!positions) position = read_reals(Field::kJointPosition, user_.position_count);
    if (!velocities) velocity = read_reals(Field::kJointVelocity, user_.velocity_count);
    set_joints(position.data(), velocity.data(), positions);
  }
  forget_impulses();
}

template <typename Real>
void WorldBlock<Real>::set_poses(const InputView& view, int row, Array<math::Vec3<Real>> x, Array<math::Quat<Real>> q) {
  for (int b = 0; b < m_.body_count; ++b) {
    double pose[7];
    for (int k = 0; k < 7; ++k) pose[k] = read_input(view, row, 0, 7 * user_.external_body[b] + k);
    const math::Quat<double> q_WB = unit_quaternion(pose + 3);
    const math::Vec3<double> p_WB{pose[0], pose[1], pose[2]};
    x[b] = cast<Real>(p_WB + math::rotate(q_WB, model_.compiled().p_BC[b]));
    q[b] = cast<Real>(math::normalized(q_WB * model_.compiled().q_BC[b]));
  }
}

template <typename Real>
void WorldBlock<Real>::set_joints(const double* position, const double* velocity, bool poses_change) {
  std::vector<double> unit(position, position + user_.position_count);
  for (const model::UserJoint& joint : engine().template user<double>().joints) {
    if (joint.kind == model::JointKind::kAxes || !joint.has_coordinates) continue;
    double* q = unit.data() + joint.position_start + (joint.kind == model::JointKind::kFree ? 3 : 0);
    const math::Quat<double> n = unit_quaternion(q);
    q[0] = n.w, q[1] = n.x, q[2] = n.y, q[3] = n.z;
  }
  BodyStates bodies = this->bodies();
  if (poses_change) model::forward_kinematics(model_.compiled(), unit.data(), bodies.x, bodies.q);
  place_velocities(model_.compiled(), engine().template user<double>(), unit.data(), velocity, bodies);
  for (int b = 0; b < m_.body_count; ++b) {
    w_.v[b] = cast<Real>(bodies.v[b]), w_.omega[b] = cast<Real>(bodies.omega[b]);
    if (poses_change) w_.x[b] = cast<Real>(bodies.x[b]), w_.q[b] = cast<Real>(bodies.q[b]);
  }
  if (!poses_change) return;
  for (const model::UserJoint& joint : engine().template user<double>().joints) {
    if (joint.kind != model::JointKind::kAxes || !joint.has_coordinates) continue;
    const model::JointData<Real>& data = m_.joints[joint.joint];
    for (int k = 0; k < data.axis_count; ++k) {
      w_.axis_position[data.axis_start + k] = static_cast<Real>(unit[joint.position_start + k]);
    }
  }
}

// Coordinates of all axes from the poses, on the turn next to their last value.
template <typename Real>
void WorldBlock<Real>::measure_axes() {
  for (int j = 0; j < m_.joint_count; ++j) {
    constraints::JointEvaluation<Real> e;
    constraints::evaluate_joint(m_, m_.joints[j], w_.x, w_.q, w_.axis_position, e);
    for (int k = 0; k < m_.joints[j].axis_count; ++k) w_.axis_position[m_.joints[j].axis_start + k] = e.coordinate[k];
  }
}

template <typename Real>
void WorldBlock<Real>::forget_impulses() {
  fill(w_.lambda_joint, m_.lock_count + m_.axis_count + m_.limit_count + m_.effort_count, Real(0));
  fill(w_.limit_side, m_.limit_count, 0);
  fill(w_.joint_impulse, m_.joint_count, math::Vec3<Real>{});
  fill(w_.joint_angular_impulse, m_.joint_count, math::Vec3<Real>{});
  fill(w_.sensed, m_.sensors.sensed_size, Real(0));
  fill(w_.break_ratio, m_.break_count, Real(0));
  fill(w_.eased, m_.lock_softness_count, Real(0));
  *w_.warm_count = 0;
  *w_.state_is_new = 1;
  copy(w_.v, m_.body_count, w_.v_at_pose);
  copy(w_.omega, m_.body_count, w_.omega_at_pose);
}

template <typename Real>
std::vector<double> WorldBlock<Real>::read_reals(Field field, int count) const {
  std::vector<Real> values(count);
  readout::write_field(team::SerialTeam{}, m_, user_, w_, field, reinterpret_cast<std::byte*>(values.data()));
  return {values.begin(), values.end()};
}

template <typename Real>
BodyStates WorldBlock<Real>::bodies() const {
  BodyStates states;
  for (int b = 0; b < m_.body_count; ++b) {
    states.x.push_back(cast<double>(w_.x[b])), states.q.push_back(cast<double>(w_.q[b]));
    states.v.push_back(cast<double>(w_.v[b])), states.omega.push_back(cast<double>(w_.omega[b]));
  }
  return states;
}

template <typename Real>
std::vector<ContactInfo> WorldBlock<Real>::contacts() const {
  const auto external = [this](int body) { return body < 0 ? model::kWorldBody : user_.external_body[body]; };
  std::vector<ContactInfo> contacts;
  for (int i = 0; i < w_.record->contact_count; ++i) {
    const model::Contact<Real>& c = w_.contacts[i];
    const model::PairData<Real> pair = model::pair_data(m_, c.pair);
    const Real* lambda = w_.lambda_contact + 3 * i;
    const math::Vec3<Real> friction = lambda[1] * c.t1 + lambda[2] * c.t2;
    ContactInfo info;
    info.shape_a = pair.shape_a, info.shape_b = pair.shape_b;
    info.body_a = external(c.body_a), info.body_b = external(c.body_b);
    info.point = {c.p_WA.x, c.p_WA.y, c.p_WA.z};
    info.normal = {c.normal.x, c.normal.y, c.normal.z};
    info.gap = w_.contact_gap[i];
    info.normal_impulse = lambda[0];
    info.friction_impulse = {friction.x, friction.y, friction.z};
    if (m_.moment_capacity > 0) {
      const math::Vec3<Real>& moment = w_.contact_moment[i];
      info.moment_impulse = {moment.x, moment.y, moment.z};
    }
    contacts.push_back(info);
  }
  return contacts;
}

template <typename Real>
WorldStatistics WorldBlock<Real>::statistics() const {
  const model::StepRecord& r = *w_.record;
  WorldStatistics s;
  s.newton_iterations = r.newton_iterations, s.linear_iterations = r.linear_iterations;
  s.line_search_steps = r.line_search_steps, s.contact_count = r.contact_count, s.outcome = r.outcome;
  s.sweep_rounds = r.sweep_rounds, s.contact_sweeps = r.contact_sweeps;
  s.joint_mode = r.joint_mode;
  for (int k = 0; k < kResidualBlockCount; ++k) {
    s.residual[k] = r.residual[k], s.residual_normalised[k] = r.residual_normalised[k];
  }
  s.max_penetration = r.max_penetration, s.max_joint_error = r.max_joint_error;
  s.max_equality_error = static_cast<double>(constraints::greatest_easing(m_, w_));
  return s;
}

template class WorldBlock<float>;
template class WorldBlock<double>;

}  // namespace axion::backend
