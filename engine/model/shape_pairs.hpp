// Which shapes may touch, and by what law: of two shapes, or of a pair by its number.
//
// A model of few shapes lists its pairs; a pair's number is then its place in that list. One of many does not, as their
// number grows with the square of the shapes: there the number says which shapes they are, lower * shape_count + upper,
// and the rest is worked out from the two where it is needed. Both numbers sort pairs by their lower shape, then the
// other.
#pragma once

#include <cstdint>

#include "engine/base/macros.hpp"
#include "engine/base/partition_point.hpp"
#include "engine/model/model_data.hpp"

namespace axion::model {

inline constexpr int kMaxListedPairs =
    4096;  // from some ninety free shapes on the grid finds them faster than the list
inline constexpr int kMaxListingShapes = 512;  // that may touch any; all their pairs are tried for the list
inline constexpr int kMostShapes = 46340;      // the square of the shapes is an int; scenes may have 16384

template <typename Real>
AXION_HD inline bool lists_pairs(const ModelView<Real>& m) {
  return m.pair_count >= 0;
}

// Whether `item` is one of the rising numbers list[start] .. list[end - 1].
AXION_HD inline bool is_listed(const int* list, int start, int end, int item) {
  const int at = partition_point(start, end, [&](int i) { return list[i] < item; });
  return at < end && list[at] == item;
}

// Bodies of one joint, and the parts that an exclusion names, do not touch; nor do shapes of one body.
template <typename Real>
AXION_HD inline bool may_touch(const ModelView<Real>& m, int a, int b) {
  const ShapeContactData &A = m.shape_contacts[a], &B = m.shape_contacts[b];
  if ((A.type & B.affinity) == 0 && (B.type & A.affinity) == 0) return false;
  const int body_a = m.shapes[a].body, body_b = m.shapes[b].body;
  if (body_a == body_b) return false;
  if (is_listed(m.excludes, m.exclude_start[A.part], m.exclude_start[A.part + 1], B.part)) return false;
  if (body_a < 0 || body_b < 0) return true;
  return !is_listed(m.neighbours, m.neighbour_start[body_a], m.neighbour_start[body_a + 1], body_b);
}

// Contacts that two kinds of shapes can have.
AXION_HD inline int contact_max(ShapeKind a, ShapeKind b) {
  if (a > ShapeKind::kMesh) return height_field_contacts(b);
  if (b > ShapeKind::kMesh) return height_field_contacts(a);
  const auto round = [](ShapeKind kind) { return kind == ShapeKind::kSphere || kind == ShapeKind::kEllipsoid; };
  if (round(a) || round(b)) return 1;
  if (a > ShapeKind::kBox || b > ShapeKind::kBox) {  // a cylinder or a mesh
    const ShapeKind other = a > b ? b : a;
    const bool is_mesh = a == ShapeKind::kMesh || b == ShapeKind::kMesh;
    return other == ShapeKind::kCapsule || (other == ShapeKind::kPlane && !is_mesh) ? 4 : 8;
  }
  if (a == ShapeKind::kBox && b == ShapeKind::kBox) return 8;
  const bool box = a == ShapeKind::kBox || b == ShapeKind::kBox;
  const bool plane = a == ShapeKind::kPlane || b == ShapeKind::kPlane;
  if (box && plane) return 8;
  return box ? 3 : 2;
}

// Two springs, or two dampers, in a row; 0 is rigid.
AXION_HD inline double in_series(double a, double b) { return a == 0 || b == 0 ? a + b : a * b / (a + b); }

// The pair of shapes a < b.
template <typename Real>
AXION_HD inline PairData<Real> combine_shapes(const ModelView<Real>& m, int a, int b) {
  const ShapeContactData &A = m.shape_contacts[a], &B = m.shape_contacts[b];
  const auto greater = [](auto x, auto y) { return x < y ? y : x; };
  int dimension = greater(A.dimension, B.dimension);
  double friction = greater(A.friction, B.friction);
  if (A.priority != B.priority) {
    const ShapeContactData& first = A.priority > B.priority ? A : B;
    dimension = first.dimension, friction = first.friction;
  }
  const bool swap = m.shapes[a].body < 0;  // the first body of a contact is never the world
  PairData<Real> pair{};
  pair.shape_a = swap ? b : a, pair.shape_b = swap ? a : b;
  pair.friction = dimension < 3 ? Real(0) : Real(friction);
  pair.restitution = Real(greater(A.restitution, B.restitution));
  pair.stiffness = Real(in_series(A.stiffness, B.stiffness));
  pair.damping = Real(in_series(A.damping, B.damping));
  pair.contact_max = contact_max(m.shapes[a].kind, m.shapes[b].kind);
  return pair;
}

template <typename Real>
AXION_HD inline PairData<Real> pair_data(const ModelView<Real>& m, int pair) {
  if (lists_pairs(m)) return m.pairs[pair];
  return combine_shapes(m, pair / m.shape_count, pair % m.shape_count);
}

// Torsional and rolling friction of the pair of shapes a < b, of a model that has any.
template <typename Real>
AXION_HD inline MomentFriction<double> combine_moments(const ModelView<Real>& m, int a, int b) {
  const ShapeContactData &A = m.shape_contacts[a], &B = m.shape_contacts[b];
  const ShapeMomentData &of_a = m.shape_moments[a], &of_b = m.shape_moments[b];
  const auto greater = [](auto x, auto y) { return x < y ? y : x; };
  int cone = greater(of_a.cone_dimension, of_b.cone_dimension), dimension = greater(A.dimension, B.dimension);
  MomentFriction<double> friction{greater(of_a.torsional, of_b.torsional), greater(of_a.rolling, of_b.rolling)};
  if (A.priority != B.priority) {
    const ShapeMomentData& first = A.priority > B.priority ? of_a : of_b;
    cone = first.cone_dimension, dimension = A.priority > B.priority ? A.dimension : B.dimension;
    friction = {first.torsional, first.rolling};
  }
  if (cone < 4 || dimension < 3) friction.torsional = 0;
  if (cone < 6 || dimension < 3) friction.rolling = 0;
  return friction;
}

template <typename Real>
AXION_HD inline MomentFriction<Real> moments_of_pair(const ModelView<Real>& m, int pair) {
  if (lists_pairs(m)) return m.pair_moments[pair];
  const MomentFriction<double> friction = combine_moments(m, pair / m.shape_count, pair % m.shape_count);
  return {Real(friction.torsional), Real(friction.rolling)};
}

// The law of a pair's contacts where they are soft.
template <typename Real>
AXION_HD inline ImpedanceData<double> mix_shapes(const ModelView<Real>& m, int a, int b, double friction) {
  const int first = m.shape_contacts[a].priority, second = m.shape_contacts[b].priority;
  const int preferred = first == second ? 0 : first > second ? -1 : 1;
  return mix_softness(m.shape_softness[a], m.shape_softness[b], preferred, friction, m.softness_rule);
}
template <typename Real>
AXION_HD inline ImpedanceData<Real> impedance_of_pair(const ModelView<Real>& m, int pair) {
  if (lists_pairs(m)) return m.pair_impedances[pair];
  const int a = pair / m.shape_count, b = pair % m.shape_count;
  return cast_impedance<Real>(mix_shapes(m, a, b, static_cast<double>(combine_shapes(m, a, b).friction)));
}

// Contacts that a pair can have.
template <typename Real>
AXION_HD inline int pair_contact_max(const ModelView<Real>& m, int pair) {
  if (lists_pairs(m)) return m.pairs[pair].contact_max;
  return contact_max(m.shapes[pair / m.shape_count].kind, m.shapes[pair % m.shape_count].kind);
}

// Number of the pair of shapes a < b of a model that does not list its pairs; -1 where they never touch.
template <typename Real>
AXION_HD inline int pair_number(const ModelView<Real>& m, int a, int b) {
  return may_touch(m, a, b) ? a * m.shape_count + b : -1;
}

}  // namespace axion::model
