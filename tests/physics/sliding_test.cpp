// Coulomb friction against closed formulas: sliding in every direction, sticking and slipping on an incline, pushes
// below the cone, and spheres that slide into rolling. Motions of constant acceleration are exact in velocity and place
// at any step.
#include <cmath>

#include "tests/physics/exact_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::sliding_test {
namespace {

using math::Vec3;
using testing::allowed;
using testing::as_made;
using testing::epsilon;
using testing::exact_options;
using testing::Validation;

constexpr double kGravity = 9.81;
constexpr double kDegree = 3.14159265358979323846 / 180;

// A horizontal direction, and what of a vector is along it and across it.
struct Heading {
  explicit Heading(double degrees) : along{std::cos(degrees * kDegree), std::sin(degrees * kDegree), 0} {}
  template <typename Real>
  double of(const Vec3<Real>& v) const {
    return math::dot(along, math::cast<double>(v));
  }
  template <typename Real>
  double across(const Vec3<Real>& v) const {
    return along.x * double(v.y) - along.y * double(v.x);
  }
  template <typename Real>
  Vec3<Real> times(double size) const {
    return math::cast<Real>(size * along);
  }
  Vec3<double> along;
};

double greater(double a, double b) { return std::max(a, std::abs(b)); }

// Force of friction on the contacts of the last step, N.
template <typename Real>
Vec3<double> friction_force(testing::SingleWorld<Real>& world) {
  const auto& w = world.world();
  Vec3<double> f{};
  for (int i = 0; i < world.record().contact_count; ++i) {
    f += math::cast<double>(w.lambda_contact[3 * i + 1] * w.contacts[i].t1 +
                            w.lambda_contact[3 * i + 2] * w.contacts[i].t2);
  }
  return (1 / double(w.body_force_step[0])) * f;  // half a step in the first
}

template <typename Real>
class SlidingIsotropy : public ::testing::Test {};
TYPED_TEST_SUITE(SlidingIsotropy, testing::Precisions, testing::PrecisionNames);

// What one throw differs from v = v₀ − μghN, x = v₀hN − μg(hN)²/2 while it slides, and how it comes to rest.
struct Throw {
  double speed = 0, position = 0, across = 0, stop = 0, creep = 0;
  double speed_halfway = 0, end = 0;
};

template <typename Real>
Throw throw_cube(double mu, double step, const Heading& heading) {
  testing::SingleWorld<Real> world(testing::cube_on_plane(mu), exact_options(), step);
  auto& w = world.world();
  const double h = as_made<Real>(step), a = as_made<Real>(mu) * as_made<Real>(kGravity), v0 = 3;
  w.v[0] = heading.times<Real>(v0);
  const auto start = w.x[0];
  const int last = static_cast<int>(v0 / (a * h));  // the last step that ends in motion
  Throw t;
  for (int n = 1; n <= last; ++n) {
    world.step();
    world.read();
    const auto moved = w.x[0] - start;
    t.speed = greater(t.speed, heading.of(w.v_at_pose[0]) - (v0 - a * h * n));
    t.position = greater(t.position, heading.of(moved) - (v0 * h * n - a * h * h * n * n / 2));
    t.across = greater(greater(t.across, heading.across(w.v_at_pose[0])), double(w.omega_at_pose[0].z));
    if (n == last / 2) t.speed_halfway = heading.of(w.v_at_pose[0]);
  }
  world.step(2);
  t.end = heading.of(w.x[0] - start);
  t.stop = std::abs(t.end - v0 * v0 / (2 * a)) / h;
  for (int n = 0; n < static_cast<int>(5 / h); ++n) {
    world.step();
    t.creep = greater(t.creep, math::norm(world.read().v_at_pose[0]));
  }
  return t;
}

TYPED_TEST(SlidingIsotropy, a_thrown_cube_slows_alike_along_every_heading_and_stays_where_it_stops) {
  using Real = TypeParam;
  Throw worst;
  double speed_spread = 0, end_spread = 0;
  for (const double mu : {0.1, 0.3, 0.5, 0.8}) {
    for (const double h : {2e-3, 1.0 / 60}) {
      double slowest = 9, fastest = 0, nearest = 99, farthest = 0;
      for (int degrees = 0; degrees < 360; degrees += h < 0.01 ? 35 : 15) {
        const Throw t = throw_cube<Real>(mu, h, Heading(degrees));
        worst.speed = greater(worst.speed, t.speed), worst.position = greater(worst.position, t.position);
        worst.across = greater(worst.across, t.across), worst.stop = greater(worst.stop, t.stop);
        worst.creep = greater(worst.creep, t.creep);
        slowest = std::min(slowest, t.speed_halfway), fastest = std::max(fastest, t.speed_halfway);
        nearest = std::min(nearest, t.end), farthest = std::max(farthest, t.end);
      }
      speed_spread = greater(speed_spread, fastest - slowest), end_spread = greater(end_spread, farthest - nearest);
    }
  }
  // float32, the longest slide: N = 1529 steps from 3 m/s, 4.6 m. A step may round v by ε/2 · 3 m/s and the solver may
  // leave its residual's rounding, 4ε of it; if all had one sign N·ε·v₀ = 5e-4 m/s would come together, and over 3 s
  // 1e-3 m. Positions add ε/2 · 4.6 m a step, N·ε·x/2 = 4e-4 m. What is across the heading has the same sources.
  const double speed = 1529 * epsilon<float>() * 3, position = 3 * speed;
  const Validation<Real> row("sliding, isotropy");
  row.at_most("speed against 3 − μghN, m/s", worst.speed, allowed<Real>(1e-8, speed));
  row.at_most("position against 3t − μgt²/2, m", worst.position, allowed<Real>(1e-8, position));
  row.at_most("lateral speed and yaw rate, m/s and rad/s", worst.across, allowed<Real>(1e-8, speed));
  row.at_most("speed halfway, greatest difference between headings, m/s", speed_spread, allowed<Real>(1e-11, speed));
  row.at_most("stopping place, greatest difference between headings, m", end_spread, allowed<Real>(1e-11, position));
  row.at_most("stopping place against 9/(2μg), in steps h · 1 m/s", worst.stop, 3);
  row.at_most("creep over 5 s at rest, m/s", worst.creep, 1e-5);
}

template <typename Real>
class StickAndSlip : public ::testing::Test {};
TYPED_TEST_SUITE(StickAndSlip, testing::Precisions, testing::PrecisionNames);

// A cube on an incline of μ = 0.5, as gravity that leans towards an azimuth, after 10 s.
template <typename Real>
double speed_down_the_incline(double theta, double azimuth, double h, double& across) {
  const Heading down(azimuth);
  const double s = std::sin(theta * kDegree), c = std::cos(theta * kDegree);
  model::SceneSpec scene = testing::cube_on_plane(0.5);
  scene.gravity = {kGravity * s * down.along.x, kGravity * s * down.along.y, -kGravity * c};
  testing::SingleWorld<Real> world(scene, exact_options(), h);
  world.step(static_cast<int>(std::lround(10 / h)));
  const Vec3<Real>& v = world.read().v_at_pose[0];
  across = greater(across, down.across(v));
  return down.of(v);
}

TYPED_TEST(StickAndSlip, a_cube_on_an_incline_sticks_below_the_cone_and_slides_at_the_analytic_rate_above) {
  using Real = TypeParam;
  double creep = 0, relative = 0, across = 0;
  for (const double h : {1e-3, 1.0 / 60}) {
    const double time = as_made<Real>(h) * std::lround(10 / h);
    for (int azimuth = 0; azimuth < 360; azimuth += 45) {
      for (const double theta : {20.0, 25.0, 26.0, 26.5}) {
        creep = greater(creep, speed_down_the_incline<Real>(theta, azimuth, h, across));
      }
      for (const double theta : {26.6, 27.0, 30.0}) {
        const double rate = kGravity * (std::sin(theta * kDegree) - 0.5 * std::cos(theta * kDegree));
        const double error = speed_down_the_incline<Real>(theta, azimuth, h, across) - rate * time;
        relative = greater(relative, error / (rate * time));
      }
    }
  }
  // float32: at 26.6° the acceleration is 6.7e-3 m/s², a difference of two terms of 4.4 m/s²; 2ε of those (gravity's
  // components, μλ_n) is 1e-6 m/s² or 1.6e-4 of it. Adding equal increments rounds v by ε/2 in each of 10⁴ steps, all
  // of one sign at worst while the increment keeps its binade: N·ε/4 = 3e-4 relative. Together 5e-4; doubled for the
  // solver.
  const Validation<Real> row("stick and slip");
  row.at_most("|v| after 10 s below the cone, m/s", creep, 1e-5);
  row.at_most("speed against g(sin θ − μ cos θ)Nh, relative", relative, allowed<Real>(1e-4, 1e-3));
  row.at_most("speed across the incline, m/s", across, allowed<Real>(1e-8, 1e-3));
}

TYPED_TEST(StickAndSlip, a_pushed_cube_does_not_move_below_the_cone_and_friction_equals_the_push) {
  using Real = TypeParam;
  double speed = 0, moved = 0, difference = 0, above = 0;
  for (const double h : {1e-3, 1.0 / 60}) {
    for (int azimuth = 0; azimuth < 360; azimuth += 45) {
      for (const double share : {0.2, 0.9, 0.999, 1.1}) {
        const Heading heading(azimuth);
        testing::SingleWorld<Real> world(testing::cube_on_plane(0.5), exact_options(), h);
        auto& w = world.world();
        world.step(50);
        const auto start = w.x[0];
        const double push = share * 0.5 * kGravity;
        w.force[0] = heading.times<Real>(push);
        const int n = static_cast<int>(std::lround(1 / h));
        world.step(n);
        const Vec3<Real>& v = world.read().v_at_pose[0];
        if (share > 1) {
          above = greater(above, heading.of(v) / ((share - 1) * 0.5 * kGravity * n * as_made<Real>(h)) - 1);
          continue;
        }
        speed = greater(speed, math::norm(v));
        moved = greater(moved, math::norm(w.x[0] - start));
        difference = greater(difference, math::norm(friction_force(world) + push * heading.along));
      }
    }
  }
  // float32: the stop test leaves 4ε of the speeds that a step sums, here g·h, on the dynamics of a cube: 4ε · 9.81 N =
  // 5e-6 N, and as much on each of four corners. That much force on 1 kg is 4ε·g·h = 8e-8 m/s at 1/60 s. Position: the
  // residual speed if it kept its sign for 1 s.
  const Validation<Real> row("stick and slip");
  row.at_most("pushed with 0.2, 0.9, 0.999 μmg: speed after 1 s, m/s", speed, allowed<Real>(1e-10, 1e-6));
  row.at_most("pushed with 0.2, 0.9, 0.999 μmg: distance moved in 1 s, m", moved, allowed<Real>(1e-10, 1e-6));
  row.at_most("friction against the push, N", difference, allowed<Real>(1e-8, 2.5e-5));
  row.at_most("pushed with 1.1 μmg: speed after 1 s, relative", above, allowed<Real>(1e-8, 1e-3));
}

template <typename Real>
class SlideToRoll : public ::testing::Test {};
TYPED_TEST_SUITE(SlideToRoll, testing::Precisions, testing::PrecisionNames);

// Velocity of the lowest point of a sphere of radius 0.1 m along a heading.
template <typename Real>
double slip(const model::WorldView<Real>& w, const Heading& heading) {
  return heading.of(w.v_at_pose[0] + math::cross(w.omega_at_pose[0], Vec3<Real>{0, 0, Real(-0.1)}));
}

TYPED_TEST(SlideToRoll, a_thrown_sphere_ends_rolling_at_five_sevenths_of_its_speed) {
  using Real = TypeParam;
  double speed = 0, late = 0, left = 0, rise = 0, across = 0;
  for (const double h : {1e-3, 1.0 / 60}) {
    for (int azimuth = 0; azimuth < 360; azimuth += 45) {
      const Heading heading(azimuth);
      testing::SingleWorld<Real> world(testing::sphere_on_plane(0.1, 0.5), exact_options(), h);
      auto& w = world.world();
      w.v[0] = heading.times<Real>(2);
      double last = 2, transition = 0;
      for (int n = 1; n <= static_cast<int>(1 / h); ++n) {
        world.step();
        world.read();
        rise = std::max(rise, heading.of(w.v_at_pose[0]) - last);
        last = heading.of(w.v_at_pose[0]);
        if (transition == 0 && slip(w, heading) < 1e-5) transition = n * h;
      }
      speed = greater(speed, last - 10.0 / 7), left = greater(left, slip(w, heading));
      across = greater(across, heading.across(w.v_at_pose[0]));
      // The step in which it begins to roll ends up to h after that moment.
      late = greater(late, (transition - 2 * 2 / (7 * 0.5 * kGravity)) / h);
    }
  }
  // float32: ε/2 · 2 m/s a step for 117 steps of sliding is 1.4e-5 m/s; rolling on, the stop test leaves up to 4ε of
  // 1.4 m/s, which can look like a rise.
  const Validation<Real> row("slide to roll");
  row.at_most("speed at the end against 10/7, m/s", speed, 1e-4);
  row.at_most("slip at the end, m/s", left, 1e-5);
  row.at_most("start of rolling against 2v₀/(7μg) = 0.11650 s, in steps", late, 1 + 1e-6);
  row.at_most("greatest rise of the speed in a step, m/s", rise, allowed<Real>(1e-10, 4 * epsilon<float>() * 1.43));
  row.at_most("speed across the heading, m/s", across, allowed<Real>(1e-10, 1e-5));
}

template <typename Real>
class PushedSphere : public ::testing::Test {};
TYPED_TEST_SUITE(PushedSphere, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(PushedSphere, rolls_with_two_sevenths_of_the_push_as_friction) {
  using Real = TypeParam;
  double friction = 0, acceleration = 0, slipping = 0;
  for (const double h : {1e-3, 1.0 / 60}) {
    for (int azimuth = 0; azimuth < 360; azimuth += 45) {
      const Heading heading(azimuth);
      testing::SingleWorld<Real> world(testing::sphere_on_plane(0.1, 0.5), exact_options(), h);
      auto& w = world.world();
      w.force[0] = heading.times<Real>(2);
      const int n = static_cast<int>(std::lround(1 / h));
      for (int k = 0; k < n; ++k) {
        world.step();
        friction = greater(friction, math::norm(friction_force(world) + (4.0 / 7) * heading.along));
        slipping = greater(slipping, slip(world.read(), heading));
      }
      acceleration = greater(acceleration, heading.of(w.v_at_pose[0]) / (n * as_made<Real>(h)) - 10.0 / 7);
    }
  }
  // float32: speeds reach 1.4 m/s, so the stop test leaves 4ε · 1.4 m/s of slip; in a step of 1 ms that is a force of
  // 4ε · 1.4/h · 2/7 kg = 2e-4 N, three times as much with the terms of the rotation.
  // It need not keep its sign; but 1000 additions round the speed by up to ε/2 · 1.4 m/s each, 8.5e-5 m/s in 1 s.
  const Validation<Real> row("pushed sphere");
  row.at_most("friction against 4/7 N in every step, N", friction, allowed<Real>(1e-8, 6e-4));
  row.at_most("acceleration over 1 s against 10/7, m/s²", acceleration, allowed<Real>(1e-8, 8.5e-5));
  row.at_most("slip, m/s", slipping, allowed<Real>(1e-8, 12 * epsilon<float>() * 1.43));
}

}  // namespace
}  // namespace axion::sliding_test
