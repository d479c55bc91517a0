// The length of a tendon's path through space, and the directions in which it pulls.
//
//   L = Σ_i w_i (|p_i − p_{i−1}| + arcs),  w = 1/divisor
//
// The path is a list of spans: from one site to the next, straight or about a sphere or a cylinder. A taut path is the
// shortest there is, so what its length gains by the motion of bodies is what its straight pieces gain at their two
// ends, the points of contact with an object held fixed in that: dL/dt = Σ w u·(v(q) − v(p)) over the straight pieces
// from p to q, u their direction. Each piece between two bodies is a term: a row between these bodies. An object that
// the path does not touch has both pieces as parts of one line, whose forces on it cancel to the last bit.
//
// In: poses of the bodies, as principal frames or in whatever frames the spans are given. Out: the length, and the row
// of each term. Cost: linear in spans.
#pragma once

#include "engine/math/wrap.hpp"
#include "engine/model/model_data.hpp"
#include "engine/model/row.hpp"

namespace axion::model {

// Poses of bodies; the world's is the identity.
template <typename Real>
struct BodyPoses {
  const math::Vec3<Real>* x;
  const math::Quat<Real>* q;
  AXION_HD math::Vec3<Real> origin(int body) const { return body < 0 ? math::Vec3<Real>{} : x[body]; }
  AXION_HD math::Vec3<Real> point(int body, const math::Vec3<Real>& p) const {
    return body < 0 ? p : x[body] + math::rotate(q[body], p);
  }
};

// Unit vector from p to q and their distance; what has no length points along x.
template <typename Real>
struct Piece {
  math::Vec3<Real> p, q, u;
  Real length;
};
template <typename Real>
AXION_HD inline Piece<Real> piece_between(const math::Vec3<Real>& p, const math::Vec3<Real>& q) {
  const math::Vec3<Real> d = q - p;
  const Real length = math::norm(d);
  if (!(length >= Real(math::kLeastLength))) return {p, q, {1, 0, 0}, length};
  return {p, q, (Real(1) / length) * d, length};
}

// The row of weight u·(v(q) − v(p)), p on body `from` and q on body `to`, not both the same: against `to`, or against
// `from` where `to` is the world.
template <typename Real>
AXION_HD inline Row<Real> row_of_piece(const BodyPoses<Real>& at, const Piece<Real>& piece, int from, int to,
                                       Real weight) {
  const math::Vec3<Real> l = weight * piece.u;
  const math::Vec3<Real> k_from = -math::cross(piece.p - at.origin(from), l);
  if (to < 0) return {-l, k_from, {}};
  return {l, math::cross(piece.q - at.origin(to), l), from < 0 ? math::Vec3<Real>{} : k_from};
}

// A slider-crank: the rod of length r from end q leads to the axis a from p, at L = a·v − √((a·v)² + r² − v·v), v = q −
// p; where it is too short, L = a·v. As of a straight piece, but for the direction of pull and what turns the axis:
// dL/dt = ∂L/∂v·(v(q) − v(p)) + ∂L/∂a·(ω × a).
template <typename Real, typename F>
AXION_HD_RARE Real measure_slider(const TendonSpanData<Real>& span, const BodyPoses<Real>& at, Real weight, F&& add) {
  const int from = span.body[0], to = span.body[1];
  const math::Vec3<Real> p = at.point(from, span.p[0]), q = at.point(to, span.p[1]), v = q - p;
  const math::Vec3<Real> z = math::rotate(span.q_object, math::Vec3<Real>{0, 0, 1});
  const math::Vec3<Real> a = from < 0 ? z : math::rotate(at.q[from], z);
  const Real along = math::dot(a, v), square = along * along + span.radius * span.radius - math::dot(v, v);
  const bool reaches = square > 0;
  const Real root = reaches ? std::sqrt(square) : Real(0), share = reaches ? 1 - along / root : Real(1);
  if (span.term[0] >= 0) {
    const math::Vec3<Real> pull = reaches ? share * a + (1 / root) * v : a;
    const math::Vec3<Real> l = weight * pull, turn = (weight * share) * math::cross(a, v);
    const math::Vec3<Real> k_from = turn - math::cross(p - at.origin(from), l);
    if (to < 0) {
      add(span.term[0], Row<Real>{-l, k_from, {}});
    } else {
      add(span.term[0], Row<Real>{l, math::cross(q - at.origin(to), l), from < 0 ? math::Vec3<Real>{} : k_from});
    }
  }
  return along - root;
}

// The row of a wrench: l·(v(q) − v(p)) + t·(ω(q) − ω(p)), its force l and torque t by the axes that it goes by, p the
// side and q the frame. Its length is where q is from p in these axes, and as what rotation, both weighted alike.
template <typename Real, typename F>
AXION_HD_RARE Real measure_wrench(const TendonSpanData<Real>& span, const BodyPoses<Real>& at, Real weight, F&& add) {
  const int from = span.body[0], to = span.body[1];
  const math::Quat<Real> end = to < 0 ? span.q_end : at.q[to] * span.q_end;
  const math::Quat<Real> side = !span.has_side ? end : from < 0 ? span.q_object : at.q[from] * span.q_object;
  const math::Vec3<Real> p = at.point(from, span.p[0]), q = at.point(to, span.p[1]);
  if (span.term[0] >= 0) {
    const math::Vec3<Real> l = weight * math::rotate(side, span.force), t = weight * math::rotate(side, span.torque);
    const math::Vec3<Real> k_from = -math::cross(p - at.origin(from), l) - t;
    if (to < 0) {
      add(span.term[0], Row<Real>{-l, k_from, {}});
    } else {
      add(span.term[0], Row<Real>{l, math::cross(q - at.origin(to), l) + t, from < 0 ? math::Vec3<Real>{} : k_from});
    }
  }
  if (!span.has_side) return Real(0);
  math::Quat<Real> r = math::normalized(math::conjugate(side) * end);
  if (r.w < 0) r = {-r.w, -r.x, -r.y, -r.z};
  const Real sine = math::norm(r.vec());
  const Real turn = sine > 0 ? 2 * math::arc_tangent(sine, r.w) / sine : Real(2);  // of the rotation vector over r's
  return math::dot(span.force, math::rotate_inverse(side, q - p)) + turn * math::dot(span.torque, r.vec());
}

// Length of one span before its weight. add(term, row) with the rows of its terms, each with `weight`.
template <typename Real, typename F>
AXION_HD_RARE Real measure_span(const TendonSpanData<Real>& span, const BodyPoses<Real>& at, Real weight, F&& add) {
  const math::Vec3<Real> start = at.point(span.body[0], span.p[0]), end = at.point(span.body[1], span.p[1]);
  if (span.kind == SpanKind::kStraight) {
    const Piece<Real> piece = piece_between(start, end);
    if (span.term[0] >= 0) add(span.term[0], row_of_piece(at, piece, span.body[0], span.body[1], weight));
    return piece.length;
  }
  if (span.kind == SpanKind::kSlider) return measure_slider(span, at, weight, add);
  if (span.kind == SpanKind::kWrench) return measure_wrench(span, at, weight, add);
  const int body = span.object;
  const math::Vec3<Real> centre = at.point(body, span.p_object);
  const math::Quat<Real> turn = body < 0 ? span.q_object : at.q[body] * span.q_object;
  const auto local = [&](const math::Vec3<Real>& p) { return math::rotate_inverse(turn, p - centre); };
  const math::Vec3<Real> side = span.has_side ? local(at.point(span.side_body, span.p_side)) : math::Vec3<Real>{};
  const math::WrappedPath<Real> path = math::wrap_path<Real>(local(start), local(end), span.has_side ? &side : nullptr,
                                                             span.radius, span.kind == SpanKind::kCylinder);
  Piece<Real> pieces[2];
  Real length = 0;
  if (path.wraps) {
    pieces[0] = piece_between(start, centre + math::rotate(turn, path.meets));
    pieces[1] = piece_between(centre + math::rotate(turn, path.leaves), end);
    length = pieces[0].length + path.arc + pieces[1].length;
  } else {
    pieces[0] = piece_between(start, end);
    pieces[1] = pieces[0];
    pieces[1].p = end;  // both pieces act on the object at the same point
    length = pieces[0].length;
  }
  if (span.term[0] >= 0) add(span.term[0], row_of_piece(at, pieces[0], span.body[0], body, weight));
  if (span.term[1] >= 0) add(span.term[1], row_of_piece(at, pieces[1], body, span.body[1], weight));
  return length;
}

// Weighted lengths of the spans of a tendon, or of the first and the second coordinate of an equality.
template <typename Real>
struct PathLengths {
  Real first = 0, second = 0;
};

template <typename Real, typename F>
AXION_HD_RARE PathLengths<Real> measure_path(const TendonSpanData<Real>* spans, int count, const BodyPoses<Real>& at,
                                             F&& add) {
  PathLengths<Real> sum;
  for (int k = 0; k < count; ++k) {
    const Real length = spans[k].weight * measure_span(spans[k], at, Real(1), add);
    if (spans[k].of_second) {
      sum.second += length;
    } else {
      sum.first += length;
    }
  }
  return sum;
}

}  // namespace axion::model
