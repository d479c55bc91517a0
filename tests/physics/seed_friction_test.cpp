// Friction of preset AXION_SEED along every direction, solved to rounding, against closed formulas: a ball and a box
// pulled from between two plates that press them, and a cube thrown over the ground. The plates are light and run on
// guides, so that what slip meets depends on its direction; floor, wall and ceiling, so that tangents lie along every
// axis.
#include <array>
#include <cmath>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::seed_friction_test {
namespace {

using math::Vec3;
using model::Vec3d;
using testing::allowed;
using testing::as_made;
using testing::Validation;

constexpr double kFriction = 0.5, kPress = 10, kMass = 1, kHalf = 0.1;  // -, N, kg, m
constexpr double kThreshold = 2 * kFriction * kPress;                   // N, that pulls a body out

// AXION_SEED solved to rounding, without the compliance that closed formulas do not know.
model::SolverOptions seed_options() {
  model::SolverOptions options = model::make_options(model::Preset::kAxionSeed);
  options.tolerance = 1e-9;
  options.contact_compliance = 0;
  return options;
}

// Right-handed axes of which the third is the plates' normal.
struct Frame {
  Vec3<double> x, y, n;
  Vec3<double> at(double a, double b, double c) const { return a * x + b * y + c * n; }
  Vec3<double> heading(double degrees) const {
    const double angle = degrees * std::acos(-1.0) / 180;
    return at(std::cos(angle), std::sin(angle), 0);
  }
};
const std::array<Frame, 3> kFrames = {
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}, {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}}}};

Vec3d to_spec(const Vec3<double>& v) { return {v.x, v.y, v.z}; }
Vec3d extents(const Vec3<double>& v) { return {std::abs(v.x), std::abs(v.y), std::abs(v.z)}; }

enum class Guides { kNormal, kNormalAndY };

// A plate of half sides 1.5 m whose face is at `height`; light: thirty to a hundred times lighter than what it presses.
void add_plate(model::SceneSpec& scene, const Frame& frame, const char* name, double height, double mass,
               Guides guides) {
  const int body = static_cast<int>(scene.bodies.size());
  const Vec3d half = extents(frame.at(1.5, 1.5, 0.05));
  const double centre = height + (height > 0 ? 0.05 : -0.05);
  scene.bodies.push_back(testing::solid_box(name, mass, half, to_spec(frame.at(0, 0, centre))));
  scene.shapes.push_back(testing::box_shape(name, body, half, kFriction));
  model::JointSpec joint;
  joint.name = name, joint.kind = model::JointKind::kAxes, joint.parent = -1, joint.child = body;
  if (guides == Guides::kNormalAndY) joint.axes.push_back(testing::slide(joint.name + "_y", to_spec(frame.y)));
  joint.axes.push_back(testing::slide(joint.name + "_n", to_spec(frame.n)));
  scene.joints.push_back(joint);
}

// A body of 1 kg between two plates, without gravity.
model::SceneSpec pressed_body(const Frame& frame, bool is_ball, double plate_mass, Guides guides) {
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0};
  scene.bodies = {testing::solid_box("body", kMass, {kHalf, kHalf, kHalf}, {0, 0, 0})};
  const double I = 0.4 * kMass * kHalf * kHalf;
  if (is_ball) scene.bodies[0].I_Bcm = {I, I, I, 0, 0, 0};
  scene.shapes = {is_ball ? testing::sphere_shape("body", 0, kHalf, kFriction)
                          : testing::box_shape("body", 0, {kHalf, kHalf, kHalf}, kFriction)};
  add_plate(scene, frame, "lower", -kHalf, plate_mass, guides);
  add_plate(scene, frame, "upper", kHalf, plate_mass, guides);
  return scene;
}

struct Pull {
  Vec3<double> v;  // of the body, m/s
  double time;     // s
  double converged;
};

template <typename Real>
Pull pull(const model::SceneSpec& scene, const Frame& frame, const model::SolverOptions& options,
          const Vec3<double>& force, double h) {
  testing::SingleWorld<Real> world(scene, options, h);
  auto& w = world.world();
  const auto& body = world.compiled().internal_body;
  w.force[body[0]] = math::cast<Real>(force);
  w.force[body[1]] = math::cast<Real>(kPress * frame.n);
  w.force[body[2]] = math::cast<Real>(-kPress * frame.n);
  const int steps = static_cast<int>(std::lround(0.1 / h));
  int converged = 0;
  for (int k = 0; k < steps; ++k) {
    world.step();
    converged += world.converged();
  }
  return {math::cast<double>(world.read().v_at_pose[body[0]]), steps * as_made<Real>(h), converged / double(steps)};
}

// A body pulled by `share` of the threshold along eight headings in turn.
struct Headings {
  double error = 0;   // m/s along the pull, against (F − 2μN)t/m, or none below the threshold
  double across = 0;  // m/s across it
  double slowest = 1e9, fastest = -1e9;
  double least_converged = 1, converged = 0;  // least share of a pull's steps, and the mean

  double spread() const { return fastest - slowest; }
};

template <typename Real>
Headings pull_along_headings(const model::SceneSpec& scene, const Frame& frame, double share, double h) {
  Headings all;
  for (int degrees = 0; degrees < 360; degrees += 45) {
    const Vec3<double> d = frame.heading(degrees);
    const Pull p = pull<Real>(scene, frame, seed_options(), share * kThreshold * d, h);
    const double expected = share > 1 ? (share - 1) * kThreshold / kMass * p.time : 0, along = math::dot(p.v, d);
    all.error = std::max(all.error, std::abs(along - expected));
    all.across = std::max(all.across, math::norm(p.v - along * d));
    all.slowest = std::min(all.slowest, along), all.fastest = std::max(all.fastest, along);
    all.least_converged = std::min(all.least_converged, p.converged), all.converged += p.converged / 8;
  }
  return all;
}

template <typename Real>
class SeedFriction : public ::testing::Test {};
TYPED_TEST_SUITE(SeedFriction, testing::Precisions, testing::PrecisionNames);

// Held plates: (F − 2μN)/m along the pull, whatever its heading.
TYPED_TEST(SeedFriction, a_ball_between_plates_on_guides_slips_alike_along_every_heading) {
  using Real = TypeParam;
  double speed = 0, across = 0, creep = 0, spread = 0, converged = 1;
  for (const Frame& frame : kFrames) {
    for (const double plate_mass : {0.01, 0.1, 1.0}) {
      const model::SceneSpec scene = pressed_body(frame, true, plate_mass, Guides::kNormal);
      for (const double h : {1e-3, 5e-3, 1.0 / 60}) {
        for (const double share : {0.5, 0.99, 1.01, 1.05, 1.5}) {
          const Headings all = pull_along_headings<Real>(scene, frame, share, h);
          (share > 1 ? speed : creep) = std::max(share > 1 ? speed : creep, all.error);
          across = std::max(across, all.across), spread = std::max(spread, all.spread());
          converged = std::min(converged, all.least_converged);
        }
      }
    }
  }
  // float32: a step may leave 4ε of the speeds that it sums, r_t c = (3.5/m + 1/0.01 kg) · 5 N · h, of slip: at 1/60 s
  // 8.6 m/s and 4e-6 m/s, of one sign in six steps.
  const Validation<Real> row("seed friction, ball between plates on guides");
  row.at_most("speed of slip against (F - 2μN)t/m, m/s", speed, allowed<Real>(1e-8, 2.5e-5));
  row.at_most("speed across the pull, m/s", across, allowed<Real>(1e-8, 2.5e-5));
  row.at_most("speed, greatest difference between headings, m/s", spread, allowed<Real>(1e-8, 2.5e-5));
  row.at_most("speed below the cone, m/s", creep, allowed<Real>(1e-8, 2.5e-5));
  row.at_least("least share of steps converged", converged, 1);
}

// Along y the plates come with the ball, along x they are held: the same scene meets slip with other inertia at each
// heading.
TYPED_TEST(SeedFriction, a_ball_between_plates_that_are_free_along_one_axis_moves_as_by_the_natural_map) {
  using Real = TypeParam;
  double difference = 0, held = 0, carried = 0, converged = 1;
  for (const Frame& frame : kFrames) {
    for (const double plate_mass : {0.01, 0.1}) {
      const model::SceneSpec scene = pressed_body(frame, true, plate_mass, Guides::kNormalAndY);
      for (const double force : {1.05 * kThreshold, 1.45 * kThreshold, 2 * kThreshold}) {
        for (int degrees = 0; degrees <= 90; degrees += 15) {
          const Vec3<double> d = frame.heading(degrees);
          model::SolverOptions natural = model::make_options(model::Preset::kDefault);
          natural.tolerance = 1e-11, natural.contact_compliance = 0, natural.half_step_start = false;
          const Pull seed = pull<Real>(scene, frame, seed_options(), force * d, 5e-3);
          const Pull reference = pull<double>(scene, frame, natural, force * d, 5e-3);
          difference = std::max(difference, math::norm(seed.v - reference.v));
          if (degrees == 0) held = std::max(held, std::abs(math::dot(seed.v, d) - (force - kThreshold) * seed.time));
          if (degrees == 90) {
            const double carry = force / (kMass + 2 * plate_mass);  // below the cone of both contacts
            if (carry * plate_mass < kFriction * kPress) {
              carried = std::max(carried, std::abs(math::dot(seed.v, d) - carry * seed.time));
            }
          }
          converged = std::min(converged, seed.converged);
        }
      }
    }
  }
  const Validation<Real> row("seed friction, plates free along one axis");
  row.at_most("speed against the natural map's in float64, m/s", difference, allowed<Real>(1e-8, 2.5e-5));
  row.at_most("along x, against (F - 2μN)t/m, m/s", held, allowed<Real>(1e-8, 2.5e-5));
  row.at_most("along y, against Ft/(m + 2M), m/s", carried, allowed<Real>(1e-8, 2.5e-5));
  row.at_least("least share of steps converged", converged, 1);
}

// Eight corners share the load, so W's fixed point has directions without any inertia.
TYPED_TEST(SeedFriction, a_box_between_plates_on_guides_slips_alike_along_every_heading) {
  using Real = TypeParam;
  double speed = 0, spread = 0, creep = 0, converged = 0;
  int runs = 0;
  for (const Frame& frame : kFrames) {
    for (const double plate_mass : {0.1, 1.0}) {
      const model::SceneSpec scene = pressed_body(frame, false, plate_mass, Guides::kNormal);
      for (const double share : {0.9, 1.05, 1.5}) {
        const Headings all = pull_along_headings<Real>(scene, frame, share, 5e-3);
        (share > 1 ? speed : creep) = std::max(share > 1 ? speed : creep, all.error);
        spread = std::max(spread, all.spread());
        converged += all.converged, ++runs;
      }
    }
  }
  const Validation<Real> row("seed friction, box between plates on guides");
  row.at_most("speed of slip against (F - 2μN)t/m, m/s", speed, allowed<Real>(1e-6, 2.5e-5));
  row.at_most("speed, greatest difference between headings, m/s", spread, allowed<Real>(1e-6, 2.5e-5));
  row.at_most("speed below the cone, m/s", creep, allowed<Real>(1e-6, 2.5e-5));
  row.at_least("share of steps converged", converged / runs, 0.99);
}

TYPED_TEST(SeedFriction, a_thrown_cube_slows_alike_along_every_heading) {
  using Real = TypeParam;
  double speed = 0, across = 0, converged = 1;
  for (const double mu : {0.1, 0.5, 0.8}) {
    for (const double h : {1e-3, 5e-3, 1.0 / 60}) {
      for (int degrees = 0; degrees < 360; degrees += 15) {
        const Vec3<double> d = kFrames[0].heading(degrees);
        testing::SingleWorld<Real> world(testing::cube_on_plane(mu), seed_options(), h);
        auto& w = world.world();
        w.v[0] = math::cast<Real>(3.0 * d);
        const int steps = static_cast<int>(0.2 / h);
        int solved = 0;
        for (int k = 0; k < steps; ++k) {
          world.step();
          solved += world.converged();
        }
        const auto v = math::cast<double>(world.read().v_at_pose[0]);
        const double along = math::dot(v, d);
        speed = std::max(speed, std::abs(along - (3 - mu * 9.81 * steps * as_made<Real>(h))));
        across = std::max(across, math::norm(v - along * d));
        converged = std::min(converged, solved / double(steps));
      }
    }
  }
  // float32: ε/2 of 3 m/s in each of 200 steps, and as much again from the solver.
  const Validation<Real> row("seed friction, thrown cube");
  row.at_most("speed against 3 − μgt, m/s", speed, allowed<Real>(1e-8, 1e-4));
  row.at_most("speed across the heading, m/s", across, allowed<Real>(1e-8, 1e-4));
  row.at_least("least share of steps converged", converged, allowed<Real>(1, 0.95));
}

}  // namespace
}  // namespace axion::seed_friction_test
