// What is known of a shape over a height field while its contacts are gathered, and the contacts themselves: a fixed
// number, of which the deepest and those that differ most from the others stay.
#pragma once

#include <cstdint>

#include "engine/collide/convex_shape.hpp"
#include "engine/collide/height_field.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

// In the field's frame. `name` is what contacts are warm-started by; where two of a pair have the same, the later one
// goes by `place`, in which the cell is told, too.
template <typename Real>
struct FieldContact {
  math::Vec3<Real> p;  // on the shape
  math::Vec3<Real> n;  // unit, from the field to the shape
  Real gap;
  std::uint32_t name, place;
};

// What of the field a contact is with; the numbers 0 to 5 are faces and walls, then edges and a vertex, and
// what lies above the base.
inline constexpr int kFieldFace = 0, kFieldWall = 2, kFieldEdge = 6, kFieldVertex = 9, kFieldUpright = 10,
                     kFieldBase = 11;

// Contacts with what is always of the same name, wherever on the field, have cell 0; else it is one more than its own.
AXION_HD constexpr std::uint32_t field_feature(int what, int point, int cell) {
  return (std::uint32_t(what) << 28) | (std::uint32_t(point) << 21) | std::uint32_t(cell);
}

template <typename Real>
struct FieldSearch {
  static constexpr int kRoom = 16;
  HeightField<Real> field;
  Shape<Real> shape;
  ShapePose<Real> X_FS;
  math::Vec3<Real> low, high;  // the shape's box
  Real margin;
  Real reach;   // the shape's bounding radius
  Real same;    // m: points nearer to each other are one
  int limit;    // contacts that stay
  bool beside;  // the shape's origin is beyond the grid, from where it may reach under the base
  FieldContact<Real> contact[kRoom];
  int count;
};

// Leaves the deepest, and then each time the one that is farthest from those chosen, in place and direction, shallow
// ones counting less. Nearly equal ones count as equal, of which the first is taken; the order stays.
template <typename Real>
AXION_HD_RARE void keep_field_contacts(FieldSearch<Real>& search) {
  constexpr int kRoom = FieldSearch<Real>::kRoom;
  if (search.count <= search.limit) return;
  bool kept[kRoom] = {};
  Real apart[kRoom];
  int chosen = 0;
  for (int i = 0; i < search.count; ++i) {
    if (search.contact[i].gap < search.contact[chosen].gap - Real(HeightFieldParameters::kDeeper) * search.same)
      chosen = i;
    apart[i] = std::numeric_limits<Real>::max();
  }
  const Real depth = search.margin - search.contact[chosen].gap;
  for (int k = 0; k < search.limit; ++k) {
    kept[chosen] = true;
    int next = -1;
    Real best = -1;
    for (int i = 0; i < search.count; ++i) {
      if (kept[i]) continue;
      const FieldContact<Real>&a = search.contact[i], &b = search.contact[chosen];
      const math::Vec3<Real> d = a.p - b.p, turned = search.reach * (a.n - b.n);
      const Real distance = math::dot(d, d) + math::dot(turned, turned);
      if (distance < apart[i]) apart[i] = distance;
      const Real share = (search.margin - a.gap) / depth, score = apart[i] * share * share;
      if (next < 0 || score > Real(HeightFieldParameters::kBetter) * best) next = i, best = score;
    }
    chosen = next;
  }
  int count = 0;
  for (int i = 0; i < search.count; ++i) {
    if (!kept[i]) continue;
    if (count != i) search.contact[count] = search.contact[i];
    ++count;
  }
  search.count = count;
}

// Adds a contact within the margin. One at the place of another and in its direction is the same as that: the deeper
// one stays.
template <typename Real>
AXION_HD_RARE void add_field_contact(FieldSearch<Real>& search, const FieldContact<Real>& contact) {
  if (!(contact.gap < search.margin)) return;
  for (int i = 0; i < search.count; ++i) {
    FieldContact<Real>& known = search.contact[i];
    const math::Vec3<Real> d = known.p - contact.p;
    if (!(math::dot(d, d) < search.same * search.same) ||
        !(math::dot(known.n, contact.n) > Real(HeightFieldParameters::kSameNormal)))
      continue;
    if (contact.gap < known.gap - Real(HeightFieldParameters::kDeeper) * search.same) known = contact;
    return;
  }
  if (search.count == FieldSearch<Real>::kRoom) keep_field_contacts(search);
  search.contact[search.count++] = contact;
}

}  // namespace axion::collide
