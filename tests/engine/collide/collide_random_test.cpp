// Random pairs of every kind against bounds that prove the distance; properties that hold for every pair.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "tests/engine/collide/shape_oracle.hpp"

namespace axion::collide::collide_random_test {
namespace {

using namespace oracle;

constexpr int kScenes = 12000;

struct Kinds {
  ShapeKind a, b;
  int most;  // contacts
};

constexpr Kinds kAllKinds[] = {
    {ShapeKind::kPlane, ShapeKind::kSphere, 1},    {ShapeKind::kPlane, ShapeKind::kCapsule, 2},
    {ShapeKind::kPlane, ShapeKind::kBox, 8},       {ShapeKind::kSphere, ShapeKind::kSphere, 1},
    {ShapeKind::kSphere, ShapeKind::kCapsule, 1},  {ShapeKind::kSphere, ShapeKind::kBox, 1},
    {ShapeKind::kCapsule, ShapeKind::kCapsule, 2}, {ShapeKind::kCapsule, ShapeKind::kBox, 3},
    {ShapeKind::kBox, ShapeKind::kBox, 8},
};

std::string name(const Kinds& k) {
  const char* names[] = {"plane", "sphere", "capsule", "box"};
  return std::string(names[static_cast<int>(k.a)]) + "-" + names[static_cast<int>(k.b)];
}

// The greatest of an error over many scenes, printed beside its limit.
struct Error {
  double greatest = 0;
  int scene = -1;
  void add(double e, int at) {
    if (!(e <= greatest)) greatest = e, scene = at;
  }
};

template <typename Real>
double rounding() {
  return sizeof(Real) == 4 ? 2e-6 : 1e-12;
}

// What the choice between features that are nearly as good may cost: one or two points for a capsule on a box, a face
// instead of an edge for boxes (box_pairs.hpp).
double choice(const Scene& s, double gap) {
  const Vec &a = s.a.shape.size, &b = s.b.shape.size;
  const bool boxes = s.a.shape.kind == ShapeKind::kBox && s.b.shape.kind == ShapeKind::kBox;
  if (boxes) return 5e-4 * std::min({a.x, a.y, a.z, b.x, b.y, b.z}) + 1.1e-3 * std::abs(gap);
  const bool capsule_and_box = s.a.shape.kind == ShapeKind::kCapsule && s.b.shape.kind == ShapeKind::kBox;
  return capsule_and_box ? 1.1e-4 * (a.x + b.x) : 0;
}

template <typename Real>
const ContactPoint<Real>& least_of(const Contacts<Real>& c) {
  return *std::min_element(c.points, c.points + c.count, [](const auto& x, const auto& y) { return x.gap < y.gap; });
}

template <typename Real>
class CollideRandom : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CollideRandom, Reals);

// signed_distance = distance <= |p_WA − p_WB| for every two points of the surfaces.
TYPED_TEST(CollideRandom, least_gap_is_the_distance_of_pairs_apart) {
  using Real = TypeParam;
  for (const Kinds& kinds : kAllKinds) {
    std::mt19937 random(1);
    Error above, below;
    int apart = 0;
    for (int i = 0; i < kScenes * 2; ++i) {
      const Scene s = random_scene(kinds.a, kinds.b, random);
      const Contacts<Real> c = collide<Real>(s.a, s.b, Real(10));
      ASSERT_GE(c.count, 1) << name(kinds) << " scene " << i;
      ASSERT_LE(c.count, kinds.most) << name(kinds) << " scene " << i;
      const ContactPoint<Real>& least = least_of(c);
      if (least.gap <= 0) continue;
      ++apart;
      const double distance = math::norm(math::cast<double>(least.p_WA) - math::cast<double>(least.p_WB));
      above.add(least.gap - signed_distance(s.a, s.b) - choice(s, least.gap), i);
      below.add(distance - least.gap - choice(s, least.gap), i);
    }
    std::printf("  %-16s %6d apart: above the distance by %.1e (scene %d), below by %.1e (scene %d)\n",
                name(kinds).c_str(), apart, above.greatest, above.scene, below.greatest, below.scene);
    EXPECT_GE(apart, 10000) << name(kinds);
    // In float32 the perpendicular of edges within 3e-3 rad of each other is not used, which shows here as 8e-6 m.
    const bool boxes_in_float = sizeof(Real) == 4 && kinds.a == ShapeKind::kBox;
    EXPECT_LE(above.greatest, boxes_in_float ? 2e-5 : rounding<Real>()) << name(kinds) << " scene " << above.scene;
    EXPECT_LE(below.greatest, rounding<Real>()) << name(kinds) << " scene " << below.scene;
  }
}

// The depth along the best direction.
TYPED_TEST(CollideRandom, least_gap_of_an_overlap_is_the_least_depth) {
  using Real = TypeParam;
  for (const Kinds& kinds : kAllKinds) {
    std::mt19937 random(2);
    Error deeper, shallower;
    int overlaps = 0;
    for (int i = 0; i < kScenes * 2; ++i) {
      const Scene s = random_scene(kinds.a, kinds.b, random);
      const Contacts<Real> c = collide<Real>(s.a, s.b, Real(0));
      if (c.count == 0) continue;
      const ContactPoint<Real>& least = least_of(c);
      ++overlaps;
      const double depth = signed_distance(s.a, s.b);
      deeper.add(depth - least.gap - choice(s, least.gap), i);
      shallower.add(least.gap - depth - choice(s, least.gap), i);
    }
    std::printf("  %-16s %6d overlap: deeper by %.1e (scene %d), shallower by %.1e (scene %d)\n", name(kinds).c_str(),
                overlaps, deeper.greatest, deeper.scene, shallower.greatest, shallower.scene);
    EXPECT_GE(overlaps, 3500) << name(kinds);
    EXPECT_LE(deeper.greatest, rounding<Real>()) << name(kinds) << " scene " << deeper.scene;
    EXPECT_LE(shallower.greatest, rounding<Real>()) << name(kinds) << " scene " << shallower.scene;
  }
}

// The points lie on the surfaces or, in a deep overlap, inside them, and never outside but for the slack by which a
// vertex beside a face still counts as over it; the gap is what they and the normal say, and the normal is a unit
// vector.
TYPED_TEST(CollideRandom, contacts_say_what_their_points_say) {
  using Real = TypeParam;
  for (const Kinds& kinds : kAllKinds) {
    std::mt19937 random(4);
    Error gap, unit, outside;
    for (int i = 0; i < kScenes; ++i) {
      const Scene s = random_scene(kinds.a, kinds.b, random);
      const Contacts<Real> c = collide<Real>(s.a, s.b, Real(0.05));
      for (int k = 0; k < c.count; ++k) {
        const ContactPoint<Real>& p = c.points[k];
        gap.add(std::abs(double(math::dot(p.normal, p.p_WA - p.p_WB) - p.gap)), i);
        unit.add(std::abs(double(math::norm(p.normal)) - 1), i);
        outside.add(point_distance(s.a, math::cast<double>(p.p_WA)), i);
        outside.add(point_distance(s.b, math::cast<double>(p.p_WB)), i);
        EXPECT_LT(p.gap, Real(0.05));
        EXPECT_LT(p.feature, kFeatureCount);
      }
    }
    std::printf("  %-16s gap %.1e, unit %.1e, outside %.1e (scene %d)\n", name(kinds).c_str(), gap.greatest,
                unit.greatest, outside.greatest, outside.scene);
    EXPECT_LE(gap.greatest, rounding<Real>()) << name(kinds) << " scene " << gap.scene;
    EXPECT_LE(unit.greatest, rounding<Real>()) << name(kinds) << " scene " << unit.scene;
    EXPECT_LE(outside.greatest, 2e-5 + rounding<Real>()) << name(kinds) << " scene " << outside.scene;
  }
}

TYPED_TEST(CollideRandom, features_of_a_pair_are_distinct) {
  using Real = TypeParam;
  for (const Kinds& kinds : kAllKinds) {
    std::mt19937 random(5);
    for (int i = 0; i < kScenes; ++i) {
      const Scene s = random_scene(kinds.a, kinds.b, random);
      const Contacts<Real> c = collide<Real>(s.a, s.b, Real(0.05));
      std::set<std::uint32_t> features;
      for (int k = 0; k < c.count; ++k) features.insert(c.points[k].feature);
      ASSERT_EQ(static_cast<int>(features.size()), c.count) << name(kinds) << " scene " << i;
    }
  }
}

// Pairs of two kinds take one path in either order: the same bits, turned. Pairs of one kind agree in the distance.
TYPED_TEST(CollideRandom, swapping_the_shapes_turns_the_normal) {
  using Real = TypeParam;
  for (const Kinds& kinds : kAllKinds) {
    std::mt19937 random(6);
    Error gap;
    for (int i = 0; i < kScenes; ++i) {
      const Scene s = random_scene(kinds.a, kinds.b, random);
      const Contacts<Real> c = collide<Real>(s.a, s.b, Real(0.05)), d = collide<Real>(s.b, s.a, Real(0.05));
      if (kinds.a != kinds.b) {
        ASSERT_EQ(c.count, d.count) << name(kinds) << " scene " << i;
        for (int k = 0; k < c.count; ++k) {
          ASSERT_EQ(c.points[k].gap, d.points[k].gap);
          ASSERT_EQ(c.points[k].p_WA, d.points[k].p_WB);
          ASSERT_EQ(c.points[k].normal, -d.points[k].normal);
          ASSERT_EQ(c.points[k].feature, d.points[k].feature);
        }
      } else if (c.count > 0 && d.count > 0 && (c.least_gap() > 0 || kinds.a != ShapeKind::kBox)) {
        gap.add(std::abs(double(c.least_gap() - d.least_gap())) - 2 * choice(s, c.least_gap()), i);
      }
    }
    if (kinds.a == kinds.b) std::printf("  %-16s gap differs by %.1e\n", name(kinds).c_str(), gap.greatest);
    EXPECT_LE(gap.greatest, rounding<Real>()) << name(kinds) << " scene " << gap.scene;
  }
}

// The same contacts, moved: in double precision, where rounding does not turn one feature into its equal but rarely.
TEST(CollideRandomDouble, a_common_motion_moves_the_contacts_with_it) {
  for (const Kinds& kinds : kAllKinds) {
    std::mt19937 random(7);
    Error gap, point;
    int differ = 0;
    for (int i = 0; i < kScenes; ++i) {
      const Scene s = random_scene(kinds.a, kinds.b, random);
      const Mat R = math::to_matrix(random_rotation(random));
      const Vec p{1, -2, 3};
      Scene moved = s;
      for (Placed* x : {&moved.a, &moved.b}) x->X = {p + R * x->X.p_WS, R * x->X.R_WS};
      const Contacts<double> c = collide<double>(s.a, s.b, 0.05), d = collide<double>(moved.a, moved.b, 0.05);
      if (c.count > 0 && d.count > 0) gap.add(std::abs(c.least_gap() - d.least_gap()) - choice(s, c.least_gap()), i);
      bool same = c.count == d.count;
      for (int k = 0; same && k < c.count; ++k) same = c.points[k].feature == d.points[k].feature;
      differ += !same;
      for (int k = 0; same && k < c.count; ++k) {
        point.add(math::norm(p + R * c.points[k].p_WA - d.points[k].p_WA), i);
        point.add(math::norm(R * c.points[k].normal - d.points[k].normal), i);
      }
    }
    std::printf("  %-16s gap %.1e, point or normal %.1e (scene %d), %d of %d chose another feature\n",
                name(kinds).c_str(), gap.greatest, point.greatest, point.scene, differ, kScenes);
    EXPECT_LE(gap.greatest, 1e-11) << name(kinds);
    EXPECT_LE(point.greatest, 1e-9) << name(kinds) << " scene " << point.scene;
    EXPECT_LE(differ, kScenes / 20) << name(kinds);
  }
}

// Fewer contacts with a smaller margin, but the same ones: what is kept is decided by the gap alone.
TYPED_TEST(CollideRandom, the_margin_only_filters) {
  using Real = TypeParam;
  for (const Kinds& kinds : kAllKinds) {
    std::mt19937 random(8);
    for (int i = 0; i < kScenes; ++i) {
      const Scene s = random_scene(kinds.a, kinds.b, random);
      const Contacts<Real> all = collide<Real>(s.a, s.b, Real(10)), some = collide<Real>(s.a, s.b, Real(0.01));
      int expected = 0;
      for (int k = 0; k < all.count; ++k) {
        if (all.points[k].gap >= Real(0.01)) continue;
        ASSERT_LT(expected, some.count) << name(kinds) << " scene " << i;
        ASSERT_EQ(all.points[k].feature, some.points[expected].feature) << name(kinds) << " scene " << i;
        ASSERT_EQ(all.points[k].gap, some.points[expected].gap) << name(kinds) << " scene " << i;
        ++expected;
      }
      ASSERT_EQ(expected, some.count) << name(kinds) << " scene " << i;
    }
  }
}

}  // namespace
}  // namespace axion::collide::collide_random_test
