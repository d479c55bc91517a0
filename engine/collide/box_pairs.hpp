// Contacts of a box with a plane (its corners) and with a box.
// Called by collide_pair alone; the names give the order of the arguments, normals point from the second to the first.
//
// box-box. Boxes that overlap: the separating axis of least overlap. Boxes apart: the nearest features. The face of
// greatest separation is tried first, then the best pair of edges, then all vertices; each is taken only if it attains
// the distance, so that contacts made ahead of touching have the true distance and direction, and the normal does not
// jump when a gap closes: but for boxes that meet corner to corner or corner to edge, whose direction apart is that of
// the nearest points while an overlap has only the axes to choose from. Faces are preferred to edges that agree with
// them, because a face gives a whole patch.
#pragma once

#include "engine/collide/box_face.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

// Every corner within the margin: 4 at rest on a face. Features: number of the corner.
template <typename Real>
AXION_HD inline void plane_box(const ShapePose<Real>& X_WA, const Shape<Real>& b, const ShapePose<Real>& X_WB,
                               ContactList<Real>& list) {
  const math::Vec3<Real> up = X_WA.R_WS.column(2);
  const Real centre_height = math::dot(up, X_WB.p_WS - X_WA.p_WS);
  const math::Vec3<Real> up_B = math::transpose_times(X_WB.R_WS, up);
  for (int k = 0; k < 8; ++k) {
    const math::Vec3<Real> corner{k & 1 ? b.size.x : -b.size.x, k & 2 ? b.size.y : -b.size.y,
                                  k & 4 ? b.size.z : -b.size.z};
    const math::Vec3<Real> p_WC = X_WB.p_WS + X_WB.R_WS * corner;
    const Real gap = centre_height + math::dot(up_B, corner);
    list.add({p_WC - gap * up, p_WC, -up, gap, std::uint32_t(k)});
  }
}

// One contact between the two edges; apart, only if their nearest points are within both.
template <typename Real>
AXION_HD inline bool add_edge_contact(const BoxPair<Real>& pair, const EdgePairAxis<Real>& edges,
                                      ContactList<Real>& list) {
  if (edges.edge_a < 0) return false;
  math::Vec3<Real> e{};
  e[edges.edge_a] = Real(1);
  const math::Vec3<Real> f = pair.R_AB.column(edges.edge_b);
  const math::Vec3<Real> on_a = far_corner(pair.a, edges.n, edges.edge_a);
  const math::Vec3<Real> n_B = math::transpose_times(pair.R_AB, edges.n);
  const math::Vec3<Real> on_b = pair.p_AB + pair.R_AB * far_corner(pair.b, -n_B, edges.edge_b);
  Real s = 0, t = 0;
  nearest_on_segments(on_b - on_a, e, pair.a[edges.edge_a], f, pair.b[edges.edge_b], s, t);
  const math::Vec3<Real> p_A = on_a + s * e, p_B = on_b + t * f;
  if (edges.separation > Real(0)) {
    // Within both edges the nearest points differ along n alone.
    const math::Vec3<Real> across = p_B - p_A - edges.separation * edges.n;
    const Real slack = feature_bias(pair);
    if (math::dot(across, across) > slack * slack) return false;
  }
  list.add({pair.X_WA.p_WS + pair.X_WA.R_WS * p_A, pair.X_WA.p_WS + pair.X_WA.R_WS * p_B, -(pair.X_WA.R_WS * edges.n),
            edges.separation, kFirstEdgePairFeature + std::uint32_t(3 * edges.edge_a + edges.edge_b)});
  return true;
}

// Vertex k of a pair of boxes (0 to 7 of A, 8 to 15 of B) against the other box.
template <typename Real>
struct VertexDistance {
  math::Vec3<Real> vertex, nearest;  // in the frame of the box that has not the vertex
  math::Vec3<Real> normal;           // unit, from that box to the vertex
  Real distance;
  bool at_vertex;  // the nearest point is a vertex, too
  bool facing;     // on the half of its own box that faces the other
};

template <typename Real>
AXION_HD inline VertexDistance<Real> vertex_distance(const BoxPair<Real>& pair, int k) {
  const bool of_b = k >= 8;
  const math::Vec3<Real>& own = of_b ? pair.b : pair.a;
  const math::Vec3<Real>& other = of_b ? pair.a : pair.b;
  const math::Vec3<Real> corner{k & 1 ? own.x : -own.x, k & 2 ? own.y : -own.y, k & 4 ? own.z : -own.z};
  const math::Vec3<Real> turned = of_b ? pair.R_AB * corner : math::transpose_times(pair.R_AB, corner);
  const math::Vec3<Real> p = turned + (of_b ? pair.p_AB : -math::transpose_times(pair.R_AB, pair.p_AB));
  const SurfacePoint<Real> q = nearest_on_box(p, other);
  const bool at_vertex = std::abs(p.x) > other.x && std::abs(p.y) > other.y && std::abs(p.z) > other.z;
  return {p, q.point, q.normal, q.distance, at_vertex, math::dot(q.normal, turned) <= Real(0)};
}

// The nearest vertex of either box, and the others that are near along the same direction (parallel edges).
template <typename Real>
AXION_HD inline void add_vertex_contacts(const BoxPair<Real>& pair, ContactList<Real>& list) {
  math::Vec3<Real> n_A{};  // from B to A
  Real least = std::numeric_limits<Real>::max();
  const auto direction = [&](const VertexDistance<Real>& d, bool of_b) {
    return of_b ? -d.normal : pair.R_AB * d.normal;
  };
  for (int k = 0; k < 16; ++k) {
    const VertexDistance<Real> d = vertex_distance(pair, k);
    if (d.distance < least) least = d.distance, n_A = direction(d, k >= 8);
  }
  for (int k = 0; k < 16; ++k) {
    const VertexDistance<Real> d = vertex_distance(pair, k);
    const bool of_b = k >= 8;
    const math::Vec3<Real> n = direction(d, of_b);
    if (!d.facing || math::dot(n, n_A) < Real(BoxParameters::kSameVertex)) continue;
    if (of_b && d.at_vertex) continue;  // two vertices: counted as A's
    const ShapePose<Real>& X_WO = of_b ? pair.X_WA : pair.X_WB;
    const math::Vec3<Real> p_WV = X_WO.p_WS + X_WO.R_WS * d.vertex, p_WQ = X_WO.p_WS + X_WO.R_WS * d.nearest;
    list.add({of_b ? p_WQ : p_WV, of_b ? p_WV : p_WQ, pair.X_WA.R_WS * n, d.distance, std::uint32_t(k)});
  }
}

// Overlap without a point of the incident face over the reference face: the deepest vertex beyond that face.
template <typename Real>
AXION_HD inline void add_deepest_vertex(const BoxPair<Real>& pair, const FaceAxis<Real>& face,
                                        ContactList<Real>& list) {
  const FaceFrame<Real> f = face_frame(pair, face);
  math::Vec3<Real> n{};  // outward from the reference box, in its frame
  n[f.axis] = f.sign;
  const math::Vec3<Real> corner = far_corner(f.incident, -math::transpose_times(f.R_RI, n), -1);
  const math::Vec3<Real> deepest = f.p_RI + f.R_RI * corner;
  math::Vec3<Real> on_face = deepest;
  on_face[f.axis] = f.sign * f.reference[f.axis];
  const ShapePose<Real>& X_WR = face.of_b ? pair.X_WB : pair.X_WA;
  const math::Vec3<Real> p_WI = X_WR.p_WS + X_WR.R_WS * deepest, p_WR = X_WR.p_WS + X_WR.R_WS * on_face;
  int number = face.of_b ? 0 : 8;
  for (int k = 0; k < 3; ++k) number += corner_bit(corner[k] > Real(0), k);
  list.add({face.of_b ? p_WI : p_WR, face.of_b ? p_WR : p_WI, (face.of_b ? Real(1) : Real(-1)) * (X_WR.R_WS * n),
            f.sign * (deepest - on_face)[f.axis], std::uint32_t(number)});
}

template <typename Real>
AXION_HD_CALL void box_box(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                           const ShapePose<Real>& X_WB, ContactList<Real>& list) {
  const BoxPair<Real> pair{
      a.size, b.size, math::transpose_times(X_WA.R_WS, X_WB.p_WS - X_WA.p_WS), math::transpose(X_WA.R_WS) * X_WB.R_WS,
      X_WA,   X_WB};
  const Real bias = feature_bias(pair);
  const FaceAxis<Real> face = best_face_axis(pair, bias);
  if (face.separation >= list.margin) return;
  const EdgePairAxis<Real> edges = best_edge_pair_axis(pair);
  if (edges.separation >= list.margin) return;
  const Real separation = edges.separation > face.separation ? edges.separation : face.separation;
  const bool apart = separation > Real(0);

  // Cosine of the face normal and the edges' perpendicular: within 1.8 degrees they are taken for one direction.
  const math::Vec3<Real> axis =
      face.of_b ? pair.R_AB.column(face.axis) : math::Mat3<Real>::identity().column(face.axis);
  const bool agree = std::abs(math::dot(axis, edges.n)) > Real(BoxParameters::kSameAxis);
  const bool face_first = edges.separation <= face.separation + bias || agree;
  const Real accept = apart ? Real(BoxParameters::kApart) * separation + Real(BoxParameters::kApartBiases) * bias
                            : std::numeric_limits<Real>::max();

  if (!face_first && add_edge_contact(pair, edges, list)) return;
  if (add_face_contacts(pair, face, accept, list)) return;
  if (!apart) {
    add_deepest_vertex(pair, face, list);
    return;
  }
  if (face_first && add_edge_contact(pair, edges, list)) return;
  add_vertex_contacts(pair, list);
}

}  // namespace axion::collide
