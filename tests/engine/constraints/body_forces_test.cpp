// Drag on a body, whatever its size: it only takes energy, and it is the exponential that it should be.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/constraints/free_motion.hpp"
#include "engine/world/world_view.hpp"

namespace axion::constraints::body_forces_test {
namespace {

template <typename Real>
struct DraggedBody {
  Real mass;
  math::Vec3<Real> I, p;  // p: where the drag acts
  Real drag;
  math::Vec3<Real> v{1, 2, -3}, omega{5, 4, 3};

  double energy() const {
    double sum = double(mass) * double(math::dot(v, v));
    for (int k = 0; k < 3; ++k) sum += double(I[k]) * double(omega[k]) * double(omega[k]);
    return sum / 2;
  }

  void step(Real h) {
    model::ModelView<Real> m{};
    model::WorldView<Real> w{};
    model::BodyData<Real> body{};
    model::BodyForceData<Real> force{};
    body.mass = mass, body.inertia = I, force.drag = drag, force.p_drag = p;
    m.bodies = &body, m.body_forces = &force, m.body_force_count = 1;
    Real scale = 1;
    math::Quat<Real> q{};
    math::Mat3<Real> I_world = math::Mat3<Real>::diagonal(I.x, I.y, I.z);
    w.mass_scale = &scale, w.v = &v, w.omega = &omega, w.q = &q, w.I_world = &I_world;
    math::Vec3<Real> linear{}, angular{};
    add_body_forces(m, w, 0, h, linear, angular);
    v += (1 / mass) * linear;
    omega += math::Vec3<Real>{angular.x / I.x, angular.y / I.y, angular.z / I.z};
  }
};

template <typename Real>
void expect_only_takes_energy() {
  for (const Real drag : {Real(1e-4), Real(0.5), Real(1e3), Real(1e9)}) {
    for (DraggedBody<Real> body :
         {DraggedBody<Real>{4, {Real(.016), Real(.016), Real(.016)}, {Real(-.5), 0, 0}, drag},
          DraggedBody<Real>{Real(1e-6), {Real(1e-9), Real(1e-9), Real(2e-9)}, {Real(-.5), Real(.1), 0}, drag}}) {
      double before = body.energy();
      for (int i = 0; i < 40; ++i) {
        body.step(Real(0.05));
        const double after = body.energy();
        EXPECT_LE(after, before * 1.0001 + 1e-30) << "drag " << double(drag) << ", step " << i;
        before = after;
      }
    }
  }
}

TEST(BodyForces, drag_only_takes_energy_in_float64) { expect_only_takes_energy<double>(); }
TEST(BodyForces, drag_only_takes_energy_in_float32) { expect_only_takes_energy<float>(); }

TEST(BodyForces, drag_at_the_centre_is_an_exponential) {
  DraggedBody<double> body{2, {.072, .072, .072}, {}, 0.5};
  for (int i = 0; i < 500; ++i) body.step(1e-4);
  EXPECT_NEAR(body.v.x, std::exp(-0.5 * 0.05 / 2), 1e-9);
  EXPECT_NEAR(body.omega.x, 5 * std::exp(-0.5 * 0.05 / 0.072), 1e-6);
}

// The turning of the body apart, which is the same for both: a step of a hundredth has an error of a ten thousandth.
TEST(BodyForces, drag_beside_the_centre_is_of_second_order) {
  const auto spin_at = [](int steps) {
    DraggedBody<double> body{2, {.05, .06, .072}, {.3, .2, .1}, 0.5};
    for (int i = 0; i < steps; ++i) body.step(0.05 / steps);
    return body.omega.x;
  };
  const double exact = spin_at(20000), coarse = std::abs(spin_at(10) - exact), fine = std::abs(spin_at(20) - exact);
  EXPECT_NEAR(coarse / fine, 4, 0.2);
}

}  // namespace
}  // namespace axion::constraints::body_forces_test
