// The nearest points of two convex cores (Gilbert, Johnson, Keerthi 1988): a simplex of their difference A − B, of up
// to four of its points, is led to the point of the difference that is nearest to the origin.
//
// The nearest point of a triangle is taken along its normal, so that the direction of two faces, or a face and a
// vertex, or two edges is that of the features however small the gap. A bounded number of rounds; it ends early when no
// point of the difference is nearer along the direction by more than rounding. Used by the convex family only.
#pragma once

#include "engine/collide/convex_shape.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

template <typename Real>
struct Simplex {
  Difference<Real> point[4];
  Real weight[4];  // of the nearest point
  int count = 0;
};

template <typename Real>
struct Nearest {
  math::Vec3<Real> v;  // the nearest point of A − B: from B to A; where they overlap, any vector along which
  Real length;         // |v|; 0: the cores overlap
  Real bound;          // no less far apart than this; where they overlap, the greatest found, along v
  Simplex<Real> simplex;
};

// Weights of the nearest point of a segment to the origin. Points of no weight are dropped by the caller.
template <typename Real>
AXION_HD inline math::Vec3<Real> nearest_of_segment(const math::Vec3<Real>& p, const math::Vec3<Real>& q, Real& wp,
                                                    Real& wq) {
  const math::Vec3<Real> pq = q - p;
  const Real along = -math::dot(p, pq), length = math::dot(pq, pq);
  const Real t = along <= Real(0) || length <= Real(0) ? Real(0) : (along >= length ? Real(1) : along / length);
  wp = Real(1) - t, wq = t;
  if (t >= Real(1)) return q;
  return p + t * pq;
}

// The same of a triangle: by the regions of its edges and vertices (Ericson, Real-Time Collision Detection, 5.1.5).
template <typename Real>
AXION_HD inline math::Vec3<Real> nearest_of_triangle(const math::Vec3<Real>& p, const math::Vec3<Real>& q,
                                                     const math::Vec3<Real>& r, Real* weight) {
  const math::Vec3<Real> n = math::cross(q - p, r - p);
  const Real n2 = math::dot(n, n);
  // Areas of the origin's projection with each edge: all positive means inside.
  const Real wp = math::dot(n, math::cross(q, r - q)), wq = math::dot(n, math::cross(r, p - r)),
             wr = math::dot(n, math::cross(p, q - p));
  if (wp > Real(0) && wq > Real(0) && wr > Real(0)) {
    const Real sum = Real(1) / (wp + wq + wr);
    weight[0] = wp * sum, weight[1] = wq * sum, weight[2] = wr * sum;
    return (math::dot(n, (Real(1) / Real(3)) * (p + q + r)) / n2) * n;
  }
  math::Vec3<Real> best{};
  Real least = std::numeric_limits<Real>::max();
  weight[0] = Real(1), weight[1] = weight[2] = Real(0);  // what stays where no length is a number
  for (int k = 0; k < 3; ++k) {
    const math::Vec3<Real>&s = k == 0 ? p : (k == 1 ? q : r), &t = k == 0 ? q : (k == 1 ? r : p);
    Real ws, wt;
    const math::Vec3<Real> v = nearest_of_segment(s, t, ws, wt);
    const Real length = math::dot(v, v);
    if (!(length < least)) continue;
    least = length, best = v;
    weight[0] = k == 0 ? ws : (k == 1 ? Real(0) : wt);
    weight[1] = k == 0 ? wt : (k == 1 ? ws : Real(0));
    weight[2] = k == 0 ? Real(0) : (k == 1 ? wt : ws);
  }
  return best;
}

// The same of a tetrahedron whose last point is the newest: the origin is not beyond the face opposite to it. Returns
// whether the origin is inside.
template <typename Real>
AXION_HD inline bool nearest_of_tetrahedron(const math::Vec3<Real>* p, Real* weight, math::Vec3<Real>& v) {
  Real least = std::numeric_limits<Real>::max();
  bool outside = false;
  for (int k = 0; k < 3; ++k) {
    const int i = k, j = k == 2 ? 0 : k + 1, off = k == 0 ? 2 : k - 1;  // face i, j, 3
    const math::Vec3<Real> n = math::cross(p[j] - p[i], p[3] - p[i]);
    const Real height = math::dot(n, p[off] - p[3]), origin = -math::dot(n, p[3]);
    if (height > Real(0) ? origin > Real(0) : (height < Real(0) ? origin < Real(0) : false)) continue;
    outside = true;
    Real w[3] = {};
    const math::Vec3<Real> nearest = nearest_of_triangle(p[i], p[j], p[3], w);
    const Real length = math::dot(nearest, nearest);
    if (!(length < least)) continue;
    least = length, v = nearest;
    weight[i] = w[0], weight[j] = w[1], weight[off] = Real(0), weight[3] = w[2];
  }
  return !outside;
}

// The nearest point of the simplex; points without weight are dropped. False: the origin is inside.
template <typename Real>
AXION_HD inline bool reduce(Simplex<Real>& simplex, math::Vec3<Real>& v) {
  math::Vec3<Real> w[4];
  for (int i = 0; i < 4; ++i) w[i] = i < simplex.count ? simplex.point[i].w() : math::Vec3<Real>{};
  Real* weight = simplex.weight;
  if (simplex.count == 1) {
    v = w[0], weight[0] = Real(1);
  } else if (simplex.count == 2) {
    v = nearest_of_segment(w[0], w[1], weight[0], weight[1]);
  } else if (simplex.count == 3) {
    v = nearest_of_triangle(w[0], w[1], w[2], weight);
  } else if (nearest_of_tetrahedron(w, weight, v)) {
    return false;
  }
  int kept = 0;
  for (int i = 0; i < simplex.count; ++i) {
    if (!(weight[i] > Real(0))) continue;
    simplex.point[kept] = simplex.point[i], weight[kept] = weight[i];
    ++kept;
  }
  simplex.count = kept;
  return true;
}

// Sizes of numbers in the frame of a pair: rounding is a share of it.
template <typename Real>
AXION_HD inline Real extent(const ConvexPair<Real>& pair) {
  return math::norm(pair.p_AB) + bounding_radius(pair.a) + bounding_radius(pair.b);
}

// Of cores that overlap: the simplex that says so, and the direction along which they do least, of those looked at.
template <typename Real>
AXION_HD inline Nearest<Real> overlap(const Nearest<Real>& best, const Simplex<Real>& simplex) {
  return {best.v, Real(0), best.bound < Real(0) ? best.bound : Real(0), simplex};
}

// The nearest points of the cores, or what is known when they are farther apart than `far`.
template <typename Real>
AXION_HD_CALL Nearest<Real> nearest_points(const ConvexPair<Real>& pair, Real far) {
  constexpr Real kEpsilon = std::numeric_limits<Real>::epsilon();
  constexpr Real kTolerance =
      sizeof(Real) == sizeof(float) ? Real(SearchParameters::kNearestSingle) : Real(SearchParameters::kNearestDouble);
  const Real size = extent(pair), noise = Real(4) * kEpsilon * size;
  Nearest<Real> result{};
  Simplex<Real> simplex{};
  const math::Vec3<Real> start = math::norm(pair.p_AB) > noise ? -pair.p_AB : math::Vec3<Real>{0, 0, size};
  simplex.point[0] = nearest_along(pair, start);
  simplex.weight[0] = Real(1), simplex.count = 1;
  math::Vec3<Real> v = simplex.point[0].w();
  Real length = math::norm(v);
  result.bound = -std::numeric_limits<Real>::max();
  for (int round = 0; round < SearchParameters::kGjkRounds; ++round) {
    if (!(length > noise)) return result.bound > noise ? result : overlap(result, simplex);
    const Difference<Real> next = nearest_along(pair, v);
    const Real along = math::dot(v, next.w()) / length;
    // Lengths that differ by rounding are those of directions that may differ by its root: the one that separates most
    // is kept.
    if (along > result.bound) result = {v, length, along, simplex};
    if (along > far || length - along <= kTolerance * length + noise) break;
    simplex.point[simplex.count++] = next;
    math::Vec3<Real> nearer{};
    // A direction that separates them proves that they are apart, whatever rounding says of a flat tetrahedron.
    if (!reduce(simplex, nearer)) return result.bound > noise ? result : overlap(result, simplex);
    const Real shorter = math::norm(nearer);
    if (!(shorter <= (Real(1) + Real(4) * kEpsilon) * length)) break;
    v = nearer, length = shorter;
  }
  return result;
}

// The nearest points themselves.
template <typename Real>
AXION_HD inline Difference<Real> weighted(const Simplex<Real>& simplex) {
  Difference<Real> sum{};
  for (int i = 0; i < simplex.count; ++i) {
    sum.a += simplex.weight[i] * simplex.point[i].a, sum.b += simplex.weight[i] * simplex.point[i].b;
  }
  return sum;
}

}  // namespace axion::collide
