// Bodies on height fields: distances beside those to the prisms under the triangles, sliding and rest beside closed
// formulas, and bodies that come down fast or begin below the surface.
#include <cmath>
#include <random>

#include "engine/collide/find_contacts.hpp"
#include "engine/model/compile_hulls.hpp"
#include "tests/physics/exact_options.hpp"
#include "tests/support/convex_scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::height_field_test {
namespace {

using math::Vec3;
using model::HeightFieldSpec;
using model::SceneSpec;
using model::ShapeKind;
using testing::exact_options;

constexpr double kGravity = 9.81;

template <typename Height>
HeightFieldSpec field_of(int columns, int rows, double half_x, double half_y, double base, const Height& height) {
  HeightFieldSpec field{"field", columns, rows, half_x, half_y, base, {}};
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      field.heights.push_back(
          static_cast<float>(height(2 * half_x * c / (columns - 1) - half_x, 2 * half_y * r / (rows - 1) - half_y)));
    }
  }
  return field;
}

model::ShapeSpec ground_of(const HeightFieldSpec& field, double friction) {
  model::ShapeSpec shape;
  shape.name = "ground", shape.kind = ShapeKind::kHeightField, shape.height_field = field.name;
  shape.friction = friction;
  return shape;
}

SceneSpec body_on(const HeightFieldSpec& field, model::ShapeSpec shape, double friction, const model::Vec3d& position) {
  SceneSpec scene;
  scene.height_fields = {field};
  scene.shapes = {ground_of(field, friction)};
  scene.bodies = {testing::solid_box("body", 1, {0.1, 0.1, 0.1}, position)};
  shape.friction = friction;
  scene.shapes.push_back(shape);
  for (int k = 0; k < 3; ++k) scene.meshes.push_back(testing::hull_mesh(k));
  return scene;
}

const ShapeKind kKinds[] = {ShapeKind::kSphere,   ShapeKind::kCapsule,   ShapeKind::kBox,
                            ShapeKind::kCylinder, ShapeKind::kEllipsoid, ShapeKind::kMesh};

model::ShapeSpec shape_of(ShapeKind kind) {
  model::ShapeSpec shape = testing::convex_shape(kind, 0);
  if (kind == ShapeKind::kSphere) shape.size = {0.1, 0, 0};
  if (kind == ShapeKind::kCapsule) shape.size = {0.06, 0.1, 0};
  return shape;
}

template <typename Real>
struct Placed {
  collide::Shape<Real> shape;
  collide::ShapePose<Real> X_WS;
};

// Shape `index` of a scene as the narrow phase has it, at its place in the world.
Placed<double> placed(const testing::SingleWorld<double>& world, int index) {
  const auto m = world.model();
  const auto& data = m.shapes[index];
  return {collide::shape_of(m, data), {data.p_CS, math::to_matrix(data.q_CS)}};
}

// The prism under a triangle of a field, as a hull.
struct Prism {
  std::vector<double> numbers;
  collide::Shape<double> shape;
  collide::ShapePose<double> X_WS;
};

Prism prism_of(const collide::HeightField<double>& field, int c, int r, int which) {
  const Vec3<double> corners[3] = {field.vertex(c, r), which == 0 ? field.vertex(c + 1, r) : field.vertex(c, r + 1),
                                   field.vertex(c + 1, r + 1)};
  model::MeshSpec mesh{"prism", {}};
  for (const Vec3<double>& p : corners) {
    mesh.vertices.push_back({p.x, p.y, p.z}), mesh.vertices.push_back({p.x, p.y, -field.base});
  }
  std::vector<model::MeshSpec> meshes{mesh};
  const model::CompiledHulls hulls = model::compile_hulls(meshes).value();
  const model::CompiledHull& hull = hulls.by_name.at("prism");
  Prism prism{hulls.vertices, {ShapeKind::kMesh, {hull.depth, hull.radius, 0}}, {}};
  prism.shape.hull = {nullptr, hull.stride, hull.count};
  prism.X_WS = {hull.centroid, math::to_matrix(math::Quat<double>{1, 0, 0, 0})};
  return prism;
}

double least_gap(const Placed<double>& a, const collide::Shape<double>& b, const collide::ShapePose<double>& X_WB,
                 double margin) {
  collide::ContactPoint<double> points[collide::kMaxPairContacts];
  const int count = collide::collide_pair(a.shape, a.X_WS, b, X_WB, margin, points);
  double least = margin;
  for (int i = 0; i < count; ++i) least = std::min(least, points[i].gap);
  return least;
}

TEST(HeightField, distance_from_outside_is_that_to_the_nearest_prism) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::normal_distribution<double> normal;
  const HeightFieldSpec field =
      field_of(6, 5, 0.5, 0.4, 0.2, [&](double, double) { return 0.1 + 0.1 * uniform(random); });
  const double margin = 0.05;
  for (const ShapeKind kind : kKinds) {
    const testing::SingleWorld<double> world(body_on(field, shape_of(kind), 1, {0, 0, 3}), exact_options(), 0.01);
    const Placed<double> ground = placed(world, 0);
    Placed<double> body = placed(world, 1);
    const collide::HeightField<double> heights = collide::height_field_of(ground.shape);
    std::vector<Prism> prisms;
    for (int r = 0; r + 1 < heights.rows; ++r) {
      for (int c = 0; c + 1 < heights.columns; ++c) {
        for (int which = 0; which < 2; ++which) prisms.push_back(prism_of(heights, c, r, which));
      }
    }
    for (Prism& prism : prisms) prism.shape.hull.x = prism.numbers.data();
    int compared = 0;
    double worst = 0;
    for (int k = 0; k < 3000; ++k) {
      body.X_WS.R_WS = math::to_matrix(
          math::normalized(math::Quat<double>{normal(random), normal(random), normal(random), normal(random)}));
      body.X_WS.p_WS = {0.6 * uniform(random), 0.5 * uniform(random), 0.2 + 0.2 * uniform(random)};
      double expected = margin;
      for (const Prism& prism : prisms) {
        expected = std::min(expected, least_gap(body, prism.shape, prism.X_WS, margin));
      }
      if (expected <= 1e-3 || expected >= margin) continue;
      ++compared;
      const double gap = least_gap(body, ground.shape, ground.X_WS, margin);
      worst = std::max(worst, std::abs(gap - expected));
      EXPECT_NEAR(gap, expected, 2e-4) << "kind " << int(kind) << " at " << body.X_WS.p_WS.x << " " << body.X_WS.p_WS.y
                                       << " " << body.X_WS.p_WS.z;
    }
    EXPECT_GT(compared, 150) << int(kind);
    std::printf("kind %d: %d poses, worst %.2e m\n", int(kind), compared, worst);
  }
}

TEST(HeightField, box_slides_over_the_edges_of_a_flat_field_as_on_a_plane) {
  const double mu = 0.3, h = 0.01, v0 = 3;
  const HeightFieldSpec field = field_of(41, 31, 4, 3, 0.1, [](double, double) { return 0.0; });
  model::ShapeSpec box = testing::box_shape("box", 0, {0.25, 0.17, 0.1}, mu);
  testing::SingleWorld<double> world(body_on(field, box, mu, {-2, 0.03, 0.1}), exact_options(), h);
  auto& w = world.world();
  const double angle = 0.37;
  w.v[0] = {v0 * std::cos(angle), v0 * std::sin(angle), 0};
  const int last = static_cast<int>(v0 / (mu * kGravity * h));
  for (int n = 1; n <= last; ++n) {
    world.step();
    world.read();
    const double speed = v0 - mu * kGravity * h * n;
    EXPECT_NEAR(w.v_at_pose[0].x, speed * std::cos(angle), 1e-8) << n;
    EXPECT_NEAR(w.v_at_pose[0].y, speed * std::sin(angle), 1e-8) << n;
    EXPECT_NEAR(w.x[0].z, 0.1, 1e-9) << n;
    ASSERT_EQ(world.record().contact_count, 4) << n;
  }
}

// A valley along y with sides of slope `slope`, whose bottom is at 0.
HeightFieldSpec valley(double slope) {
  return field_of(21, 11, 1, 1, 0.1, [slope](double x, double) { return slope * std::abs(x); });
}

TEST(HeightField, round_bodies_rest_in_a_valley_at_the_height_of_both_sides) {
  const double slope = 0.5, up = std::sqrt(1 + slope * slope);
  for (const ShapeKind kind : {ShapeKind::kSphere, ShapeKind::kCapsule, ShapeKind::kCylinder}) {
    model::ShapeSpec shape = shape_of(kind);
    shape.X_BS.rotation = {std::sqrt(0.5), std::sqrt(0.5), 0, 0};  // along y
    testing::SingleWorld<double> world(body_on(valley(slope), shape, 0.5, {0.02, 0.013, 0.2}), exact_options(), 0.005);
    world.step(400);
    world.read();
    EXPECT_NEAR(world.world().x[0].z, shape.size[0] * up, 1e-5) << int(kind);
    EXPECT_NEAR(world.world().x[0].x, 0, 1e-5) << int(kind);
    EXPECT_LT(math::norm(world.world().v_at_pose[0]), 1e-5) << int(kind);
  }
}

TEST(HeightField, bodies_with_faces_rest_on_a_slope_at_the_height_of_their_lowest_face) {
  const double slope = 0.3, angle = std::atan(slope);
  const HeightFieldSpec field = field_of(15, 13, 1.5, 1, 0.6, [slope](double x, double) { return slope * x; });
  for (const ShapeKind kind : {ShapeKind::kBox, ShapeKind::kCylinder, ShapeKind::kMesh, ShapeKind::kCapsule}) {
    model::ShapeSpec shape = shape_of(kind);
    double half = kind == ShapeKind::kCylinder ? shape.size[1] : shape.size[2];
    if (kind == ShapeKind::kMesh) shape.mesh = "hull0", half = 0.06;
    SceneSpec scene = body_on(field, shape, 1, {0, 0, 0});
    model::BodySpec& body = scene.bodies[0];
    // Turned with the slope; a capsule lies along it.
    const double turn = kind == ShapeKind::kCapsule ? -angle + M_PI / 2 : -angle;
    if (kind == ShapeKind::kCapsule) half = shape.size[0];
    body.X_WB.rotation = {std::cos(turn / 2), 0, std::sin(turn / 2), 0};
    body.X_WB.position = {0.1 - half * std::sin(angle), 0.05, slope * 0.1 + half * std::cos(angle) + 0.01};
    testing::SingleWorld<double> world(scene, exact_options(), 0.005);
    world.step(kind == ShapeKind::kCapsule ? 60 : 300);
    world.read();
    const auto& w = world.world();
    const double height = (w.x[0].z - slope * w.x[0].x) * std::cos(angle);
    EXPECT_NEAR(height, half, 1e-5) << int(kind);
    if (kind == ShapeKind::kCapsule) continue;  // it rolls
    EXPECT_LT(math::norm(w.v_at_pose[0]), 1e-5) << int(kind);
  }
}

TEST(HeightField, nothing_falls_through_at_speed_or_stays_below_the_surface) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::normal_distribution<double> normal;
  const auto height = [](double x, double y) { return 0.1 * std::sin(3 * x) * std::cos(4 * y); };
  const HeightFieldSpec field = field_of(41, 41, 2, 2, 0.5, height);
  for (const ShapeKind kind : kKinds) {
    for (int k = 0; k < 12; ++k) {
      SceneSpec scene = body_on(field, shape_of(kind), 0.5, {0.5 * uniform(random), 0.5 * uniform(random), 1});
      // A capsule whose middle meets a crest at this speed goes in deeper than its radius.
      const bool is_below = k % 2 == 1 || kind == ShapeKind::kCapsule;
      model::Vec3d& p = scene.bodies[0].X_WB.position;
      if (is_below) p[2] = height(p[0], p[1]) - 0.02;
      testing::SingleWorld<double> world(scene, model::make_options(model::Preset::kDefault), 0.01);
      auto& w = world.world();
      w.q[0] = math::normalized(math::Quat<double>{normal(random), normal(random), normal(random), normal(random)});
      if (!is_below) w.v[0] = {3 * uniform(random), 3 * uniform(random), -40};
      for (int n = 0; n < 150; ++n) {
        world.step();
        ASSERT_TRUE(std::isfinite(w.x[0].z));
        if (std::abs(w.x[0].x) > 1.8 || std::abs(w.x[0].y) > 1.8) break;  // it leaves the field
        if (!is_below || n > 50) {
          ASSERT_GT(w.x[0].z, height(w.x[0].x, w.x[0].y)) << "kind " << int(kind) << " case " << k << " step " << n;
        }
      }
    }
  }
}

// Solid from every side: what comes up against the base, at whatever speed, or from the side under it, stays out.
TEST(HeightField, bodies_stop_at_the_base_from_below) {
  const double base = 0.3;
  const HeightFieldSpec field = field_of(9, 7, 1, 0.8, base, [](double x, double y) { return 0.1 * (x * x + y * y); });
  for (const ShapeKind kind : kKinds) {
    for (const double speed : {0.1, 3.0, 60.0}) {
      for (const double x : {0.03, 0.97}) {
        SceneSpec scene = body_on(field, shape_of(kind), 0.3, {x, 0.02, -0.8});
        scene.gravity = {0, 0, 0};
        testing::SingleWorld<double> world(scene, exact_options(), 0.01);
        world.world().v[0] = {0, 0, speed};
        double fastest = 0;
        for (int k = 0; k < static_cast<int>(0.6 / (speed * 0.01)) + 3; ++k) {
          world.step();
          fastest = std::max(fastest, math::norm(world.world().v[0]));
        }
        const auto& at = world.world().x[0];
        EXPECT_TRUE(at.z < -base || at.x > 1) << int(kind) << " at " << speed << ": " << at.x << " " << at.z;
        EXPECT_LE(fastest, speed * (1 + 1e-9)) << int(kind) << " at " << speed;
      }
    }
  }
}

TEST(HeightField, bodies_stop_under_a_wall_where_they_come_from_the_side) {
  const double base = 0.3;
  const HeightFieldSpec field = field_of(9, 7, 1, 0.8, base, [](double, double) { return 0.1; });
  for (const ShapeKind kind : kKinds) {
    // Half of it beside the wall's lower edge, half below.
    SceneSpec scene = body_on(field, shape_of(kind), 0, {1.4, 0.02, -base - 0.02});
    scene.gravity = {0, 0, 0};
    testing::SingleWorld<double> world(scene, exact_options(), 0.01);
    world.world().v[0] = {-2, 0, 0};
    double deepest = 0;
    for (int k = 0; k < 40; ++k) {
      world.step();
      deepest = std::max(deepest, double(world.record().max_penetration));
      EXPECT_TRUE(world.converged()) << int(kind) << " step " << k;
    }
    EXPECT_LT(deepest, 1e-3) << int(kind);
    const auto& x = world.world().x[0];
    EXPECT_TRUE(x.x > 1 || x.z < -base) << int(kind) << " at " << x.x << " " << x.z;
  }
}

}  // namespace
}  // namespace axion::height_field_test
