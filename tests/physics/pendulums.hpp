// Pendulums with known motions, and the two figures that they are judged by: where the end is, and the energy.
//
// Modes whose impulses act along J(q⁻) are symplectic: their velocities belong to the middle of a step. The energy at a
// pose is therefore taken with the mean of the velocities of the two steps that meet there.
#pragma once

#include <cmath>
#include <vector>

#include "tests/physics/exact_options.hpp"
#include "tests/support/fitted_order.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"

namespace axion::testing {

// Two rods of 1 m, horizontal at rest, with the inertia about the centre as given.
struct DoublePendulum {
  double last_mass, inertia_per_mass, gravity;

  model::SceneSpec scene() const {
    model::SceneSpec scene = pendulum_chain(2, last_mass);
    scene.gravity = {0, 0, -gravity};
    for (model::BodySpec& body : scene.bodies) {
      const double I = inertia_per_mass * body.mass;
      body.I_Bcm = {I, I, I, 0, 0, 0};
    }
    return scene;
  }
  // Energy between the start and hanging at rest, J.
  double depth() const { return gravity * (0.5 + 1.5 * last_mass); }
};

inline constexpr DoublePendulum kEqualPendulum{1, 1, 10};
inline constexpr DoublePendulum kUnequalPendulum{1000, 1.0 / 12, 9.81};

// Centre of the second rod of the equal pendulum at a time.
inline constexpr double kEqualPendulumTime = 0.5;
inline constexpr double kEqualPendulumX = 1.207161713, kEqualPendulumZ = -0.801331888;

inline int steps_of(double time, double h) { return static_cast<int>(std::lround(time / h)); }

// Greatest distance of the two material points of each hinge, now.
template <typename Real>
double hinge_gap(const SingleWorld<Real>& world) {
  const math::Vec3<double> o{0, 0, 0}, middle{1, 0, 0};
  return std::max(math::norm(world.carried(0, o)), math::norm(world.carried(0, middle) - world.carried(1, middle)));
}

// Where the centre of the last body is at a time, from rest in the scene's initial poses.
template <typename Real>
math::Vec3<double> centre_at(const model::SceneSpec& scene, const model::SolverOptions& options, double h,
                             double time) {
  SingleWorld<Real> world(scene, options, h);
  world.step(steps_of(time, h));
  return math::cast<double>(world.world().x[world.model().body_count - 1]);
}

// Distance in the plane of the motion.
inline double distance(const math::Vec3<double>& p, double x, double z) { return std::hypot(p.x - x, p.z - z); }

// Energy at the pose before a step, with the mean of the velocities before and after it; makes the step.
template <typename Real>
double step_and_energy(SingleWorld<Real>& world) {
  auto& w = world.world();
  const auto m = world.model();
  const std::vector<math::Vec3<Real>> x(w.x.begin(), w.x + m.body_count), v(w.v.begin(), w.v + m.body_count),
      omega(w.omega.begin(), w.omega + m.body_count);
  const std::vector<math::Quat<Real>> q(w.q.begin(), w.q + m.body_count);
  world.step();
  double energy = 0;
  for (int b = 0; b < m.body_count; ++b) {
    const auto mean_v = math::cast<double>(Real(0.5) * (v[b] + w.v[b]));
    const auto mean_w = math::cast<double>(math::rotate_inverse(q[b], Real(0.5) * (omega[b] + w.omega[b])));
    const double mass = m.bodies[b].mass;
    energy += 0.5 * mass * math::dot(mean_v, mean_v) +
              0.5 * math::dot(mean_w, math::scale(math::cast<double>(m.bodies[b].inertia), mean_w)) -
              mass * math::dot(math::cast<double>(m.gravity), math::cast<double>(x[b]));
  }
  return energy;
}

}  // namespace axion::testing
