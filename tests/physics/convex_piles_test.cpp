// Heaps of cylinders, ellipsoids and hulls come to rest on each other without going into each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/collide/find_contacts.hpp"
#include "engine/import/mjcf.hpp"
#include "tests/support/convex_scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::convex_piles_test {
namespace {

using model::ShapeKind;

// The deepest overlap of any two shapes in the poses of a world, m, by the narrow phase in double.
template <typename Real>
double deepest_overlap(const testing::SingleWorld<Real>& world) {
  const auto m = world.compiled().arrays.view();
  const auto pose = [&](int i) {
    const model::ShapeData<double>& shape = m.shapes[i];
    if (shape.body < 0) return collide::ShapePose<double>{shape.p_CS, math::to_matrix(shape.q_CS)};
    const auto q = math::normalized(math::cast<double>(world.world().q[shape.body]));
    return collide::ShapePose<double>{math::cast<double>(world.world().x[shape.body]) + math::rotate(q, shape.p_CS),
                                      math::to_matrix(q * shape.q_CS)};
  };
  double deepest = 0;
  for (int i = 0; i < m.shape_count * m.shape_count; ++i) {
    const int a = i / m.shape_count, b = i % m.shape_count;
    if (a <= b || m.shapes[a].body == m.shapes[b].body) continue;
    collide::ContactPoint<double> points[collide::kMaxPairContacts];
    const int count = collide::collide_pair(collide::shape_of(m, m.shapes[a]), pose(a),
                                            collide::shape_of(m, m.shapes[b]), pose(b), 0.0, points);
    for (int k = 0; k < count; ++k) deepest = std::max(deepest, -points[k].gap);
  }
  return deepest;
}

struct Pile {
  std::string name;
  std::vector<ShapeKind> kinds;
};

class ConvexPiles : public ::testing::TestWithParam<Pile> {};

// 30 bodies fall for 3 s. In the last of them nothing moves much, in its second half every step converged, and no two
// shapes overlap by half a millimetre. While they fall, a turning rim or corner may go in by what it moves off its
// tangent in a step. Places of 1 m round by 1e-7 m in float32, far below these bounds: both precisions share them.
template <typename Real>
void settle(const Pile& pile) {
  const model::SceneSpec scene = testing::convex_heap(30, pile.kinds);
  testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), 0.005);
  int unconverged = 0;
  double falling = 0, deepest = 0;
  for (int step = 0; step < 600; ++step) {
    world.step();
    unconverged += step >= 500 && !world.converged() ? 1 : 0;
    if (step % 10 == 9) {
      double& of = step < 400 ? falling : deepest;
      of = std::max(of, deepest_overlap(world));
    }
    ASSERT_TRUE(world.world().x[0].x == world.world().x[0].x) << "step " << step;
  }
  double fastest = 0, lowest = 1;
  for (int b = 0; b < world.model().body_count; ++b) {
    fastest = std::max(fastest, double(math::norm(world.world().v[b])));
    lowest = std::min(lowest, double(world.world().x[b].z));
  }
  const testing::Validation<Real> row("heaps of convex shapes");
  row.at_most(pile.name + ": deepest overlap at rest, m", deepest, 5e-4);
  row.at_most(pile.name + ": deepest overlap before, m", falling, 3e-3);
  row.at_most(pile.name + ": steps of the last hundred that do not converge", unconverged, 0);
  row.at_most(pile.name + ": fastest body after 3 s, m/s", fastest,
              0.1);                                              // ellipsoids go on rolling for long; others stand
  row.at_least(pile.name + ": lowest centre, m", lowest, 0.03);  // above the ground by about their least half width
}

TEST_P(ConvexPiles, settle_without_penetration_in_float32) { settle<float>(GetParam()); }
TEST_P(ConvexPiles, settle_without_penetration_in_float64) { settle<double>(GetParam()); }

// A heap in which all kinds meet, stepped by teams that run their loops forwards, backwards and shuffled.
TEST(ConvexShapes, steps_do_not_depend_on_the_order_of_a_team) {
  const std::vector<ShapeKind> kinds{ShapeKind::kCylinder, ShapeKind::kMesh, ShapeKind::kBox, ShapeKind::kEllipsoid,
                                     ShapeKind::kMesh};
  const model::SceneSpec scene = testing::convex_heap(18, kinds);
  const auto options = model::make_options(model::Preset::kDefault);
  testing::SingleWorld<float> serial(scene, options, 0.005), reversed(scene, options, 0.005),
      shuffled(scene, options, 0.005);
  serial.step<team::SerialTeam>(120), reversed.step<team::ReversedTeam>(120), shuffled.step<team::ShuffledTeam>(120);
  ASSERT_GT(serial.record().contact_count, 20);
  for (int b = 0; b < serial.model().body_count; ++b) {
    EXPECT_EQ(serial.world().x[b], reversed.world().x[b]) << b;
    EXPECT_EQ(serial.world().x[b], shuffled.world().x[b]) << b;
    EXPECT_EQ(serial.world().omega[b], reversed.world().omega[b]) << b;
    EXPECT_EQ(serial.world().omega[b], shuffled.world().omega[b]) << b;
  }
}

// A prism of six sides on the floor, and another on it, each with its centre of mass near one of the six corners that
// it stands on: nothing moves. Where a contact lacks a corner that carries, the body tips over the edge beside it until
// the corner is found, and rocks for ever, by 0.05 rad/s here. The bound of float32 is for what contacts leave.
template <typename Real>
double fastest_turn_with_loads_at(int corner) {
  std::string vertices;
  for (int i = 0; i < 12; ++i) {
    const double angle = i % 6 * std::acos(-1.0) / 3;
    vertices += std::to_string(0.09 * std::cos(angle)) + " " + std::to_string(0.09 * std::sin(angle)) + " " +
                (i < 6 ? "-.05 " : ".05 ");
  }
  const double angle = corner * std::acos(-1.0) / 3, far = 0.95 * 0.09;
  const auto body = [&](double z) {
    const std::string at = std::to_string(far * std::cos(angle)) + " " + std::to_string(far * std::sin(angle)) + " 0";
    return "<body pos='0 0 " + std::to_string(z) + "'><freejoint/><inertial pos='" + at +
           "' mass='1' diaginertia='.003 .003 .004'/><geom type='mesh' mesh='prism'/></body>";
  };
  const auto scene = import::import_mjcf(
      "<mujoco><compiler inertiafromgeom='false'/><asset><mesh name='prism' vertex='" + vertices +
      "'/></asset><worldbody><geom type='plane' size='1 1 1'/>" + body(0.05) + body(0.15) + "</worldbody></mujoco>");
  if (!scene.ok()) throw std::runtime_error(scene.error().message);
  testing::SingleWorld<Real> world(scene.value().scene, model::make_options(model::Preset::kDefault), 0.005);
  world.step(400);
  double fastest = 0;
  for (int step = 0; step < 100; ++step) {
    world.step();
    for (int b = 0; b < 2; ++b) fastest = std::max(fastest, double(math::norm(world.world().omega[b])));
  }
  return fastest;
}

TEST(LoadsNearCorners, rest_on_hulls_and_on_the_floor) {
  for (int corner = 0; corner < 6; ++corner) {
    const testing::Validation<float> narrow("loads near corners of hulls");
    narrow.at_most("corner " + std::to_string(corner) + ": rad/s", fastest_turn_with_loads_at<float>(corner), 1e-3);
    const testing::Validation<double> wide("loads near corners of hulls");
    wide.at_most("corner " + std::to_string(corner) + ": rad/s", fastest_turn_with_loads_at<double>(corner), 1e-10);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ConvexPiles,
    ::testing::Values(Pile{"cylinders", {ShapeKind::kCylinder}}, Pile{"ellipsoids", {ShapeKind::kEllipsoid}},
                      Pile{"hulls", {ShapeKind::kMesh}},
                      Pile{"mixed", {ShapeKind::kCylinder, ShapeKind::kMesh, ShapeKind::kBox, ShapeKind::kEllipsoid}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axion::convex_piles_test
