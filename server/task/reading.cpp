#include "server/task/reading.hpp"

#include <algorithm>
#include <cmath>

#include "engine/math/angle_functions.hpp"

namespace axion::server::task {
namespace {

void put(const Vec3& a, double* out) { out[0] = a.x, out[1] = a.y, out[2] = a.z; }

Vec3 vec_at(const double* a) { return {a[0], a[1], a[2]}; }

// The quaternion (w, x, y, z) of a rotation, w >= 0 (Shepperd 1978).
void put_quaternion(const Mat3& R, double* out) {
  const double t[4] = {R(0, 0) + R(1, 1) + R(2, 2), R(0, 0), R(1, 1), R(2, 2)};
  const auto largest = std::max_element(t, t + 4) - t;
  double q[4];
  q[largest] = std::sqrt(std::max(0.0, 1 + 2 * t[largest] - t[0])) / 2;
  const double s = 0.25 / q[largest];
  if (largest == 0) {
    q[1] = s * (R(2, 1) - R(1, 2)), q[2] = s * (R(0, 2) - R(2, 0)), q[3] = s * (R(1, 0) - R(0, 1));
  } else {
    const int i = static_cast<int>(largest) - 1, j = (i + 1) % 3, k = (i + 2) % 3;
    q[0] = s * (R(k, j) - R(j, k)), q[j + 1] = s * (R(j, i) + R(i, j)), q[k + 1] = s * (R(k, i) + R(i, k));
  }
  for (int i = 0; i < 4; ++i) out[i] = q[0] < 0 ? -q[i] : q[i];
}

double apply(Function function, double x) {
  switch (function) {
    case Function::kIdentity:
      return x;
    case Function::kSine:
      return math::sine_cosine(x).sine;
    case Function::kCosine:
      return math::sine_cosine(x).cosine;
    case Function::kAbsolute:
      return std::abs(x);
    case Function::kSquare:
      return x * x;
  }
  return x;
}

}  // namespace

Reading::Reading(const Task& task) : task_(task), offset_(kFieldCount, -1) {
  int at = 0;
  for (std::size_t i = 0; i < task.fields.size(); ++i) {
    offset_[static_cast<std::size_t>(task.fields[i])] = at;
    at += task.field_sizes[i];
  }
  const std::size_t bodies = task.robot.bodies.size();
  owners_.resize(task.robot.p_BoBcm.size());
  frames_.resize(bodies), subtree_.resize(bodies), subtree_mass_.resize(bodies);
  force_.resize(bodies), torque_.resize(bodies);
  for (const BodyPart& part : task.robot.bodies) subtree_mass_[static_cast<std::size_t>(part.root)] += part.mass;
}

void Reading::look_at(const WorldNumbers& world) {
  world_ = world;
  placed_ = subtrees_placed_ = contacts_added_ = false;
}

const double* Reading::field(Field field) const {
  return world_.fields.data() + offset_[static_cast<std::size_t>(field)];
}

void Reading::place_bodies() {
  if (placed_) return;
  placed_ = true;
  const double* pose = field(Field::kBodyPose);
  for (std::size_t i = 0; i < owners_.size(); ++i, pose += 7) {
    owners_[i] = {vec_at(pose),
                  math::to_matrix(math::normalized(math::Quat<double>{pose[3], pose[4], pose[5], pose[6]}))};
  }
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const BodyPart& part = task_.robot.bodies[i];
    const Frame owner = part.owner < 0 ? Frame{} : owners_[static_cast<std::size_t>(part.owner)];
    frames_[i] = {owner.p + owner.R * part.p_owner, owner.R * part.R_owner};
  }
}

void Reading::place_subtrees() {
  if (subtrees_placed_) return;
  place_bodies();
  subtrees_placed_ = true;
  std::fill(subtree_.begin(), subtree_.end(), Vec3{});
  center_of_mass_ = {};
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const BodyPart& part = task_.robot.bodies[i];
    const Vec3 moment = part.mass * (frames_[i].p + frames_[i].R * part.p_BoBcm);
    subtree_[static_cast<std::size_t>(part.root)] += moment;
    center_of_mass_ += moment;
  }
  for (std::size_t i = 0; i < subtree_.size(); ++i) {
    if (subtree_mass_[i] > 0) subtree_[i] = (1 / subtree_mass_[i]) * subtree_[i];
  }
  if (task_.robot.mass > 0) center_of_mass_ = (1 / task_.robot.mass) * center_of_mass_;
}

void Reading::add_contacts() {
  if (contacts_added_) return;
  contacts_added_ = true;
  std::fill(force_.begin(), force_.end(), Vec3{});
  std::fill(torque_.begin(), torque_.end(), Vec3{});
  for (const ContactInfo& contact : world_.contacts) {
    const Vec3 normal{contact.normal[0], contact.normal[1], contact.normal[2]};
    const Vec3 friction{contact.friction_impulse[0], contact.friction_impulse[1], contact.friction_impulse[2]};
    const Vec3 force = (1 / task_.step_time) * (contact.normal_impulse * normal + friction);
    const Vec3 moment{contact.moment_impulse[0], contact.moment_impulse[1], contact.moment_impulse[2]};
    const Vec3 torque =
        math::cross(Vec3{contact.point[0], contact.point[1], contact.point[2]}, force) + (1 / task_.step_time) * moment;
    for (const int shape : {contact.shape_a, contact.shape_b}) {
      const int body = task_.robot.body_of_shape[static_cast<std::size_t>(shape)];
      if (body < 0) continue;
      const double sign = shape == contact.shape_a ? 1 : -1;
      force_[static_cast<std::size_t>(body)] += sign * force;
      torque_[static_cast<std::size_t>(body)] += sign * torque;
    }
  }
}

double Reading::contact_force(int body) {
  add_contacts();
  return math::norm(force_[static_cast<std::size_t>(body)]);
}

Vec3 Reading::angular_velocity_of(int body) const {
  const int owner = task_.robot.bodies[static_cast<std::size_t>(body)].owner;
  return owner < 0 ? Vec3{} : vec_at(field(Field::kBodyVelocity) + 6 * owner + 3);
}

Vec3 Reading::velocity_of(int body, const Vec3& p_W) const {
  const int owner = task_.robot.bodies[static_cast<std::size_t>(body)].owner;
  if (owner < 0) return {};
  const Frame& frame = owners_[static_cast<std::size_t>(owner)];
  const Vec3 com = frame.p + frame.R * task_.robot.p_BoBcm[static_cast<std::size_t>(owner)];
  const double* v = field(Field::kBodyVelocity) + 6 * owner;
  return vec_at(v) + math::cross(vec_at(v + 3), p_W - com);
}

void Reading::read_body(const Quantity& q, int body, double* out) {
  place_bodies();
  const Frame& frame = frames_[static_cast<std::size_t>(body)];
  const auto in_axes = [&](const Vec3& a) { return q.in_body_axes ? math::transpose_times(frame.R, a) : a; };
  switch (q.kind) {
    case QuantityKind::kBodyPosition: {
      const Vec3 p = frame.p + frame.R * q.point;
      put(q.relative_to < 0 ? p : p - frames_[static_cast<std::size_t>(q.relative_to)].p, out);
      return;
    }
    case QuantityKind::kBodyOrientation:
      put_quaternion(frame.R, out);
      return;
    case QuantityKind::kBodyGravity:
      put(math::transpose_times(frame.R, Vec3{0, 0, -1}), out);
      return;
    case QuantityKind::kBodyVelocity:
      put(in_axes(velocity_of(body, frame.p + frame.R * q.point)), out);
      return;
    case QuantityKind::kBodyAngularVelocity:
      put(in_axes(angular_velocity_of(body)), out);
      return;
    default:
      add_contacts();
      put(in_axes(force_[static_cast<std::size_t>(body)]), out);
      return;
  }
}

void Reading::read_generalized_velocity() {
  const double* v = field(Field::kJointVelocity);
  std::copy(v, v + whole_.size(), whole_.begin());
  for (const FreeRoot& root : task_.robot.free_roots) {
    const double* q = field(Field::kJointPosition) + root.position_start + 3;
    const Mat3 R = math::to_matrix(math::normalized(math::Quat<double>{q[0], q[1], q[2], q[3]}));
    const Vec3 omega = vec_at(v + root.velocity_start + 3);
    const Vec3 arm = R * task_.robot.p_BoBcm[static_cast<std::size_t>(root.body)];
    double* out = whole_.data() + root.velocity_start;
    put(vec_at(v + root.velocity_start) - math::cross(omega, arm), out);
    put(math::transpose_times(R, omega), out + 3);
  }
}

void Reading::read_all_bodies(QuantityKind kind) {
  place_subtrees();
  if (kind == QuantityKind::kBodyWrenches) add_contacts();
  double* out = whole_.data();
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const BodyPart& part = task_.robot.bodies[i];
    const Vec3& about = subtree_[static_cast<std::size_t>(part.root)];
    if (kind == QuantityKind::kBodyWrenches) {
      put(torque_[i] - math::cross(about, force_[i]), out);
      put(force_[i], out + 3);
      out += 6;
    } else if (kind == QuantityKind::kBodyTwists) {
      put(angular_velocity_of(static_cast<int>(i)), out);
      put(velocity_of(static_cast<int>(i), about), out + 3);
      out += 6;
    } else {
      const Mat3& R = frames_[i].R;
      const Vec3 arm = frames_[i].p + R * part.p_BoBcm - about;
      const Mat3 square = math::dot(arm, arm) * Mat3::identity() + (-1.0) * math::outer(arm, arm);
      const Mat3 I = R * part.I_Bcm * math::transpose(R) + part.mass * square;
      const double values[] = {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)};
      std::copy(values, values + 6, out);
      put(part.mass * arm, out + 6);
      out[9] = part.mass;
      out += 10;
    }
  }
}

void Reading::read_whole(const Quantity& q) {
  const auto copy = [this](std::span<const double> values) { std::copy(values.begin(), values.end(), whole_.begin()); };
  const auto size = static_cast<std::size_t>(q.whole);
  switch (q.kind) {
    case QuantityKind::kCommand:
      copy(world_.command.subspan(static_cast<std::size_t>(q.at), size));
      return;
    case QuantityKind::kDraw:
      copy(world_.draws.subspan(static_cast<std::size_t>(q.at), size));
      return;
    case QuantityKind::kPhase:
      copy(world_.phases.subspan(static_cast<std::size_t>(q.at), size));
      return;
    case QuantityKind::kCurriculum:
      copy(world_.levels.subspan(static_cast<std::size_t>(q.at), size));
      return;
    case QuantityKind::kBodyInContact:
    case QuantityKind::kBodyAirTime:
    case QuantityKind::kBodyContactTime:
    case QuantityKind::kBodyLastAirTime:
    case QuantityKind::kBodyFirstContact:
      read_tracked(q);
      return;
    case QuantityKind::kAction:
      copy(world_.action);
      return;
    case QuantityKind::kPreviousAction:
      copy(world_.previous_action);
      return;
    case QuantityKind::kGeneralizedVelocity:
      read_generalized_velocity();
      return;
    case QuantityKind::kActuatorForces:
      std::fill(whole_.begin(), whole_.end(), 0.0);
      for (const EffortShare& share : task_.robot.efforts) {
        whole_[static_cast<std::size_t>(share.velocity)] += share.gear * field(Field::kActuatorForce)[share.actuator];
      }
      return;
    case QuantityKind::kCenterOfMass:
      place_subtrees();
      put(center_of_mass_, whole_.data());
      return;
    case QuantityKind::kBodyWrenches:
    case QuantityKind::kBodyInertias:
    case QuantityKind::kBodyTwists:
      read_all_bodies(q.kind);
      return;
    default:
      for (std::size_t k = 0; k < q.bodies.size(); ++k) {
        read_body(q, q.bodies[k], whole_.data() + k * (size / q.bodies.size()));
      }
      return;
  }
}

void Reading::read_tracked(const Quantity& q) {
  for (std::size_t k = 0; k < q.tracked.size(); ++k) {
    const double* numbers = world_.tracked.data() + kTrackedNumbers * q.tracked[k];
    whole_[k] = q.kind == QuantityKind::kBodyInContact     ? (numbers[1] > 0 ? 1 : 0)
                : q.kind == QuantityKind::kBodyAirTime     ? numbers[0]
                : q.kind == QuantityKind::kBodyContactTime ? numbers[1]
                : q.kind == QuantityKind::kBodyLastAirTime ? numbers[2]
                                                           : numbers[3];
  }
}

void Reading::read(const Quantity& q, double* out) {
  const double* from = nullptr;
  if (q.kind == QuantityKind::kField) {
    from = field(q.field) + q.first;
  } else {
    whole_.resize(static_cast<std::size_t>(q.whole));
    read_whole(q);
    from = whole_.data() + q.first;
  }
  for (int i = 0; i < q.size; ++i) {
    double x = apply(q.function, q.picks.empty() ? from[i] : from[q.picks[static_cast<std::size_t>(i)]]);
    if (!q.scale.empty()) x *= q.scale[static_cast<std::size_t>(i)];
    if (!q.offset.empty()) x += q.offset[static_cast<std::size_t>(i)];
    out[i] = x < q.lower ? q.lower : (x > q.upper ? q.upper : x);
  }
}

}  // namespace axion::server::task
