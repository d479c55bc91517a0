// Hulls that stand flush on equal ones, apart or in each other by rounding: their contacts are those of the faces that
// look at each other, and no depth is more than what would part them along a direction that is known to part them. So
// are those of cylinders.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "engine/collide/collide_pair.hpp"
#include "engine/math/quat.hpp"
#include "engine/model/compile_hulls.hpp"

namespace axion::collide::flush_hulls_test {
namespace {

using model::ShapeKind;
using Vec = math::Vec3<double>;

// A prism over a regular polygon of radius 0.1 m, 0.2 m tall along z; with four corners a cube's sides are its faces.
struct Prism {
  std::vector<Vec> vertices, normals;  // of its caps, then of its sides
};

Prism prism_of(int corners) {
  Prism prism;
  const double apothem = 0.1, radius = apothem / std::cos(M_PI / corners);
  for (int i = 0; i < corners; ++i) {
    const double angle = 2 * M_PI * i / corners, side = angle + M_PI / corners;
    for (const double z : {-0.1, 0.1})
      prism.vertices.push_back({radius * std::cos(angle), radius * std::sin(angle), z});
    prism.normals.push_back({std::cos(side), std::sin(side), 0});
  }
  prism.normals.push_back({0, 0, 1});
  return prism;
}

// As the narrow phase has it; its numbers are as `Real` rounds them.
template <typename Real>
struct Hulled {
  std::vector<Real> numbers;
  Shape<Real> shape;
  Vec centre;

  explicit Hulled(const Prism& prism) {
    std::vector<model::MeshSpec> meshes(1);
    meshes[0].name = "prism";
    for (const Vec& p : prism.vertices) meshes[0].vertices.push_back({p.x, p.y, p.z});
    const model::CompiledHulls hulls = model::compile_hulls(meshes).value();
    const model::CompiledHull& hull = hulls.by_name.at("prism");
    numbers.assign(hulls.vertices.begin(), hulls.vertices.end());
    shape = {ShapeKind::kMesh, {Real(hull.depth), Real(hull.radius), 0}, {nullptr, hull.stride, hull.count}};
    centre = hull.centroid;
  }
  Shape<Real> at() const {
    Shape<Real> placed = shape;
    placed.hull.x = numbers.data();
    return placed;
  }
};

template <typename Real>
class FlushHulls : public ::testing::Test {};
using Reals = ::testing::Types<double, float>;
TYPED_TEST_SUITE(FlushHulls, Reals);

// Two equal prisms side by side along one of their normals, `gap` apart, at places and in turns at which the rounding
// of poses differs. No two of their points are further apart than 1 m, of which float32 rounds 6e-8: of the depth as of
// the direction, over 0.1 m, there may be ten times that.
TYPED_TEST(FlushHulls, have_the_contacts_of_the_faces_that_look_at_each_other) {
  using Real = TypeParam;
  const double rounding = sizeof(Real) == sizeof(float) ? 6e-7 : 1e-12;
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  int pairs = 0;
  for (const int corners : {3, 4, 5, 6, 8}) {
    const Prism prism = prism_of(corners);
    const Hulled<Real> hulled(prism);
    for (int k = 0; k < 240; ++k) {
      const bool turned = k % 2 == 1;
      math::Quat<double> q{1, 0, 0, 0};
      if (turned) q = math::normalized(math::Quat<double>{normal(random), normal(random), normal(random), 1});
      const Vec n = math::rotate(q, prism.normals[std::size_t(k) % prism.normals.size()]);
      const Vec p{uniform(random), uniform(random), uniform(random)};
      // Along a side of an odd polygon the other one is turned by half a turn.
      const bool side = std::size_t(k) % prism.normals.size() != std::size_t(corners);
      const math::Quat<double> half =
          side && corners % 2 == 1 ? math::Quat<double>{0, 0, 0, 1} : math::Quat<double>{1, 0, 0, 0};
      const double gap = k % 3 == 0 ? 0 : (k % 3 == 1 ? 1e-7 : -1e-7);
      const auto pose = [&](const Vec& at, const math::Quat<double>& turn) {
        const math::Quat<double> whole = q * turn;
        return ShapePose<Real>{math::cast<Real>(at + math::rotate(whole, hulled.centre)),
                               math::to_matrix(math::normalized(math::cast<Real>(whole)))};
      };
      ContactPoint<Real> points[kMaxPairContacts];
      const int count = collide_pair(hulled.at(), pose(p + (0.2 + gap) * n, half), hulled.at(), pose(p, {1, 0, 0, 0}),
                                     Real(0.01), points);
      ++pairs;
      ASSERT_GE(count, corners == 4 ? 4 : 2) << corners << " corners, pair " << k;
      for (int i = 0; i < count; ++i) {
        EXPECT_NEAR(double(points[i].gap), gap, rounding) << corners << " corners, pair " << k;
        EXPECT_LT(math::norm(math::cast<double>(points[i].normal) - n), 1e-5) << corners << " corners, pair " << k;
      }
    }
  }
  EXPECT_EQ(pairs, 1200);
}

// A cylinder that stands on a box, half beyond its edge, apart from it or in it by micrometres: its rim is not in the
// edge. What separates them along any direction is a lower bound of the gap; float32 rounds places of 0.4 m by 3e-8 m.
TYPED_TEST(FlushHulls, and_rims_over_an_edge_are_as_deep_as_their_face) {
  using Real = TypeParam;
  const Shape<Real> cylinder{ShapeKind::kCylinder, {Real(0.1), Real(0.1), 0}};
  const Shape<Real> box{ShapeKind::kBox, {Real(0.25), 1, Real(0.1)}};
  for (const double height : {1e-5, 1e-6, 1e-8, 0.0, -1e-7, -3e-6}) {
    for (const double y : {0.013, 0.4, 0.95}) {
      for (int k = 0; k < 65; ++k) {
        const double beyond = k < 40 ? -5e-4 + k * 4e-5 : (k - 40) * 1e-3;  // of the edge, m
        ContactPoint<Real> points[kMaxPairContacts];
        const int count =
            collide_pair(cylinder, {math::cast<Real>(Vec{beyond, y, 0.1 + height}), math::Mat3<Real>::identity()}, box,
                         {math::cast<Real>(Vec{0.35, 0, -0.1}), math::Mat3<Real>::identity()}, Real(0.02), points);
        ASSERT_GT(count, 0) << height << " " << y << " " << beyond;
        const double gap = beyond > 0 ? height : std::hypot(beyond, std::max(height, 0.0));
        for (int i = 0; i < count; ++i) {
          EXPECT_GT(double(points[i].gap), gap - 2e-6) << height << " " << y << " " << beyond;
        }
      }
    }
  }
}

}  // namespace
}  // namespace axion::collide::flush_hulls_test
