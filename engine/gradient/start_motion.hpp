// The start of a step as it changes with the coordinates of a linearisation (engine.hpp, StateCoordinate): poses with
// positions, velocities with positions and rates, inputs with activations and controls.
//
//   δx = v(δ), δθ = ω(δ)      the velocities that a unit rate along the coordinate gives, at the poses
//   (v, ω) = J(q) ν            on dual numbers: they change with q, too
//
// In: a world that was loaded, its joint rates, the first coordinate of up to eight. Out: x, q, v, omega,
// axis_position, control. Cost: bodies times coordinates.
#pragma once

#include "engine/gradient/dual_world.hpp"

#include <vector>

#include "engine/constraints/joint_motion.hpp"

namespace axion::gradient {

// Sizes of a world: rates, activations, controls.
struct CoordinateCounts {
  int rates, activations, controls;
  int state() const { return 2 * rates + activations; }
  int all() const { return state() + controls; }
};

inline CoordinateCounts coordinate_counts(const DualWorld& world) {
  return {world.user().velocity_count, world.m.activation_count, world.m.control_count};
}

class StartMotion {
 public:
  explicit StartMotion(const DualWorld& world) : of_joint_(static_cast<std::size_t>(world.m.joint_count)) {
    const model::UserLayout<Dual> user = world.user();
    for (int j = 0; j < user.joint_count; ++j) {
      const model::UserJoint& joint = user.joints[j];
      if (joint.joint >= 0) of_joint_[static_cast<std::size_t>(joint.joint)] = j;
    }
  }

  // Bodies whose joint rates are `rates`, at the poses of the world.
  void move_bodies(const model::ModelView<Dual>& m, const DualWorld& world, const Dual* rates, math::Vec3<Dual>* v,
                   math::Vec3<Dual>* omega) const {
    const model::UserLayout<Dual> user = world.user();
    for (int j = 0; j < user.joint_count; ++j) {
      const model::UserJoint& joint = user.joints[j];
      if (joint.kind != model::JointKind::kFree) continue;
      const Dual* u = rates + joint.velocity_start;
      v[joint.child] = {u[0], u[1], u[2]}, omega[joint.child] = {u[3], u[4], u[5]};
    }
    for (int b = 0; b < m.body_count; ++b) {  // parents come first
      if (m.bodies[b].joint < 0) continue;
      const model::JointData<Dual>& joint = m.joints[m.bodies[b].joint];
      const math::Quat<Dual> q_BC = joint.parent < 0 ? math::Quat<Dual>{} : user.q_BC[joint.parent];
      const model::UserJoint& coordinates = user.joints[of_joint_[static_cast<std::size_t>(m.bodies[b].joint)]];
      constraints::move_child(joint, m.axes, q_BC, world.w.axis_position + joint.axis_start,
                              rates + coordinates.velocity_start, world.w.x, world.w.q, v, omega);
    }
  }

  // Coordinates `first` to first + kDualLanes - 1, as many as there are.
  void seed(const model::ModelView<Dual>& m, const DualWorld& world, const std::vector<double>& rates, int first) {
    const CoordinateCounts counts = coordinate_counts(world);
    const auto seeded = [first](int coordinate, Dual& number) {
      const int lane = coordinate - first;
      if (lane >= 0 && lane < math::kDualLanes) number.slope.set(lane, 1);
    };
    rates_.assign(rates.begin(), rates.end());
    if (first < counts.rates) move_poses(m, world, first);
    for (int i = 0; i < counts.rates; ++i) seeded(counts.rates + i, rates_[static_cast<std::size_t>(i)]);
    move_bodies(m, world, rates_.data(), world.w.v, world.w.omega);
    for (int i = 0; i < counts.activations; ++i) seeded(2 * counts.rates + i, world.w.control[counts.controls + i]);
    for (int i = 0; i < counts.controls; ++i) seeded(counts.state() + i, world.w.control[i]);
  }

 private:
  // Poses and axis_position. A rate of one along a coordinate is a slope of one of its lane: velocities are linear in
  // rates, so that slopes of rates without values give velocities without values.
  void move_poses(const model::ModelView<Dual>& m, const DualWorld& world, int first) {
    const CoordinateCounts counts = coordinate_counts(world);
    const model::UserLayout<Dual> user = world.user();
    std::vector<Dual> turned(static_cast<std::size_t>(counts.rates), Dual(0));
    for (int lane = 0; lane < math::kDualLanes && first + lane < counts.rates; ++lane) {
      turned[static_cast<std::size_t>(first + lane)].slope.set(lane, 1);
    }
    const auto bodies = static_cast<std::size_t>(world.m.body_count);
    std::vector<math::Vec3<Dual>> v(bodies), omega(bodies);
    move_bodies(m, world, turned.data(), v.data(), omega.data());
    for (std::size_t b = 0; b < bodies; ++b) {
      world.w.x[b] += v[b];
      const math::Quat<Dual> q = world.w.q[b];
      const math::Quat<Dual> half{Dual(0), Dual(0.5) * omega[b].x, Dual(0.5) * omega[b].y, Dual(0.5) * omega[b].z};
      const math::Quat<Dual> by = half * q;
      world.w.q[b] = {q.w + by.w, q.x + by.x, q.y + by.y, q.z + by.z};
    }
    for (int j = 0; j < user.joint_count; ++j) {
      const model::UserJoint& joint = user.joints[j];
      if (joint.kind != model::JointKind::kAxes || !joint.has_coordinates) continue;
      const model::JointData<Dual>& data = world.m.joints[joint.joint];
      for (int k = 0; k < data.axis_count; ++k) {
        world.w.axis_position[data.axis_start + k] += turned[static_cast<std::size_t>(joint.velocity_start + k)];
      }
    }
  }

  std::vector<int> of_joint_;  // user's joint of each joint
  std::vector<Dual> rates_;
};

}  // namespace axion::gradient
