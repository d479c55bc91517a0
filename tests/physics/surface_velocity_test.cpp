// Surfaces that move along their shapes, as belts and turntables do, against closed formulas: what they carry gains
// speed by friction until it goes with them, what is held in place feels friction, and the body of a belt its reaction.
#include <cmath>
#include <string>
#include <vector>

#include "tests/physics/exact_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::surface_velocity_test {
namespace {

using math::Vec3;
using testing::allowed;
using testing::as_made;
using testing::epsilon;
using testing::exact_options;
using testing::SingleWorld;
using testing::Validation;

constexpr double kGravity = 9.81, kPi = 3.14159265358979323846;
constexpr double kSteps[] = {1e-3, 0.005, 1.0 / 60, 0.02};

// A flat box of 1 kg, which no friction tips over, on a belt along x.
model::SceneSpec box_on_belt(double mu, double speed) {
  model::SceneSpec scene;
  scene.bodies = {testing::solid_box("box", 1, {0.1, 0.1, 0.02}, {0, 0, 0.02})};
  scene.shapes = {testing::ground_plane(mu), testing::box_shape("box", 0, {0.1, 0.1, 0.02}, mu)};
  scene.shapes[0].surface_velocity = {speed, 0, 0};
  return scene;
}

model::SceneSpec ball_on(double mu, model::Vec3d v, model::Vec3d omega) {
  model::SceneSpec scene = testing::sphere_on_plane(0.1, mu);
  scene.shapes[0].surface_velocity = v, scene.shapes[0].surface_angular_velocity = omega;
  return scene;
}

// A plane that rises along x by `angle`, as gravity that leans.
void slope(model::SceneSpec& scene, double angle) {
  scene.gravity = {-kGravity * std::sin(angle), 0, -kGravity * std::cos(angle)};
}

// Every way in which a step is solved.
std::vector<model::SolverOptions> all_formulations() {
  std::vector<model::SolverOptions> all;
  for (const model::Preset preset : {model::Preset::kDefault, model::Preset::kVelocity, model::Preset::kAxionSeed}) {
    for (const model::FrictionModel law :
         {model::FrictionModel::kNaturalMap, model::FrictionModel::kScalarFixedPoint}) {
      model::SolverOptions options = model::make_options(preset);
      options.friction_model = law;
      options.tolerance = 1e-9, options.contact_compliance = 0, options.max_newton_iterations = 100;
      all.push_back(options);
    }
  }
  for (const model::LinearSolver solver : {model::LinearSolver::kTreeDirect, model::LinearSolver::kPcrTree,
                                           model::LinearSolver::kTreeKrylov, model::LinearSolver::kDenseDirect}) {
    all.push_back(exact_options());
    all.back().linear_solver = solver;
  }
  return all;
}

std::string name_of(const model::SolverOptions& options, double h) {
  return "preset " + std::to_string(int(options.preset)) + ", friction " + std::to_string(int(options.friction_model)) +
         ", solver " + std::to_string(int(options.linear_solver)) + ", h " + std::to_string(h);
}

template <typename Real>
Vec3<double> place(const SingleWorld<Real>& world, int b = 0) {
  return math::cast<double>(world.world().x[b]);
}
template <typename Real>
Vec3<double> velocity(SingleWorld<Real>& world, int b = 0) {
  return math::cast<double>(world.read().v_at_pose[b]);
}

template <typename Real>
class SurfaceVelocity : public ::testing::Test {};
TYPED_TEST_SUITE(SurfaceVelocity, testing::Precisions, testing::PrecisionNames);

// v = μ g t, x = μ g t²/2 until v is the belt's speed V, after V/(μ g) and V²/(2 μ g) behind the belt; then it rides.
// Friction coefficients above and below one, as the push of a belt is no work that the load has in itself.
TYPED_TEST(SurfaceVelocity, a_box_reaches_the_speed_of_a_belt_by_friction_and_rides) {
  const Validation<TypeParam> validation("box on a belt");
  constexpr double speed = 1.5;
  for (const double mu : {0.4, 2.0}) {
    for (const double step : kSteps) {
      const double h = as_made<TypeParam>(step), a = as_made<TypeParam>(mu) * as_made<TypeParam>(kGravity);
      SingleWorld<TypeParam> world(box_on_belt(mu, speed), exact_options(), h);
      double worst = 0;
      int n = 0;
      for (; (n + 1) * h * a < speed; ++n) {
        world.step();
        EXPECT_TRUE(world.converged()) << n;
        const double t = (n + 1) * h;
        worst = std::max({worst, std::abs(velocity(world).x - a * t), std::abs(place(world).x - a * t * t / 2)});
      }
      validation.at_most("speed and place of a box that a belt takes along, m/s or m", worst,
                         allowed<TypeParam>(1e-9, 100 * epsilon<float>()));
      const int riding = n + static_cast<int>(1 / h);
      for (; n < riding; ++n) world.step();
      const double behind = speed * n * h - place(world).x;
      // The step in which it comes to ride ends at the belt's speed wherever in the step it reached that.
      validation.at_most("how far it slid against speed²/(2 mu g), m", std::abs(behind - speed * speed / (2 * a)),
                         a * h * h / 8 + allowed<TypeParam>(1e-9, 2e-5));
      validation.at_most("slip of a box that rides, m/s", math::norm(velocity(world) - Vec3<double>{speed, 0, 0}),
                         allowed<TypeParam>(1e-9, 2e-6));
    }
  }
}

TYPED_TEST(SurfaceVelocity, every_formulation_takes_a_box_along) {
  const Validation<TypeParam> validation("box on a belt");
  constexpr double speed = 0.8, mu = 0.5, time = speed / (mu * kGravity);
  for (const model::SolverOptions& options : all_formulations()) {
    for (const double step : {1e-3, 0.02}) {
      const double h = as_made<TypeParam>(step);
      const int count = static_cast<int>(1 / h);
      SingleWorld<TypeParam> world(box_on_belt(mu, speed), options, h);
      world.step(static_cast<int>(time / 2 / h));
      const double half_way = static_cast<int>(time / 2 / h) * h * mu * kGravity;
      EXPECT_NEAR(velocity(world).x, half_way, 0.01 * speed) << name_of(options, h);
      world.step(count - static_cast<int>(time / 2 / h));
      EXPECT_TRUE(world.converged()) << name_of(options, h);
      // Steps without half forces at the start are of first order in place.
      const double order = mu * kGravity * h * (options.half_step_start ? h / 8 : time);
      validation.at_most("how far it slid, every formulation, m",
                         std::abs(speed * count * h - place(world).x - speed * time / 2),
                         order + allowed<TypeParam>(1e-6, 1e-4));
      validation.at_most("slip of a box that rides, every formulation, m/s",
                         math::norm(velocity(world) - Vec3<double>{speed, 0, 0}), allowed<TypeParam>(1e-6, 1e-5));
    }
  }
}

// Springs of shapes leave friction alone. MJCF's soft friction creeps by R f/b, which is none where no force acts.
TYPED_TEST(SurfaceVelocity, soft_contacts_take_a_box_along) {
  const Validation<TypeParam> validation("box on a belt");
  constexpr double speed = 0.8, mu = 0.5, time = speed / (mu * kGravity);
  for (const bool mjcf : {false, true}) {
    for (const double step : kSteps) {
      const double h = as_made<TypeParam>(step);
      model::SceneSpec scene = box_on_belt(mu, speed);
      model::SolverOptions options = exact_options();
      if (mjcf) {
        options.contact_softness = model::ContactSoftness::kMjcf;
      } else {
        for (model::ShapeSpec& shape : scene.shapes) shape.contact_stiffness = 2e4, shape.contact_damping = 300;
      }
      SingleWorld<TypeParam> world(scene, options, h);
      world.step(static_cast<int>(1.5 / h));
      const double behind = speed * static_cast<int>(1.5 / h) * h - place(world).x;
      // A box that sinks in first presses by less than m g for some milliseconds.
      validation.at_most("how far it slid on a soft belt, m", std::abs(behind - speed * time / 2), 0.003);
      validation.at_most("slip of a box that rides on a soft belt, m/s",
                         math::norm(velocity(world) - Vec3<double>{speed, 0, 0}), allowed<TypeParam>(1e-6, 1e-4));
    }
  }
}

TYPED_TEST(SurfaceVelocity, a_belt_carries_a_box_up_a_slope_that_friction_holds_it_on) {
  const Validation<TypeParam> validation("box on a sloping belt");
  constexpr double speed = 0.5, mu = 0.6, angle = 0.4;  // tan 0.4 = 0.42
  const double a = kGravity * (mu * std::cos(angle) - std::sin(angle));
  for (const double step : kSteps) {
    const double h = as_made<TypeParam>(step);
    model::SceneSpec scene = box_on_belt(mu, speed);
    slope(scene, angle);
    SingleWorld<TypeParam> world(scene, exact_options(), h);
    const int n = static_cast<int>(1.5 / h);
    world.step(n);
    EXPECT_TRUE(world.converged());
    validation.at_most("how far it slid on the way up, m",
                       std::abs(speed * n * h - place(world).x - speed * speed / (2 * a)),
                       kGravity * h * h / 4 + allowed<TypeParam>(1e-9, 5e-5));
    validation.at_most("slip of a box that is carried up, m/s", math::norm(velocity(world) - Vec3<double>{speed, 0, 0}),
                       allowed<TypeParam>(1e-9, 5e-6));
  }
}

// A ball slips until it rolls: m v = F t, I ω = −F r t, with F = μ m g, v − r ω' = V after 2 V/(7 μ g), at 2 V/7. On a
// slope it gains −5/7 g sin θ a second, whatever the belt does.
TYPED_TEST(SurfaceVelocity, a_ball_rolls_on_a_belt) {
  const Validation<TypeParam> validation("ball on a belt");
  constexpr double speed = 1.4, mu = 0.3, time = 2 * speed / (7 * mu * kGravity);
  for (const double step : kSteps) {
    const double h = as_made<TypeParam>(step);
    SingleWorld<TypeParam> level(ball_on(mu, {speed, 0, 0}, {}), exact_options(), h);
    level.step(static_cast<int>(0.9 * time / h));
    validation.at_most("speed of a ball that slips, m/s",
                       std::abs(velocity(level).x - static_cast<int>(0.9 * time / h) * h * mu * kGravity),
                       allowed<TypeParam>(1e-9, 1e-6));
    level.step(static_cast<int>(1 / h));
    EXPECT_TRUE(level.converged());
    validation.at_most("speed of a ball that rolls against 2/7 of the belt's, m/s",
                       std::abs(velocity(level).x - 2 * speed / 7), allowed<TypeParam>(1e-9, 1e-6));
    validation.at_most("slip of a ball that rolls, m/s",
                       std::abs(velocity(level).x - 0.1 * double(level.world().omega_at_pose[0].y) - speed),
                       allowed<TypeParam>(1e-9, 2e-6));

    model::SceneSpec scene = ball_on(mu, {speed, 0, 0}, {});
    slope(scene, 0.3);
    SingleWorld<TypeParam> sloping(scene, exact_options(), h);
    sloping.step(static_cast<int>(1 / h));
    const double before = velocity(sloping).x;
    sloping.step(static_cast<int>(1 / h));
    validation.at_most(
        "acceleration of a ball on a sloping belt, m/s^2",
        std::abs((velocity(sloping).x - before) / (static_cast<int>(1 / h) * h) + 5.0 / 7 * kGravity * std::sin(0.3)),
        allowed<TypeParam>(1e-8, 3e-4));
  }
}

// Against a wall without friction, which takes μ m g.
TYPED_TEST(SurfaceVelocity, a_box_that_a_wall_holds_stays_on_a_running_belt) {
  const Validation<TypeParam> validation("box on a belt before a wall");
  constexpr double mu = 0.4;
  for (const model::SolverOptions& options : all_formulations()) {
    for (const double step : {1e-3, 0.02}) {
      const double h = as_made<TypeParam>(step);
      model::SceneSpec scene = box_on_belt(mu, 2);
      scene.shapes[1].friction = 0;
      scene.shapes.push_back(testing::box_shape("wall", model::kWorldBody, {0.1, 1, 1}, 0));
      scene.shapes[2].X_BS.position = {0.2, 0, 1.001};
      SingleWorld<TypeParam> world(scene, options, h);
      world.step(static_cast<int>(1 / h));
      EXPECT_TRUE(world.converged()) << name_of(options, h);
      double wall = 0;
      for (int i = 0; i < world.record().contact_count; ++i) {
        if (std::abs(double(world.world().contacts[i].normal.x)) > 0.5)
          wall += double(world.world().lambda_contact[3 * i]);
      }
      validation.at_most("force of the wall against mu m g, N", std::abs(wall / h - mu * kGravity),
                         allowed<TypeParam>(1e-5, 2e-3));
      validation.at_most("speed of a box before a wall, m/s", math::norm(velocity(world)),
                         allowed<TypeParam>(1e-8, 1e-5));
      validation.at_most("way of a box before a wall, m", math::norm(place(world) - Vec3<double>{0, 0, 0.02}),
                         allowed<TypeParam>(1e-6, 1e-5));
    }
  }
}

// It goes round with the table where ω² r < μ g, and is left behind and thrown out where that is more.
TYPED_TEST(SurfaceVelocity, a_turntable_carries_a_box_round_as_far_as_friction_holds_it) {
  const Validation<TypeParam> validation("box on a turntable");
  constexpr double radius = 0.5, mu = 0.5;
  for (const bool mjcf : {false, true}) {
    // Soft contacts slip until they carry the box, and would not make up for that near the bound.
    for (const double share : {mjcf ? 0.5 : 0.9, 1.3}) {
      const double omega = std::sqrt(share * mu * kGravity / radius);
      for (const double step : kSteps) {
        const double h = as_made<TypeParam>(step);
        model::SceneSpec scene = box_on_belt(mu, 0);
        scene.shapes[0].surface_angular_velocity = {0, 0, omega};
        scene.bodies[0].X_WB.position[0] = radius;
        model::SolverOptions options = exact_options();
        if (mjcf) options.contact_softness = model::ContactSoftness::kMjcf;
        SingleWorld<TypeParam> world(scene, options, h);
        world.world().v[0].y = TypeParam(omega * radius), world.world().omega[0].z = TypeParam(omega);
        const int n = static_cast<int>(2 * kPi / omega / h);
        double worst = 0, behind = 0;
        for (int k = 1; k <= n; ++k) {
          world.step();
          const Vec3<double> x = place(world);
          worst = std::max(worst, std::abs(std::hypot(x.x, x.y) - radius));
          behind = std::abs(std::remainder(std::atan2(x.y, x.x) - k * h * omega, 2 * kPi));
        }
        if (share > 1) {
          EXPECT_GT(worst, 0.2);
          continue;
        }
        // Soft friction creeps outwards by R f/b, some millimetres a second.
        const double creep = mjcf ? 0.015 : 0, order = std::pow(omega * h, 2);
        validation.at_most("change of the radius in a turn, m", worst,
                           creep + radius * order / 10 + allowed<TypeParam>(1e-9, 1e-5));
        validation.at_most("angle behind the table after a turn, rad", behind,
                           creep / radius + 3 * order + allowed<TypeParam>(1e-9, 1e-4));
      }
    }
  }
}

// A ball that rolls on a turntable runs in a circle of its own, wherever its centre is, with 2/7 of the table's rate:
// (m + I/r²) dv/dt = I/r² ω × v.
TYPED_TEST(SurfaceVelocity, a_ball_circles_on_a_turntable_with_two_sevenths_of_its_rate) {
  const Validation<TypeParam> validation("ball on a turntable");
  constexpr double omega = 2.1, rate = 2 * omega / 7, speed = 0.3, radius = 0.1;
  for (const double step : kSteps) {
    const double h = as_made<TypeParam>(step);
    model::SceneSpec scene = ball_on(2, {}, {0, 0, omega});
    scene.shapes[0].X_BS.position = {0.4, -0.2, 0};
    SingleWorld<TypeParam> world(scene, exact_options(), h);
    // ṽ + ω_ball × (0, 0, −r) is the table's velocity beneath it.
    world.world().v[0].x = TypeParam(speed);
    const Vec3<double> table = math::cross(Vec3<double>{0, 0, omega}, Vec3<double>{-0.4, 0.2, 0});
    world.world().omega[0].y = TypeParam((speed - table.x) / radius),
    world.world().omega[0].x = TypeParam(table.y / radius);
    double worst = 0;
    for (int k = 1; k * h < 2 * kPi / rate; ++k) {
      world.step();
      const double t = k * h, c = speed / rate;
      worst = std::max(
          worst, std::hypot(place(world).x - c * std::sin(rate * t), place(world).y - c * (1 - std::cos(rate * t))));
    }
    EXPECT_TRUE(world.converged());
    validation.at_most("distance of a ball from its circle, m", worst, 4 * h * h + allowed<TypeParam>(1e-8, 2e-4));
  }
}

// Two belts of opposite speeds under the box's edges: each takes half of its weight, so that it turns about its centre,
// first by the torque μ m g a, and stays where it is.
TYPED_TEST(SurfaceVelocity, two_opposite_belts_turn_a_box) {
  const Validation<TypeParam> validation("box on two opposite belts");
  constexpr double mu = 0.3, half = 0.1, speed = 10, rate = mu * kGravity * half / (2.0 / 3 * half * half);
  for (const double step : kSteps) {
    const double h = as_made<TypeParam>(step);
    model::SceneSpec scene;
    scene.bodies = {testing::solid_box("box", 1, {half, half, 0.02}, {0, 0, 0.02})};
    scene.shapes = {testing::box_shape("box", 0, {half, half, 0.02}, mu)};
    for (const double side : {-1.0, 1.0}) {
      model::ShapeSpec belt = testing::box_shape("belt" + std::to_string(side), model::kWorldBody, {2, 0.5, 0.1}, mu);
      belt.X_BS.position = {0, (0.499 + half) * side, -0.1};
      belt.surface_velocity = {-side * speed, 0, 0};
      scene.shapes.push_back(belt);
    }
    SingleWorld<TypeParam> world(scene, exact_options(), h);
    const int n = std::max(1, static_cast<int>(0.02 / h));
    world.step(n);
    world.read();
    EXPECT_TRUE(world.converged());
    validation.at_most("rate of a box on two belts, relative",
                       std::abs(double(world.world().omega_at_pose[0].z) / (rate * n * h) - 1), 0.015);
    // On a millimetre at each edge the law leaves open which corner bears how much.
    validation.at_most("way of a box on two belts, m", std::hypot(place(world).x, place(world).y), 5e-6);
  }
}

// The belt of a body that moves without friction itself, in any direction and turned against its shape: both ways of
// momentum, and slip that ends at the belt's speed.
TYPED_TEST(SurfaceVelocity, the_body_of_a_belt_feels_its_reaction) {
  const Validation<TypeParam> validation("belt of a free body");
  constexpr double mu = 0.4, speed = 1.2, cart = 3, turn = 0.7;
  for (const double step : kSteps) {
    const double h = as_made<TypeParam>(step);
    model::SceneSpec scene;
    scene.bodies = {testing::solid_box("cart", cart, {1, 1, 0.1}, {0, 0, 0.1}),
                    testing::solid_box("box", 1, {0.1, 0.1, 0.02}, {0, 0, 0.22})};
    scene.shapes = {testing::ground_plane(0), testing::box_shape("cart", 0, {1, 1, 0.1}, mu),
                    testing::box_shape("box", 1, {0.1, 0.1, 0.02}, mu)};
    scene.shapes[1].surface_velocity = {speed, 0, 0};
    scene.bodies[0].X_WB.rotation = {std::cos(turn / 2), 0, 0, std::sin(turn / 2)};
    model::ContactPairSpec glides;
    glides.shape_a = 0, glides.shape_b = 1, glides.contact_dimension = 1;
    scene.contact_pairs = {glides};
    SingleWorld<TypeParam> world(scene, exact_options(), h);
    double moved = 0;
    for (int k = 0; k < static_cast<int>(0.6 / h); ++k) {
      world.step();
      moved = std::max(moved, math::norm(world.momentum().linear));
    }
    EXPECT_TRUE(world.converged());
    validation.at_most("momentum of a cart and what its belt carries, N s", moved, allowed<TypeParam>(1e-10, 1e-5));
    const int on_cart = world.compiled().internal_body[0], on_belt = world.compiled().internal_body[1];
    const Vec3<double> along{std::cos(turn), std::sin(turn), 0};
    validation.at_most("speed of a cart that its belt drives, m/s",
                       math::norm(velocity(world, on_cart) + speed / (1 + cart) * along),
                       allowed<TypeParam>(1e-8, 1e-5));
    validation.at_most("speed of what its belt carries, m/s",
                       math::norm(velocity(world, on_belt) - speed * cart / (1 + cart) * along),
                       allowed<TypeParam>(1e-8, 1e-5));
  }
}

// What of a surface's velocity is along the normal does not push; a contact without friction feels nothing at all.
TYPED_TEST(SurfaceVelocity, only_friction_feels_a_surface_that_moves) {
  for (const bool slides : {false, true}) {
    model::SceneSpec still = box_on_belt(slides ? 0 : 0.5, 0), moving = still;
    moving.shapes[0].surface_velocity = {slides ? 3.0 : 0.0, 0, slides ? 0.0 : 7.0};
    SingleWorld<TypeParam> a(still, exact_options(), 0.01), b(moving, exact_options(), 0.01);
    a.step(50), b.step(50);
    const double rounding = allowed<TypeParam>(1e-12, 1e-7);
    EXPECT_LE(math::norm(place(a) - place(b)), rounding);
    EXPECT_LE(math::norm(velocity(a) - velocity(b)), rounding);
  }
}

// I dω/dt = μ m g about the normal, by torsional friction, until it turns as the table does; rolling friction does not
// move it.
TYPED_TEST(SurfaceVelocity, torsional_friction_turns_a_ball_with_a_turntable) {
  const Validation<TypeParam> validation("ball at the centre of a turntable");
  constexpr double mu = 0.004, omega = 6, rate = mu * kGravity / (0.4 * 0.1 * 0.1);
  for (const double step : kSteps) {
    const double h = as_made<TypeParam>(step);
    model::SceneSpec scene = ball_on(0.8, {}, {0, 0, omega});
    for (model::ShapeSpec& shape : scene.shapes) {
      shape.cone_dimension = 6, shape.torsional_friction = mu, shape.rolling_friction = 0.01;
    }
    SingleWorld<TypeParam> world(scene, exact_options(), h);
    double worst = 0;
    int n = 0;
    for (; (n + 1) * h * rate < omega; ++n) {
      world.step();
      worst = std::max(worst, std::abs(double(world.read().omega_at_pose[0].z) - rate * (n + 1) * h));
    }
    validation.at_most("rate of a ball that a turntable spins up, rad/s", worst, allowed<TypeParam>(1e-9, 1e-4));
    world.step(static_cast<int>(0.5 / h));
    EXPECT_TRUE(world.converged());
    validation.at_most("rate of a ball that goes with a turntable, rad/s",
                       std::abs(double(world.read().omega_at_pose[0].z) - omega), allowed<TypeParam>(1e-9, 1e-4));
    validation.at_most("way of a ball at the centre of a turntable, m", std::hypot(place(world).x, place(world).y),
                       allowed<TypeParam>(1e-9, 1e-5));
  }
}

}  // namespace
}  // namespace axion::surface_velocity_test
