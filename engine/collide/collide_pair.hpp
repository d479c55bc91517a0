// collide_pair: the narrow phase. Contacts of two shapes whose gap is below a margin.
//
// The gap g = n · (p_WA − p_WB) is that of a constraint which is made ahead of touching: contacts with 0 <= g < margin
// are as good as overlapping ones. The least gap of a pair apart is its distance (boxes: to 4e-4 of the least half
// extent and 1e-3 of the gap; capsules: to 1e-4 of the radii); of an overlapping pair, the depth along the direction of
// least overlap (boxes: over the clipped face; cylinders, ellipsoids and meshes: in 99 of 100 deep overlaps to half a
// percent of the lesser least size; portal.hpp). Inputs and outputs are SI, in
// the world frame. Gaps come from differences of positions taken first, so that in float32 a pair far from the origin
// loses only what its poses have lost.
//
// At most 1 contact with a sphere or an ellipsoid, 2 for plane-capsule and capsule-capsule, 3 for capsule-box, 8 for
// plane-box and box-box, 4 for other pairs with a cylinder or a mesh; with a height field 4 of a sphere or an
// ellipsoid, 8 of others. Two planes never touch, nor do planes and height fields.
//
// A pure function of its arguments, the same on a host and a device. May be called by the step's collision stage and
// tests. It does not fail: directions that the geometry leaves open (concentric spheres, crossing axes) are chosen;
// a contact that overflows the real type is dropped, so that everything returned is finite.
#pragma once

#include "engine/collide/box_pairs.hpp"
#include "engine/collide/capsule_box.hpp"
#include "engine/collide/capsule_pairs.hpp"
#include "engine/collide/convex_pairs.hpp"
#include "engine/collide/convex_plane.hpp"
#include "engine/collide/height_field_contacts.hpp"
#include "engine/collide/sphere_pairs.hpp"

namespace axion::collide {

// Pairs in which b is a cylinder, an ellipsoid, a mesh or a height field. A call of its own: worlds without such shapes
// pay nothing for it.
template <typename Real>
AXION_HD_CALL void collide_convex(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                                  const ShapePose<Real>& X_WB, ContactList<Real>& list) {
  using model::ShapeKind;
  if (b.kind == ShapeKind::kHeightField) {
    collide_height_field(a, X_WA, b, X_WB, list);
  } else if (a.kind == ShapeKind::kPlane) {
    if (b.kind == ShapeKind::kCylinder) plane_cylinder(X_WA, b, X_WB, list);
    if (b.kind == ShapeKind::kEllipsoid) plane_ellipsoid(X_WA, b, X_WB, list);
    if (b.kind == ShapeKind::kMesh) plane_mesh(X_WA, b, X_WB, list);
  } else if (a.kind == ShapeKind::kSphere && b.kind == ShapeKind::kCylinder) {
    sphere_cylinder(a, X_WA, b, X_WB, list);
  } else {
    convex_convex(a, X_WA, b, X_WB, list);
  }
}

// One canonical order: the kind of a does not come after the kind of b.
template <typename Real>
AXION_HD inline void collide_ordered(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                                     const ShapePose<Real>& X_WB, ContactList<Real>& list) {
  using model::ShapeKind;
  if (b.kind > ShapeKind::kBox) {
    collide_convex(a, X_WA, b, X_WB, list);
  } else if (a.kind == ShapeKind::kPlane) {
    if (b.kind == ShapeKind::kSphere) plane_sphere(X_WA, b, X_WB, list);
    if (b.kind == ShapeKind::kCapsule) plane_capsule(X_WA, b, X_WB, list);
    if (b.kind == ShapeKind::kBox) plane_box(X_WA, b, X_WB, list);
  } else if (a.kind == ShapeKind::kSphere) {
    if (b.kind == ShapeKind::kSphere) sphere_sphere(a, X_WA, b, X_WB, list);
    if (b.kind == ShapeKind::kCapsule) sphere_capsule(a, X_WA, b, X_WB, list);
    if (b.kind == ShapeKind::kBox) sphere_box(a, X_WA, b, X_WB, list);
  } else if (a.kind == ShapeKind::kCapsule) {
    if (b.kind == ShapeKind::kCapsule) capsule_capsule(a, X_WA, b, X_WB, list);
    if (b.kind == ShapeKind::kBox) capsule_box(a, X_WA, b, X_WB, list);
  } else {
    box_box(a, X_WA, b, X_WB, list);
  }
}

template <typename Real>
AXION_HD inline bool is_finite(const ContactPoint<Real>& c) {
  const Real largest = std::numeric_limits<Real>::max();
  const Real gap = std::abs(c.gap);
  const auto bounded = [largest](const math::Vec3<Real>& v) {
    return std::abs(v.x) <= largest && std::abs(v.y) <= largest && std::abs(v.z) <= largest;
  };
  return gap <= largest && bounded(c.p_WA) && bounded(c.p_WB) && bounded(c.normal);
}

// Writes the contacts with gap < margin to `out` (room for kMaxPairContacts) and returns their number. Their order and
// features are stable under small motions; swapping a and b swaps the points and turns the normals.
template <typename Real>
AXION_HD_CALL int collide_pair(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                               const ShapePose<Real>& X_WB, Real margin, ContactPoint<Real>* out) {
  if (!may_touch(a, X_WA, b, X_WB, margin)) return 0;
  const bool swap = b.kind < a.kind;
  ContactList<Real> list{out, margin};
  collide_ordered(swap ? b : a, swap ? X_WB : X_WA, swap ? a : b, swap ? X_WA : X_WB, list);
  int count = 0;
  for (int i = 0; i < list.count; ++i) {
    if (!is_finite(out[i])) continue;
    ContactPoint<Real>& c = out[count++];
    if (count != i + 1) c = out[i];
    if (!swap) continue;
    const math::Vec3<Real> p_WA = c.p_WB;
    c.p_WB = c.p_WA, c.p_WA = p_WA, c.normal = -c.normal;
  }
  return count;
}

}  // namespace axion::collide
