// Contacts of a face of one box (the reference) with the other box (the incident one): the incident box's face that
// looks most against the reference face, clipped to the reference face's prism (Sutherland, Hodgman 1974).
// Used by box_pairs.hpp only.
//
// The polygon lives in the reference face: x, y across it, z above it (the gap). Each of its edges is labelled with the
// line it lies on: 0 to 3 an edge of the incident face, 4 to 7 a side of the reference face. A vertex between two
// labels is a vertex of the incident face, a corner of the reference face, or a crossing, and so has a stable name.
#pragma once

#include "engine/collide/box_axes.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

// Features of a pair of boxes: vertex v of A touches B: v; vertex v of B touches A: 8 + v; edge e of the incident face
// crosses side s of the reference face: 16 + 4 e + s, plus 16 if the reference is B's; two edges: 48 + their
// directions. Bit k of a vertex's number says that its coordinate k is positive.
inline constexpr std::uint32_t kFirstCrossingFeature = 16;
inline constexpr std::uint32_t kFirstEdgePairFeature = 48;

inline constexpr int kMaxPolygon = 12;  // a quadrilateral clipped by four lines has at most 8; rounding may add

template <typename Real>
struct FacePolygon {
  math::Vec3<Real> vertex[kMaxPolygon];
  int label[kMaxPolygon];  // of the edge from this vertex to the next
  int count = 0;

  AXION_HD void add(const math::Vec3<Real>& v, int edge_label) {
    if (count == kMaxPolygon) return;
    vertex[count] = v;
    label[count++] = edge_label;
  }
};

// The two boxes seen from the reference box.
template <typename Real>
struct FaceFrame {
  math::Vec3<Real> reference, incident;  // half extents
  math::Vec3<Real> p_RI;
  math::Mat3<Real> R_RI;
  int axis;  // of the reference face
  Real sign;
  int incident_axis;
  Real incident_sign;

  AXION_HD int u() const { return axis == 2 ? 0 : axis + 1; }
  AXION_HD int v() const { return axis == 0 ? 2 : axis - 1; }
};

template <typename Real>
AXION_HD inline FaceFrame<Real> face_frame(const BoxPair<Real>& pair, const FaceAxis<Real>& face) {
  FaceFrame<Real> frame{pair.a, pair.b, pair.p_AB, pair.R_AB, face.axis, face.sign, 0, Real(1)};
  if (face.of_b) {
    frame.reference = pair.b;
    frame.incident = pair.a;
    frame.p_RI = -math::transpose_times(pair.R_AB, pair.p_AB);
    frame.R_RI = math::transpose(pair.R_AB);
  }
  Real most = Real(-1);
  for (int j = 0; j < 3; ++j) {
    const Real along = face.sign * frame.R_RI(face.axis, j);
    if (std::abs(along) > most) {
      most = std::abs(along);
      frame.incident_axis = j;
      frame.incident_sign = along > Real(0) ? Real(-1) : Real(1);
    }
  }
  return frame;
}

AXION_HD constexpr int corner_bit(bool positive, int axis) { return positive ? 1 << axis : 0; }

// Corner k = 0..3 of the incident face, counted around it: as signs of its two axes.
AXION_HD constexpr bool corner_u_positive(int k) { return k == 1 || k == 2; }
AXION_HD constexpr bool corner_v_positive(int k) { return k >= 2; }

template <typename Real>
AXION_HD inline FacePolygon<Real> incident_face(const FaceFrame<Real>& f) {
  FacePolygon<Real> polygon;
  const int j = f.incident_axis, ju = j == 2 ? 0 : j + 1, jv = j == 0 ? 2 : j - 1;
  for (int k = 0; k < 4; ++k) {
    math::Vec3<Real> corner{};
    corner[j] = f.incident_sign * f.incident[j];
    corner[ju] = corner_u_positive(k) ? f.incident[ju] : -f.incident[ju];
    corner[jv] = corner_v_positive(k) ? f.incident[jv] : -f.incident[jv];
    const math::Vec3<Real> p = f.p_RI + f.R_RI * corner;
    polygon.add({p[f.u()], p[f.v()], f.sign * p[f.axis] - f.reference[f.axis]}, k);
  }
  return polygon;
}

// Keeps what lies on the inner side of one side of the reference face: side 0: x <= half, 1: −x <= half, 2, 3: y.
template <typename Real>
AXION_HD inline void clip_to_side(int side, Real half, Real slack, FacePolygon<Real>& polygon) {
  const auto outside = [&](const math::Vec3<Real>& v) {
    const Real coordinate = side < 2 ? v.x : v.y;
    return (side & 1 ? -coordinate : coordinate) - half;
  };
  FacePolygon<Real> kept;
  for (int i = 0; i < polygon.count; ++i) {
    const int next = i + 1 == polygon.count ? 0 : i + 1;
    const math::Vec3<Real>& p = polygon.vertex[i];
    const math::Vec3<Real>& q = polygon.vertex[next];
    const Real out_p = outside(p), out_q = outside(q);
    const bool p_in = out_p <= slack, q_in = out_q <= slack;
    if (p_in) kept.add(p, polygon.label[i]);
    // The crossing is with the side itself; a kept vertex within the slack beyond it gives no second point.
    if (p_in == q_in) continue;
    const math::Vec3<Real> crossing = p + clamp(out_p / (out_p - out_q), Real(0), Real(1)) * (q - p);
    kept.add(crossing, p_in ? 4 + side : polygon.label[i]);
  }
  polygon = kept;
}

template <typename Real>
AXION_HD inline std::uint32_t vertex_feature(const FaceFrame<Real>& f, bool reference_is_b, int before, int after) {
  if (before < 4 && after < 4) {  // a vertex of the incident face
    const int j = f.incident_axis, ju = j == 2 ? 0 : j + 1, jv = j == 0 ? 2 : j - 1;
    const int corner = corner_bit(f.incident_sign > Real(0), j) | corner_bit(corner_u_positive(after), ju) |
                       corner_bit(corner_v_positive(after), jv);
    return std::uint32_t(corner + (reference_is_b ? 0 : 8));
  }
  if (before >= 4 && after >= 4) {  // a corner of the reference face
    const int side_x = (before & 3) < 2 ? before & 3 : after & 3, side_y = (before & 3) < 2 ? after & 3 : before & 3;
    const int corner =
        corner_bit(f.sign > Real(0), f.axis) | corner_bit(side_x == 0, f.u()) | corner_bit(side_y == 2, f.v());
    return std::uint32_t(corner + (reference_is_b ? 8 : 0));
  }
  const int edge = before < 4 ? before : after, side = (before < 4 ? after : before) - 4;
  return kFirstCrossingFeature + std::uint32_t(4 * edge + side + (reference_is_b ? 16 : 0));
}

// Points of the polygon that are nearer to the one before (around the polygon) than this carry no load of their own.
template <typename Real>
AXION_HD inline Real merge_distance(const FaceFrame<Real>& f) {
  const int j = f.incident_axis, ju = j == 2 ? 0 : j + 1, jv = j == 0 ? 2 : j - 1;
  const Real r = f.reference[f.u()] < f.reference[f.v()] ? f.reference[f.u()] : f.reference[f.v()];
  const Real i = f.incident[ju] < f.incident[jv] ? f.incident[ju] : f.incident[jv];
  return Real(BoxParameters::kMerge) * (r < i ? r : i);
}

// Adds the contacts of the face if the least gap of its polygon is at most `accept`; returns whether it is.
template <typename Real>
AXION_HD inline bool add_face_contacts(const BoxPair<Real>& pair, const FaceAxis<Real>& face, Real accept,
                                       ContactList<Real>& list) {
  const FaceFrame<Real> f = face_frame(pair, face);
  const Real merge = merge_distance(f);
  FacePolygon<Real> polygon = incident_face(f);
  for (int side = 0; side < 4; ++side) {
    clip_to_side(side, f.reference[side < 2 ? f.u() : f.v()], Real(BoxParameters::kClipSlack) * merge, polygon);
  }
  Real least = std::numeric_limits<Real>::max();
  for (int i = 0; i < polygon.count; ++i) least = polygon.vertex[i].z < least ? polygon.vertex[i].z : least;
  if (polygon.count == 0 || least > accept) return false;

  const ShapePose<Real>& X_WR = face.of_b ? pair.X_WB : pair.X_WA;
  const math::Vec3<Real> n = (face.of_b ? f.sign : -f.sign) * X_WR.R_WS.column(f.axis);
  int last = -1, first = -1;  // kept vertices
  for (int i = 0; i < polygon.count; ++i) {
    const math::Vec3<Real>& p = polygon.vertex[i];
    const auto near = [&](int k) {
      if (k < 0) return false;
      const Real dx = p.x - polygon.vertex[k].x, dy = p.y - polygon.vertex[k].y;
      return dx * dx + dy * dy < merge * merge;
    };
    if (near(last) || (i + 1 == polygon.count && near(first))) continue;
    math::Vec3<Real> on_reference{}, on_incident{};
    on_reference[f.u()] = on_incident[f.u()] = p.x;
    on_reference[f.v()] = on_incident[f.v()] = p.y;
    on_reference[f.axis] = f.sign * f.reference[f.axis];
    on_incident[f.axis] = f.sign * (f.reference[f.axis] + p.z);
    const math::Vec3<Real> p_WR = X_WR.p_WS + X_WR.R_WS * on_reference;
    const math::Vec3<Real> p_WI = X_WR.p_WS + X_WR.R_WS * on_incident;
    const int before = polygon.label[i == 0 ? polygon.count - 1 : i - 1];
    const std::uint32_t feature = vertex_feature(f, face.of_b, before, polygon.label[i]);
    list.add({face.of_b ? p_WI : p_WR, face.of_b ? p_WR : p_WI, n, p.z, feature});
    last = i;
    if (first < 0) first = i;
  }
  return true;
}

}  // namespace axion::collide
