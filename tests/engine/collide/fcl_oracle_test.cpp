// Distances, normals and depths of random pairs of all kinds beside those of FCL.
#include <gtest/gtest.h>

#include "tests/engine/collide/fcl_oracle.hpp"

namespace axion::collide::fcl_oracle_test {
namespace {

using namespace fcl_oracle;

constexpr int kScenes = 600;  // of each pair; axion-collision has a hundred thousand

template <typename Real>
void compare_all() {
  for (int ka = 1; ka < 7; ++ka) {
    for (int kb = std::max(ka, 4); kb < 7; ++kb) {
      Comparison c;
      for (int i = 0; i < kScenes; ++i) {
        Scenes scenes(static_cast<unsigned>(1000 * i + 10 * ka + kb));
        Body a = scenes.body(static_cast<ShapeKind>(ka)), b = scenes.body(static_cast<ShapeKind>(kb));
        scenes.place(a, b);
        compare<Real>(a, b, ask(a, b), c);
      }
      const std::string pair =
          std::string(name_of(static_cast<ShapeKind>(ka))) + "-" + name_of(static_cast<ShapeKind>(kb));
      EXPECT_GT(c.apart, kScenes / 2) << pair;
      EXPECT_GT(c.overlapping, kScenes / 20) << pair;
      EXPECT_EQ(c.missed, 0) << pair;
      // The choice of the points of a face is by half a thousandth of the least size, at most 0.15 mm here
      // (convex_pairs.hpp).
      EXPECT_LT(c.distance, 2e-4) << pair;
      EXPECT_LT(c.normal, sizeof(Real) == 4 ? 2e-4 : 1e-4) << pair;
      EXPECT_LT(quantile(c.angles, 0.99), sizeof(Real) == 4 ? 5e-3 : 1e-3) << pair;
      // Never noticeably deeper where the overlap is shallow, and seldom where it is deep.
      EXPECT_LT(quantile(c.excess, 0.9), 0.02) << pair;
      EXPECT_LT(c.off_surface, 5e-6)
          << pair;  // a clipped point keeps within a ten-thousandth of the least size of the edge
    }
  }
}

TEST(FclOracle, double_agrees) { compare_all<double>(); }
TEST(FclOracle, float_agrees) { compare_all<float>(); }

// A plane meets the point of a shape that is farthest down: by its support function.
template <typename Real>
void compare_planes() {
  for (int kind = 4; kind < 7; ++kind) {
    double worst = 0;
    for (int i = 0; i < 3000; ++i) {
      Scenes scenes(static_cast<unsigned>(i));
      Body plane, body = scenes.body(static_cast<ShapeKind>(kind)), other = scenes.body(ShapeKind::kSphere);
      scenes.place(body, other);
      plane.kind = ShapeKind::kPlane, plane.X = other.X;
      const Vec up = plane.X.R_WS.column(2);
      const double gap = 0.03 * (i % 100 - 40) / 100;
      body.X.p_WS = plane.X.p_WS + (body.support(-up) + gap) * up;
      ContactPoint<Real> points[kMaxPairContacts];
      const int count = collide_pair(plane.shape<Real>(), plane.pose<Real>(), body.shape<Real>(), body.pose<Real>(),
                                     static_cast<Real>(0.05), points);
      ASSERT_GT(count, 0) << name_of(body.kind) << i;
      ASSERT_LE(count, kMaxPairContacts);
      double least = 1;
      for (int k = 0; k < count; ++k) {
        least = std::min(least, static_cast<double>(points[k].gap));
        for (int l = 0; l < k; ++l) EXPECT_NE(points[k].feature, points[l].feature);
      }
      worst = std::max(worst, std::abs(least - gap));
    }
    // A cylinder that lies flat to a thousandth takes the points of its axes, and a hull of deepest vertices that
    // differ by a ten-thousandth of its depth the first.
    EXPECT_LT(worst, 1e-4) << name_of(static_cast<ShapeKind>(kind));
  }
}

TEST(FclOracle, planes_meet_the_lowest_point) {
  compare_planes<double>();
  compare_planes<float>();
}

// A body that does not move keeps its contacts' names; so does one that moves by rounding.
TEST(FclOracle, features_of_faces_at_rest_survive_rounding_sized_motion) {
  for (const ShapeKind kind : {ShapeKind::kCylinder, ShapeKind::kMesh}) {
    int same = 0, of = 0;
    for (int i = 0; i < 200; ++i) {
      Scenes scenes(static_cast<unsigned>(i));
      Body floor = scenes.body(ShapeKind::kBox), body = scenes.body(kind);
      floor.size = {0.5, 0.4, 0.1}, floor.X.R_WS = body.X.R_WS = math::Mat3<double>::identity();
      floor.X.p_WS = {}, body.X.p_WS = {0.01, 0.02, 0.1 + body.support({0, 0, -1}) - 1e-6};
      ContactPoint<float> first[kMaxPairContacts], again[kMaxPairContacts];
      const auto collide = [&](ContactPoint<float>* out) {
        return collide_pair(floor.shape<float>(), floor.pose<float>(), body.shape<float>(), body.pose<float>(), 0.01f,
                            out);
      };
      const int count = collide(first);
      ASSERT_GT(count, 0);
      body.X.p_WS += Vec{1e-7, -2e-7, 1e-7};
      body.X.R_WS = math::to_matrix(math::exp_rotation(Vec{1e-7, 2e-7, -1e-7}));
      ASSERT_EQ(collide(again), count);
      for (int k = 0; k < count; ++k, ++of) same += first[k].feature == again[k].feature ? 1 : 0;
    }
    EXPECT_GT(same, 98 * of / 100) << name_of(kind);
  }
}

}  // namespace
}  // namespace axion::collide::fcl_oracle_test
