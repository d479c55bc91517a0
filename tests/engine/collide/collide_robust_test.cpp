// Degenerate and hostile inputs stay finite; normals and features do not jump as bodies move by little.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/engine/collide/shape_oracle.hpp"

namespace axion::collide::collide_robust_test {
namespace {

using namespace oracle;

template <typename Real>
bool finite(const math::Vec3<Real>& v) {
  return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z);
}

template <typename Real>
class CollideRobust : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CollideRobust, Reals);

// All pairs of kinds over grids of sizes from nothing to huge, offsets from none to huge, and aligned, quarter and
// nearly aligned turns. Everything returned is finite, and normals are unit vectors.
TYPED_TEST(CollideRobust, nothing_returned_is_ever_not_finite) {
  using Real = TypeParam;
  const Real huge = sizeof(Real) == 4 ? Real(1e30) : Real(1e300), tiny = sizeof(Real) == 4 ? Real(1e-38) : Real(1e-300);
  const Real sizes[] = {0, tiny, Real(1e-8), Real(0.1), 1, huge};
  const Real offsets[] = {0, tiny, -tiny, Real(1e-8), Real(0.1), Real(-0.2), 2, huge, -huge};
  std::mt19937 random(1);
  const auto pick = [&](const auto& list) { return list[random() % std::size(list)]; };
  const auto turn = [&] {
    const Real angles[] = {0, 0, Real(1e-7), Real(1e-3), std::numbers::pi_v<Real> / 4, std::numbers::pi_v<Real> / 2};
    return math::to_matrix(math::exp_rotation(math::Vec3<Real>{pick(angles), pick(angles), pick(angles)}));
  };
  int contacts = 0;
  for (int i = 0; i < 600000; ++i) {
    const Shape<Real> a{static_cast<ShapeKind>(random() % 4), {pick(sizes), pick(sizes), pick(sizes)}};
    const Shape<Real> b{static_cast<ShapeKind>(random() % 4), {pick(sizes), pick(sizes), pick(sizes)}};
    const ShapePose<Real> X_WA{{pick(offsets), pick(offsets), pick(offsets)}, turn()};
    ShapePose<Real> X_WB{{pick(offsets), pick(offsets), pick(offsets)}, turn()};
    if (random() % 2) X_WB = X_WA;
    ContactPoint<Real> points[kMaxPairContacts];
    const int count = collide_pair(a, X_WA, b, X_WB, pick(sizes), points);
    ASSERT_GE(count, 0);
    ASSERT_LE(count, kMaxPairContacts);
    contacts += count;
    for (int k = 0; k < count; ++k) {
      const ContactPoint<Real>& c = points[k];
      ASSERT_TRUE(finite(c.p_WA) && finite(c.p_WB) && finite(c.normal) && std::isfinite(c.gap)) << i;
      ASSERT_NEAR(math::norm(c.normal), 1, 1e-3) << i;
    }
  }
  std::printf("  %d contacts\n", contacts);
  EXPECT_GT(contacts, 100000);
}

// Concentric and crossing shapes of every two kinds, in ordinary sizes, have a contact that parts them.
TYPED_TEST(CollideRobust, coincident_shapes_are_parted) {
  using Real = TypeParam;
  const Shape<Real> shapes[] = {{ShapeKind::kSphere, {Real(0.1), 0, 0}},
                                {ShapeKind::kCapsule, {Real(0.1), Real(0.3), 0}},
                                {ShapeKind::kBox, {Real(0.2), Real(0.1), Real(0.3)}}};
  const math::Mat3<Real> turned = math::to_matrix(math::exp_rotation(math::Vec3<Real>{1, Real(0.5), 0}));
  for (const Shape<Real>& a : shapes) {
    for (const Shape<Real>& b : shapes) {
      for (const math::Mat3<Real>& R : {math::Mat3<Real>::identity(), turned}) {
        ContactPoint<Real> points[kMaxPairContacts];
        const math::Vec3<Real> p{1, 2, 3};
        const int count = collide_pair(a, {p, R}, b, {p, math::Mat3<Real>::identity()}, Real(0), points);
        ASSERT_GE(count, 1);
        EXPECT_LT(points[0].gap, Real(-0.05));
      }
    }
  }
}

bool same_bits(const Contacts<double>& c, const Contacts<double>& d) {
  return c.count == d.count && std::equal(c.points, c.points + c.count, d.points, [](const auto& x, const auto& y) {
           return x.p_WA == y.p_WA && x.p_WB == y.p_WB && x.normal == y.normal && x.gap == y.gap &&
                  x.feature == y.feature;
         });
}

constexpr std::pair<ShapeKind, ShapeKind> kPairs[] = {
    {ShapeKind::kPlane, ShapeKind::kSphere},    {ShapeKind::kPlane, ShapeKind::kCapsule},
    {ShapeKind::kPlane, ShapeKind::kBox},       {ShapeKind::kSphere, ShapeKind::kSphere},
    {ShapeKind::kSphere, ShapeKind::kCapsule},  {ShapeKind::kSphere, ShapeKind::kBox},
    {ShapeKind::kCapsule, ShapeKind::kCapsule}, {ShapeKind::kCapsule, ShapeKind::kBox},
    {ShapeKind::kBox, ShapeKind::kBox},
};

TEST(CollideStability, equal_inputs_give_equal_bits) {
  for (const auto& [kind_a, kind_b] : kPairs) {
    std::mt19937 random(9);
    for (int i = 0; i < 1000; ++i) {
      const Scene s = random_scene(kind_a, kind_b, random);
      ASSERT_TRUE(same_bits(collide<double>(s.a, s.b, 0.05), collide<double>(s.a, s.b, 0.05)));
    }
  }
}

// A body that falls onto another along the contact normal, from 0.2 mm apart to 0.2 mm deep: the gap falls as the body
// does, and the normal stays. The exceptions are two boxes that meet corner to corner or
// corner to edge: apart, the nearest points give the direction; an overlap has none of its own. They are counted.
TEST(CollideStability, gap_and_normal_pass_through_zero_without_a_jump) {
  for (const auto& [kind_a, kind_b] : kPairs) {
    std::mt19937 random(10);
    int passed = 0, jumped = 0;
    double greatest = 0;
    for (int i = 0; i < 3000; ++i) {
      Scene s = random_scene(kind_a, kind_b, random);
      const Contacts<double> first = collide<double>(s.a, s.b, 1.0);
      if (first.count == 0 || first.least_gap() < 1e-3) continue;
      const auto least = std::min_element(first.points, first.points + first.count,
                                          [](const auto& x, const auto& y) { return x.gap < y.gap; });
      const Vec n = least->normal;
      s.a.X.p_WS -= (least->gap - 2e-4) * n;
      bool jump = false;
      double error = 0;
      for (int step = 0; step <= 40; ++step) {
        const Contacts<double> c = collide<double>(s.a, s.b, 0.01);
        const double gap = 2e-4 - step * 1e-5;
        const auto now =
            std::min_element(c.points, c.points + c.count, [](const auto& x, const auto& y) { return x.gap < y.gap; });
        jump = jump || c.count == 0 || math::dot(now->normal, n) < 0.999;
        if (!jump) error = std::max(error, std::abs(now->gap - gap));
        s.a.X.p_WS -= 1e-5 * n;
      }
      ++passed;
      jumped += jump;
      if (!jump) greatest = std::max(greatest, error);
    }
    const char* names[] = {"plane", "sphere", "capsule", "box"};
    std::printf("  %s-%s: %d falls, gap within %.1e m, %d turned\n", names[int(kind_a)], names[int(kind_b)], passed,
                greatest, jumped);
    const bool boxes = kind_a == ShapeKind::kBox;
    EXPECT_GE(passed, 1000);
    EXPECT_LE(greatest, boxes ? 1e-4 : 3e-5);
    EXPECT_LE(jumped, boxes ? passed / 4 : 0);
  }
}

// A box that lies on another and is rocked by less than a micrometre keeps its contacts, their order and their names.
TEST(CollideStability, features_and_order_survive_rounding_sized_motion) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 2000; ++i) {
    Placed a{random_shape(ShapeKind::kBox, random), {}}, b{random_shape(ShapeKind::kBox, random), {}};
    const bool equal = i % 2 == 0;  // the hard case: every vertex over a vertex
    if (equal) b.shape = a.shape;
    a.X = {{equal ? 0 : 0.013, equal ? 0 : 0.007, a.shape.size.z + b.shape.size.z}, Mat::identity()};
    b.X = {{0, 0, 0}, Mat::identity()};
    const Contacts<double> rest = collide<double>(a, b, 0.005);
    ASSERT_GE(rest.count, 4) << i;
    for (int k = 0; k < 10; ++k) {
      Placed moved = a;
      const Vec rock{normal(random), normal(random), normal(random)};
      moved.X.R_WS = math::to_matrix(math::exp_rotation(1e-7 * rock));
      moved.X.p_WS += 1e-7 * Vec{normal(random), normal(random), normal(random)};
      const Contacts<double> now = collide<double>(moved, b, 0.005);
      ASSERT_EQ(now.count, rest.count) << i;
      for (int c = 0; c < rest.count; ++c) {
        ASSERT_EQ(now.points[c].feature, rest.points[c].feature) << i;
        ASSERT_LE(math::norm(now.points[c].p_WA - rest.points[c].p_WA), 1e-5) << i;
      }
    }
  }
}

// The bounding spheres never turn away a pair that has a contact.
TEST(CollideBroad, may_touch_is_conservative) {
  for (const auto& [kind_a, kind_b] : kPairs) {
    std::mt19937 random(12);
    int touching = 0, turned_away = 0;
    for (int i = 0; i < 20000; ++i) {
      Scene s = random_scene(kind_a, kind_b, random);
      const double away = i / 20000.0;
      if (kind_a == ShapeKind::kPlane) s.b.X.p_WS += 0.3 * away * s.a.X.R_WS.column(2);
      s.a.X.p_WS = (1 + 0.5 * away) * s.a.X.p_WS;
      const double margin = 0.03;
      const Contacts<double> far = collide<double>(s.a, s.b, 10.0);  // no test turns these away
      const bool touches = far.least_gap() < margin, may = may_touch(s.a.shape, s.a.X, s.b.shape, s.b.X, margin);
      ASSERT_TRUE(may || !touches);
      touching += touches, turned_away += !may;
    }
    EXPECT_GT(touching, 100);
    EXPECT_GT(turned_away, 100);
  }
}

}  // namespace
}  // namespace axion::collide::collide_robust_test
