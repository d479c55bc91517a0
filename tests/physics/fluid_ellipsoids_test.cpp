// Ellipsoids in a fluid: closed formulas of drag and lift, what lift must not do to energy, and large steps.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/engine/import/imported_world.hpp"

namespace axion::fluid_ellipsoids_test {
namespace {

constexpr double kPi = 3.14159265358979323846;
using import::World;
using Numbers = std::vector<double>;

std::string document(const std::string& geom, const std::string& option, const std::string& velocity) {
  return "<mujoco><option " + option + "/><worldbody><body name='b'><freejoint/>" + geom +
         "</body></worldbody><sensor><framelinvel objtype='body' objname='b'/><e_kinetic/></sensor>"
         "<keyframe><key qpos='0 0 0 1 0 0 0' qvel='" +
         velocity + "'/></keyframe></mujoco>";
}

model::SolverOptions exact() {
  model::SolverOptions options;
  options.tolerance = 1e-8;
  return options;
}

// m g = ρ c_b π r² v²: MuJoCo's law has no half.
TEST(FluidEllipsoids, a_ball_falls_at_its_terminal_velocity_at_any_step) {
  for (const double dt : {0.002, 0.02, 0.1}) {
    World world(document("<geom size='.1' mass='6' fluidshape='ellipsoid' fluidcoef='.4 .2 1 1 1'/>", "density='1000'",
                         "0 0 0 0 0 0"),
                dt, exact());
    world.step(static_cast<int>(std::lround(10 / dt)));
    const double terminal = std::sqrt(6 * 9.81 / (1000 * 0.4 * kPi * 0.01));
    EXPECT_NEAR(-world.get(Field::kSensorData)[2] / terminal, 1, 1e-6) << dt;
  }
}

// A ball without drag: Magnus's force c_M ρ V ω × v, less what added mass, of half of the volume, gives the other way,
// turns v at the rate (c_M - 1/2) ρ V ω / m.
TEST(FluidEllipsoids, a_spinning_ball_flies_in_a_circle) {
  const double spin = 20, mass = 6, volume = 4.0 / 3 * kPi * 1e-3, rate = (1.5 - 0.5) * 1000 * volume * spin / mass;
  const double seconds = 0.2;
  double errors[3];
  for (int k = 0; k < 3; ++k) {
    const double dt = 0.004 / (1 << k);
    World world(document("<geom size='.1' mass='6' fluidshape='ellipsoid' fluidcoef='0 0 0 0 1.5'/>",
                         "density='1000' gravity='0 0 0'", "2 0 0 0 0 20"),
                dt, exact());
    world.step(static_cast<int>(std::lround(seconds / dt)));
    const Numbers v = world.get(Field::kSensorData);
    errors[k] = std::hypot(v[0] - 2 * std::cos(rate * seconds), v[1] - 2 * std::sin(rate * seconds)) / 2;
    EXPECT_NEAR(std::hypot(v[0], v[1]), 2, 1e-3) << dt;
    EXPECT_EQ(v[2], 0);
  }
  EXPECT_LT(errors[2], 1e-4);
  EXPECT_GT(errors[0] / errors[1], 3.5);  // second order
  EXPECT_GT(errors[1] / errors[2], 3.5);
}

// Without drag lift turns and tumbles a body, and takes nothing of its energy, nor gives any.
TEST(FluidEllipsoids, lift_does_no_work_in_ten_thousand_steps) {
  for (const double dt : {0.002, 0.02}) {
    World world(
        document("<geom type='ellipsoid' size='.05 .15 .1' mass='3' fluidshape='ellipsoid' fluidcoef='0 0 0 1 1'/>",
                 "density='1000' gravity='0 0 0'", "1 .5 -.3 2 -3 1"),
        dt, exact());
    const double start = world.get(Field::kSensorData)[3];
    double worst = 0;
    for (int k = 0; k < 100; ++k) {
      world.step(100);
      worst = std::max(worst, std::abs(world.get(Field::kSensorData)[3] / start - 1));
    }
    EXPECT_LT(worst, dt < 0.01 ? 1e-3 : 0.02) << dt;
  }
}

// A leaf of 2 g in water, thrown and spun hard: it comes to its terminal velocities, whatever the step.
TEST(FluidEllipsoids, a_leaf_settles_at_large_steps) {
  for (const double dt : {0.01, 0.05, 0.1}) {
    World world(document("<geom type='ellipsoid' size='.05 .03 .001' mass='.002' fluidshape='ellipsoid'/>",
                         "density='1000' viscosity='.001'", "5 -3 2 40 -30 20"),
                dt, exact());
    const double start = world.get(Field::kSensorData)[3];
    for (int k = 0; k < 200; ++k) {
      world.step(1);
      // Falling gives it at most what its weight does: v g m a second.
      EXPECT_LE(world.get(Field::kSensorData)[3], start + 0.002 * 9.81 * 9.81 * dt * dt) << dt << ", step " << k;
    }
    const Numbers v = world.get(Field::kSensorData);
    EXPECT_LT(std::hypot(v[0], v[1], v[2]), 2) << dt;
    EXPECT_LT(v[2], 0) << dt;
  }
}

TEST(FluidEllipsoids, an_ellipsoid_takes_the_place_of_the_body_s_box_and_needs_a_fluid) {
  const auto scene = [](const std::string& option) {
    return import::imported(
               document("<geom size='.1' mass='1'/><geom type='capsule' size='.1 .2' pos='0 0 .3' mass='0' "
                        "contype='0' conaffinity='0' fluidshape='ellipsoid' fluidcoef='1 2 3'/>",
                        option, "0 0 0 0 0 0"))
        .scene;
  };
  ASSERT_EQ(scene("density='2'").bodies[0].fluid_ellipsoids.size(), 1u);
  EXPECT_TRUE(scene("density='0'").bodies[0].fluid_ellipsoids.empty());
  const model::FluidEllipsoidSpec ellipsoid = scene("viscosity='2'").bodies[0].fluid_ellipsoids.at(0);
  EXPECT_EQ(ellipsoid.X_BE.position, (model::Vec3d{0, 0, 0.3}));
  EXPECT_NEAR(ellipsoid.radii[2], 0.3, 1e-12);
  EXPECT_EQ(ellipsoid.angular_drag, 3);
  EXPECT_EQ(ellipsoid.kutta_lift, 1);
  import::expect_refused(
      document("<geom size='.1' fluidshape='ellipsoid' fluidcoef='.1 -1'/>", "density='1'", "0 0 0 0 0 0"),
      "geom.fluidcoef", "at least 0");
  model::SceneSpec bad = scene("density='2'");
  bad.bodies[0].fluid_ellipsoids[0].radii[1] = 0;
  const auto model = compile_model(bad);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().field, "bodies[0].fluid_ellipsoids[0].radii[1]");
}

}  // namespace
}  // namespace axion::fluid_ellipsoids_test
