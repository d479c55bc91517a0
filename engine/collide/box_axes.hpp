// The separating axes of two boxes: the three face normals of each and the nine perpendiculars of their edges.
//
// For convex bodies, the greatest separation over all directions is the distance when it is positive and minus the
// depth when it is negative; for two boxes that overlap, or whose nearest features are a face and a vertex or two
// crossing edges, one of the fifteen axes attains it (Gottschalk, Lin, Manocha 1996). Used by box_pairs.hpp only.
#pragma once

#include "engine/collide/geometry.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

// Two boxes in the frame of the first, A. `n` below points from A to B.
template <typename Real>
struct BoxPair {
  math::Vec3<Real> a, b;  // half extents
  math::Vec3<Real> p_AB;  // centre of B
  math::Mat3<Real> R_AB;
  ShapePose<Real> X_WA, X_WB;
};

template <typename Real>
struct FaceAxis {
  Real separation;
  bool of_b;  // the face belongs to B
  int axis;   // of its box
  Real sign;  // the face's outward normal is sign times the box's axis
};

template <typename Real>
struct EdgePairAxis {
  Real separation;
  math::Vec3<Real> n;  // unit, from A to B, in A
  int edge_a, edge_b;  // directions of the two edges; -1: all edges are parallel
};

// Length below which differences of the pair's surfaces are not told apart on purpose: it keeps the choice between
// features that are equally good, which is the normal state of boxes at rest, from following rounding.
template <typename Real>
AXION_HD inline Real feature_bias(const BoxPair<Real>& pair) {
  Real least = pair.a.x;
  for (int i = 0; i < 3; ++i) {
    least = pair.a[i] < least ? pair.a[i] : least;
    least = pair.b[i] < least ? pair.b[i] : least;
  }
  return Real(BoxParameters::kBias) * least;
}

// A's faces win ties, then the first axis.
template <typename Real>
AXION_HD inline FaceAxis<Real> best_face_axis(const BoxPair<Real>& pair, Real bias) {
  FaceAxis<Real> best{-std::numeric_limits<Real>::max(), false, 0, Real(1)};
  const math::Vec3<Real> p_B = math::transpose_times(pair.R_AB, pair.p_AB);
  for (int k = 0; k < 6; ++k) {
    const bool of_b = k >= 3;
    const int i = of_b ? k - 3 : k;
    const Real offset = of_b ? -p_B[i] : pair.p_AB[i];  // of the other centre along the axis
    Real separation = std::abs(offset) - (of_b ? pair.b[i] : pair.a[i]);
    for (int j = 0; j < 3; ++j) {
      separation -= of_b ? std::abs(pair.R_AB(j, i)) * pair.a[j] : std::abs(pair.R_AB(i, j)) * pair.b[j];
    }
    if (k == 0 || separation > best.separation + bias)
      best = {separation, of_b, i, offset < Real(0) ? Real(-1) : Real(1)};
  }
  return best;
}

template <typename Real>
AXION_HD inline EdgePairAxis<Real> best_edge_pair_axis(const BoxPair<Real>& pair) {
  // Sine below which the perpendicular of two edges is too uncertain to be of use.
  const Real least_sine =
      sizeof(Real) == sizeof(float) ? Real(BoxParameters::kLeastSineSingle) : Real(BoxParameters::kLeastSineDouble);
  EdgePairAxis<Real> best{-std::numeric_limits<Real>::max(), {0, 0, 0}, -1, -1};
  for (int k = 0; k < 9; ++k) {
    const int i = k / 3, j = k % 3;
    math::Vec3<Real> e{};
    e[i] = Real(1);
    const math::Vec3<Real> f = pair.R_AB.column(j);
    const math::Vec3<Real> w = math::cross(e, f);
    const Real length = math::norm(w);
    if (length < least_sine) continue;
    const Real offset = math::dot(w, pair.p_AB);
    const math::Vec3<Real> n = (offset < Real(0) ? Real(-1) : Real(1)) / length * w;
    const math::Vec3<Real> n_B = math::transpose_times(pair.R_AB, n);
    Real separation = std::abs(offset) / length;
    for (int m = 0; m < 3; ++m) separation -= std::abs(n[m]) * pair.a[m] + std::abs(n_B[m]) * pair.b[m];
    if (separation > best.separation) best = {separation, n, i, j};
  }
  return best;
}

// The corner of a box that is farthest along n, in the box's frame, with coordinate `but` zero.
template <typename Real>
AXION_HD inline math::Vec3<Real> far_corner(const math::Vec3<Real>& half, const math::Vec3<Real>& n, int but) {
  math::Vec3<Real> corner{};
  for (int k = 0; k < 3; ++k) {
    if (k != but) corner[k] = n[k] < Real(0) ? -half[k] : half[k];
  }
  return corner;
}

}  // namespace axion::collide
