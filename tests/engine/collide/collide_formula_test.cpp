// Contacts of simple placements, worked out by hand, in both precisions.
#include <gtest/gtest.h>

#include <array>

#include "tests/engine/collide/shape_oracle.hpp"

namespace axion::collide::collide_formula_test {
namespace {

using model::ShapeKind;
using oracle::Contacts;

template <typename Real>
class CollideFormula : public ::testing::Test {
 protected:
  using Vec = math::Vec3<Real>;
  using Pose = ShapePose<Real>;

  static constexpr Real kTolerance = sizeof(Real) == 4 ? Real(1e-6) : Real(1e-14);
  static Shape<Real> plane() { return {ShapeKind::kPlane, {}}; }
  static Shape<Real> sphere(Real radius) { return {ShapeKind::kSphere, {radius, 0, 0}}; }
  static Shape<Real> capsule(Real radius, Real half) { return {ShapeKind::kCapsule, {radius, half, 0}}; }
  static Shape<Real> box(Real x, Real y, Real z) { return {ShapeKind::kBox, {x, y, z}}; }
  static Pose at(Real x, Real y, Real z) { return {{x, y, z}, math::Mat3<Real>::identity()}; }
  static Pose turned(Pose pose, Real x, Real y, Real z) {
    pose.R_WS = math::to_matrix(math::exp_rotation(Vec{x, y, z}));
    return pose;
  }
  // The capsule's axis along x.
  static Pose lying(Real x, Real y, Real z) { return turned(at(x, y, z), 0, std::numbers::pi_v<Real> / 2, 0); }
  static Contacts<Real> collide(const Shape<Real>& a, const Pose& X_WA, const Shape<Real>& b, const Pose& X_WB,
                                Real margin = Real(0.05)) {
    Contacts<Real> c;
    c.count = collide_pair(a, X_WA, b, X_WB, margin, c.points);
    return c;
  }
  static void expect_near(const Vec& a, const Vec& b) { EXPECT_LE(math::norm(a - b), kTolerance); }
  static void expect_contact(const ContactPoint<Real>& c, const Vec& p_WA, const Vec& p_WB, const Vec& normal,
                             Real gap) {
    expect_near(c.p_WA, p_WA);
    expect_near(c.p_WB, p_WB);
    expect_near(c.normal, normal);
    EXPECT_NEAR(c.gap, gap, kTolerance);
  }
};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CollideFormula, Reals);

TYPED_TEST(CollideFormula, sphere_on_a_plane) {
  const auto c = this->collide(this->sphere(0.5), this->at(1, 2, 0.53), this->plane(), this->at(7, 8, 0));
  ASSERT_EQ(c.count, 1);
  this->expect_contact(c.points[0], {1, 2, 0.03}, {1, 2, 0}, {0, 0, 1}, 0.03);
}

TYPED_TEST(CollideFormula, sphere_below_a_plane_is_pushed_up) {
  const auto c = this->collide(this->sphere(0.5), this->at(1, 2, -3), this->plane(), this->at(7, 8, 0));
  ASSERT_EQ(c.count, 1);
  this->expect_contact(c.points[0], {1, 2, -3.5}, {1, 2, 0}, {0, 0, 1}, -3.5);
}

TYPED_TEST(CollideFormula, two_spheres) {
  const auto c = this->collide(this->sphere(0.5), this->at(0, 0, 0), this->sphere(0.25), this->at(0.6, 0, 0));
  ASSERT_EQ(c.count, 1);
  this->expect_contact(c.points[0], {0.5, 0, 0}, {0.35, 0, 0}, {-1, 0, 0}, -0.15);
  EXPECT_EQ(this->collide(this->sphere(0.5), this->at(0, 0, 0), this->sphere(0.25), this->at(0.81, 0, 0)).count, 0);
}

TYPED_TEST(CollideFormula, sphere_beside_and_beyond_a_capsule) {
  const auto beside =
      this->collide(this->sphere(0.1), this->at(0.31, 0, 0.4), this->capsule(0.2, 0.5), this->at(0, 0, 0));
  ASSERT_EQ(beside.count, 1);
  this->expect_contact(beside.points[0], {0.21, 0, 0.4}, {0.2, 0, 0.4}, {1, 0, 0}, 0.01);
  const auto beyond =
      this->collide(this->sphere(0.1), this->at(0, 0, 0.79), this->capsule(0.2, 0.5), this->at(0, 0, 0));
  ASSERT_EQ(beyond.count, 1);
  this->expect_contact(beyond.points[0], {0, 0, 0.69}, {0, 0, 0.7}, {0, 0, 1}, -0.01);
}

TYPED_TEST(CollideFormula, sphere_at_a_box_face_edge_and_inside) {
  const auto box = this->box(1, 1, 1);
  const auto face = this->collide(this->sphere(0.1), this->at(0.3, 0.2, 1.12), box, this->at(0, 0, 0));
  ASSERT_EQ(face.count, 1);
  this->expect_contact(face.points[0], {0.3, 0.2, 1.02}, {0.3, 0.2, 1}, {0, 0, 1}, 0.02);
  const auto edge = this->collide(this->sphere(0.5), this->at(1.3, 0, 1.4), box, this->at(0, 0, 0));
  ASSERT_EQ(edge.count, 1);
  this->expect_contact(edge.points[0], {1, 0, 1}, {1, 0, 1}, {0.6, 0, 0.8}, 0);
  const auto inside = this->collide(this->sphere(0.1), this->at(0, -0.75, 0.1), box, this->at(0, 0, 0));
  ASSERT_EQ(inside.count, 1);
  this->expect_contact(inside.points[0], {0, -0.65, 0.1}, {0, -1, 0.1}, {0, -1, 0}, -0.35);
}

TYPED_TEST(CollideFormula, capsule_on_a_plane_touches_at_both_ends) {
  const auto c = this->collide(this->capsule(0.2, 0.5), this->lying(1, 0, 0.21), this->plane(), this->at(0, 0, 0));
  ASSERT_EQ(c.count, 2);
  this->expect_contact(c.points[0], {0.5, 0, 0.01}, {0.5, 0, 0}, {0, 0, 1}, 0.01);
  this->expect_contact(c.points[1], {1.5, 0, 0.01}, {1.5, 0, 0}, {0, 0, 1}, 0.01);
}

TYPED_TEST(CollideFormula, crossed_capsules_touch_once) {
  const auto c = this->collide(this->capsule(0.2, 0.5), this->lying(0.1, 0, 0.29), this->capsule(0.1, 0.5),
                               this->turned(this->at(0, 0.2, 0), std::numbers::pi_v<TypeParam> / 2, 0, 0));
  ASSERT_EQ(c.count, 1);
  this->expect_contact(c.points[0], {0, 0, 0.09}, {0, 0, 0.1}, {0, 0, 1}, -0.01);
}

TYPED_TEST(CollideFormula, parallel_capsules_touch_at_both_ends_of_their_overlap) {
  const auto c =
      this->collide(this->capsule(0.2, 0.5), this->lying(0.3, 0, 0.31), this->capsule(0.1, 0.4), this->lying(0, 0, 0));
  ASSERT_EQ(c.count, 2);
  this->expect_contact(c.points[0], {-0.2, 0, 0.11}, {-0.2, 0, 0.1}, {0, 0, 1}, 0.01);
  this->expect_contact(c.points[1], {0.4, 0, 0.11}, {0.4, 0, 0.1}, {0, 0, 1}, 0.01);
}

TYPED_TEST(CollideFormula, capsules_in_line_touch_at_their_caps) {
  const auto c =
      this->collide(this->capsule(0.2, 0.5), this->at(0, 0, 1.22), this->capsule(0.1, 0.4), this->at(0, 0, 0));
  ASSERT_EQ(c.count, 1);
  this->expect_contact(c.points[0], {0, 0, 0.52}, {0, 0, 0.5}, {0, 0, 1}, 0.02);
}

// Longer than the box: supported where it leaves the face.
TYPED_TEST(CollideFormula, capsule_across_a_box_touches_at_the_rims_of_the_face) {
  const auto c =
      this->collide(this->capsule(0.1, 2), this->lying(0, 0, 0.59), this->box(0.4, 0.3, 0.5), this->at(0, 0, 0));
  ASSERT_EQ(c.count, 2);
  this->expect_contact(c.points[0], {-0.4, 0, 0.49}, {-0.4, 0, 0.5}, {0, 0, 1}, -0.01);
  this->expect_contact(c.points[1], {0.4, 0, 0.49}, {0.4, 0, 0.5}, {0, 0, 1}, -0.01);
}

TYPED_TEST(CollideFormula, capsule_along_a_box_edge_touches_twice) {
  const auto c =
      this->collide(this->capsule(0.5, 0.2), this->lying(0, 0.6, 0.9), this->box(0.4, 0.3, 0.5), this->at(0, 0, 0));
  ASSERT_EQ(c.count, 2);
  this->expect_contact(c.points[0], {-0.2, 0.3, 0.5}, {-0.2, 0.3, 0.5}, {0, 0.6, 0.8}, 0);
  this->expect_contact(c.points[1], {0.2, 0.3, 0.5}, {0.2, 0.3, 0.5}, {0, 0.6, 0.8}, 0);
}

TYPED_TEST(CollideFormula, capsule_through_a_box_leaves_by_the_nearest_face) {
  const auto c = this->collide(this->capsule(0.1, 2), this->lying(0, 0, 0.4), this->box(1, 1, 0.5), this->at(0, 0, 0));
  ASSERT_EQ(c.count, 2);
  this->expect_contact(c.points[0], {-1, 0, 0.3}, {-1, 0, 0.5}, {0, 0, 1}, -0.2);
  this->expect_contact(c.points[1], {1, 0, 0.3}, {1, 0, 0.5}, {0, 0, 1}, -0.2);
}

TYPED_TEST(CollideFormula, box_at_rest_on_a_plane_has_four_corners_at_gap_zero) {
  const auto c = this->collide(this->box(0.5, 0.25, 0.125), this->at(3, 4, 0.125), this->plane(), this->at(0, 0, 0));
  ASSERT_EQ(c.count, 4);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(c.points[k].gap, 0);
    EXPECT_EQ(c.points[k].feature, std::uint32_t(k));
    this->expect_contact(c.points[k], {TypeParam(k & 1 ? 3.5 : 2.5), TypeParam(k & 2 ? 4.25 : 3.75), 0},
                         {TypeParam(k & 1 ? 3.5 : 2.5), TypeParam(k & 2 ? 4.25 : 3.75), 0}, {0, 0, 1}, 0);
  }
}

TYPED_TEST(CollideFormula, box_at_rest_on_a_box_has_four_contacts_at_gap_zero) {
  using Real = TypeParam;
  const auto small = this->box(0.25, 0.25, 0.125), large = this->box(1, 1, 0.5);
  for (const auto& lower : {large, small}) {
    const auto c = this->collide(small, this->at(0, 0, lower.size.z + Real(0.125)), lower, this->at(0, 0, 0));
    ASSERT_EQ(c.count, 4);
    for (int k = 0; k < 4; ++k) {
      EXPECT_EQ(c.points[k].gap, 0);
      this->expect_near(c.points[k].normal, {0, 0, 1});
      EXPECT_EQ(std::abs(c.points[k].p_WA.x), Real(0.25));
      EXPECT_EQ(std::abs(c.points[k].p_WA.y), Real(0.25));
    }
  }
}

// Turned by 45 degrees, the common patch of two equal squares is an octagon.
TYPED_TEST(CollideFormula, box_turned_on_its_equal_has_eight_contacts) {
  using Real = TypeParam;
  const auto box = this->box(0.5, 0.5, 0.5);
  const auto c = this->collide(box, this->turned(this->at(0, 0, 1.01), 0, 0, std::numbers::pi_v<Real> / 4), box,
                               this->at(0, 0, 0));
  ASSERT_EQ(c.count, 8);
  const Real side = Real(std::numbers::sqrt2 / 2 - 0.5);  // of the corner that is cut off, along the square's side
  for (int k = 0; k < 8; ++k) {
    EXPECT_NEAR(c.points[k].gap, 0.01, this->kTolerance);
    const Real x = std::abs(c.points[k].p_WB.x), y = std::abs(c.points[k].p_WB.y);
    EXPECT_NEAR(std::max(x, y), 0.5, this->kTolerance);
    EXPECT_NEAR(std::min(x, y), side, this->kTolerance);
  }
}

// Two boxes, each standing on an edge, the edges crossed.
TYPED_TEST(CollideFormula, crossed_box_edges_touch_once_before_and_after_they_meet) {
  using Real = TypeParam;
  const Real quarter = std::numbers::pi_v<Real> / 4, reach = Real(std::numbers::sqrt2 / 2);
  const auto box = this->box(0.5, 0.5, 0.5);
  for (const Real gap : {Real(0.02), Real(-0.02)}) {
    const auto c = this->collide(box, this->turned(this->at(0, 0, 2 * reach + gap), quarter, 0, 0), box,
                                 this->turned(this->at(0, 0, 0), 0, quarter, 0));
    ASSERT_EQ(c.count, 1);
    this->expect_contact(c.points[0], {0, 0, reach + gap}, {0, 0, reach}, {0, 0, 1}, gap);
  }
}

// Apart along a diagonal: no face sees the other, and yet a fall along the diagonal must find a contact.
TYPED_TEST(CollideFormula, boxes_apart_along_a_diagonal_touch_along_it) {
  const auto box = this->box(0.5, 0.5, 0.5);
  const auto edges = this->collide(box, this->at(1.03, 0.2, 1.04), box, this->at(0, 0, 0), TypeParam(0.06));
  ASSERT_EQ(edges.count, 2);  // the ends of the parallel edges' overlap
  for (int k = 0; k < 2; ++k) {
    this->expect_near(edges.points[k].normal, {0.6, 0, 0.8});
    EXPECT_NEAR(edges.points[k].gap, 0.05, this->kTolerance);
  }
  const auto corners = this->collide(box, this->at(1.02, 1.03, 1.06), box, this->at(0, 0, 0), TypeParam(0.08));
  ASSERT_EQ(corners.count, 1);
  this->expect_contact(corners.points[0], {0.52, 0.53, 0.56}, {0.5, 0.5, 0.5},
                       {TypeParam(2.0 / 7), TypeParam(3.0 / 7), TypeParam(6.0 / 7)}, 0.07);
}

// Far from the origin, where float32 has a grid of 0.5 mm, the gap is that of the given positions to the last bits.
TEST(CollideFar, gap_far_from_the_origin_is_exact_in_float32) {
  const Shape<float> sphere{ShapeKind::kSphere, {0.25f, 0, 0}}, box{ShapeKind::kBox, {0.25f, 0.25f, 0.25f}};
  const Shape<float> capsule{ShapeKind::kCapsule, {0.25f, 0.5f, 0}}, plane{ShapeKind::kPlane, {}};
  const auto at = [](float x, float z) { return ShapePose<float>{{x, 4096.f, z}, math::Mat3<float>::identity()}; };
  const ShapePose<float> ground = at(8192.f, 2048.f), above = at(8192.f, 2048.501953125f);
  float greatest = 0;
  const auto gap_of = [&](const Shape<float>& a, const Shape<float>& b, const ShapePose<float>& X_WA) {
    ContactPoint<float> points[kMaxPairContacts];
    const int count = collide_pair(a, X_WA, b, ground, 0.05f, points);
    EXPECT_GE(count, 1);
    for (int k = 0; k < count; ++k) greatest = std::max(greatest, std::abs(points[k].gap - 0.001953125f));
  };
  gap_of(sphere, sphere, above);
  gap_of(sphere, box, above);
  gap_of(box, box, above);
  gap_of(capsule, box, at(8192.f, 2049.001953125f));
  gap_of(capsule, capsule, {{8192.501953125f, 4096.f, 2048.f}, math::Mat3<float>::identity()});
  gap_of(sphere, plane, at(8192.f, 2048.251953125f));
  gap_of(box, plane, at(8192.f, 2048.251953125f));
  std::printf("  greatest error of a gap 8 km from the origin: %.1e m\n", double(greatest));
  EXPECT_LE(greatest, 1e-7f);
}

}  // namespace
}  // namespace axion::collide::collide_formula_test
