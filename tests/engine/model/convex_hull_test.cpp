// Hulls of meshes: what they keep, what they say of what they leave out, and points that have none.
#include "engine/model/convex_hull.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "engine/model/compile.hpp"
#include "tests/support/convex_scenes.hpp"

namespace axion::model::convex_hull_test {
namespace {

std::vector<Vec3d> cube() {
  std::vector<Vec3d> points;
  for (int k = 0; k < 8; ++k) points.push_back({k & 1 ? 0.1 : -0.1, k & 2 ? 0.2 : -0.2, k & 4 ? 0.7 : 0.1});
  return points;
}

std::vector<Vec3d> ball(int count, double radius) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<Vec3d> points;
  for (int i = 0; i < count; ++i) {
    const Vec3d p{normal(random), normal(random), normal(random)};
    const double scale = radius / std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    points.push_back({scale * p[0], scale * p[1], scale * p[2]});
  }
  return points;
}

double support(const std::vector<Vec3d>& points, const Vec3d& d) {
  double most = -std::numeric_limits<double>::infinity();
  for (const Vec3d& p : points) most = std::max(most, p[0] * d[0] + p[1] * d[1] + p[2] * d[2]);
  return most;
}

TEST(ConvexHull, has_the_corners_of_a_cube_whatever_else_is_in_it) {
  std::vector<Vec3d> points = cube();
  const std::vector<Vec3d> again = points;
  points.insert(points.end(), again.begin(), again.end());
  for (int i = 0; i < 500; ++i) points.push_back({0.0001 * i, 0.01, 0.5});
  const Result<ConvexHull> hull = convex_hull(points);
  ASSERT_TRUE(hull.ok()) << hull.error().message;
  EXPECT_EQ(hull.value().vertices, again);
  EXPECT_EQ(hull.value().loss, 0);
  EXPECT_EQ(hull.value().faces.size(), 12u);
  EXPECT_NEAR(hull.value().centroid[2], 0.4, 1e-12);
  EXPECT_NEAR(hull.value().centroid_depth, 0.1, 1e-12);
  EXPECT_EQ(simplification_note(hull.value()), "");
}

TEST(ConvexHull, simplified_is_within_the_true_one_by_no_more_than_it_says) {
  const std::vector<Vec3d> points = ball(3000, 0.1);
  const Result<ConvexHull> hull = convex_hull(points);
  ASSERT_TRUE(hull.ok()) << hull.error().message;
  ASSERT_EQ(hull.value().vertices.size(), std::size_t(kMaxHullVertices));
  EXPECT_EQ(hull.value().full_vertex_count, 3000);
  double most = 0;
  for (const Vec3d& d : ball(2000, 1)) {
    const double lost = support(points, d) - support(hull.value().vertices, d);
    EXPECT_GE(lost, -1e-12);
    most = std::max(most, lost);
  }
  EXPECT_LE(most, hull.value().loss + 1e-9);
  // Sixty-four points spread evenly leave a ball of this size 5 mm between them, as the best polyhedra do.
  EXPECT_LT(hull.value().loss, 8e-3);
  EXPECT_NE(simplification_note(hull.value()).find("from 3000 to 64 vertices"), std::string::npos);
}

TEST(ConvexHull, does_not_depend_on_where_the_points_are_or_how_large_they_are) {
  for (const double scale : {1e-4, 1.0, 1e4}) {
    std::vector<Vec3d> points = cube();
    for (Vec3d& p : points) p = {scale * p[0] + 100 * scale, scale * p[1], scale * p[2] - 50 * scale};
    const Result<ConvexHull> hull = convex_hull(points);
    ASSERT_TRUE(hull.ok()) << scale << " " << hull.error().message;
    EXPECT_EQ(hull.value().vertices.size(), 8u);
    EXPECT_NEAR(hull.value().centroid_depth, 0.1 * scale, 1e-9 * scale);
  }
}

TEST(ConvexHull, refuses_points_without_a_volume) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Vec3d> flat, line, one(20, Vec3d{1, 2, 3}), slanted;
  for (int i = 0; i < 30; ++i) {
    flat.push_back({0.01 * i, 0.1 * (i % 7), 0.5});
    line.push_back({0.1 * i, 0.2 * i, 0.3 * i});
    slanted.push_back({0.013 * i, 0.1 * (i % 7), 0.37 * (0.013 * i) + 0.11 * (0.1 * (i % 7))});
  }
  std::vector<Vec3d> wrong = cube();
  wrong[3][1] = nan;
  std::vector<Vec3d> huge = cube();
  huge[5][0] = 1e300;
  const std::vector<Vec3d> few{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  const std::vector<Vec3d> many(std::size_t(kMaxMeshVertices) + 1, Vec3d{0, 0, 0});
  const std::vector<Vec3d>* const cases[] = {&flat, &line, &one, &slanted, &wrong, &huge, &few, &many};
  for (const auto* points : cases) {
    const Result<ConvexHull> hull = convex_hull(*points);
    ASSERT_FALSE(hull.ok());
    EXPECT_EQ(hull.error().field.substr(0, 8), "vertices");
    EXPECT_EQ(hull.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(convex_hull(wrong).error().field, "vertices[3]");
}

TEST(ConvexHull, of_as_many_points_as_are_allowed_is_made) {
  const Result<ConvexHull> hull = convex_hull(ball(kMaxMeshVertices, 0.2));
  ASSERT_TRUE(hull.ok()) << hull.error().message;
  EXPECT_EQ(hull.value().vertices.size(), std::size_t(kMaxHullVertices));
}

TEST(ConvexShapes, that_are_wrong_are_refused_with_their_field) {
  const auto field_of = [](auto&& change) {
    SceneSpec scene =
        axion::testing::convex_heap(4, std::vector{ShapeKind::kMesh, ShapeKind::kCylinder, ShapeKind::kEllipsoid});
    change(scene);
    const Result<CompiledModel> model = compile(scene);
    return model.ok() ? std::string() : model.error().field;
  };
  EXPECT_EQ(field_of([](SceneSpec&) {}), "");
  EXPECT_EQ(field_of([](SceneSpec& s) { s.shapes[5].mesh = "nothing"; }), "shapes[5].mesh");
  EXPECT_EQ(field_of([](SceneSpec& s) { s.shapes[6].mesh = "hull0"; }), "shapes[6].mesh");
  EXPECT_EQ(field_of([](SceneSpec& s) { s.shapes[6].size[1] = -1; }), "shapes[6].size[1]");
  EXPECT_EQ(field_of([](SceneSpec& s) { s.shapes[7].size[2] = 0; }), "shapes[7].size[2]");
  EXPECT_EQ(field_of([](SceneSpec& s) { s.meshes[1].name = "hull0"; }), "meshes[1].name");
  EXPECT_EQ(field_of([](SceneSpec& s) { s.meshes[2].vertices.resize(3); }), "meshes[2].vertices");
}

}  // namespace
}  // namespace axion::model::convex_hull_test
