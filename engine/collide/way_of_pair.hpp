// The way of two shapes through a step: whether they overlap at any instant of it.
//
// By conservative advancement (Mirtich 1996): a plane between two convex shapes parts them as long as neither comes
// through it, and how fast they can is known, by how their bodies move and how far they turn. From one such instant to
// the next the narrow phase is asked for the plane anew. Bodies that do not turn meet each plane as its gap closes, so
// that few rounds are enough; where rounds do not reach the end of the step, the last instant counts as one at which
// they meet. Used by find_contacts.hpp and review_contacts.hpp only.
#pragma once

#include "engine/collide/near_pairs.hpp"
#include "engine/collide/one_surface.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

// A body's motion within the step; the world and its bodies start as the step does.
template <typename Real>
struct BodyWay {
  math::Vec3<Real> d;  // m, of its centre of mass
  math::Vec3<Real> r;  // rotation vector
};

// At velocities v and omega.
template <typename Real>
AXION_HD inline BodyWay<Real> way_at(int body, ConstArray<math::Vec3<Real>> v, ConstArray<math::Vec3<Real>> omega,
                                     Real dt) {
  if (body < 0) return {{}, {}};
  return {dt * v[body], dt * omega[body]};
}

// The pose of shape i at a share of the step.
template <typename Real>
AXION_HD inline ShapePose<Real> pose_on_way(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i,
                                            const BodyWay<Real>& way, Real share) {
  const model::ShapeData<Real>& shape = m.shapes[i];
  if (shape.body < 0 || share <= Real(0)) return start_pose(w, i);
  const math::Quat<Real> q = math::normalized(math::exp_rotation(share * way.r) * w.q[shape.body]);
  return {w.x[shape.body] + share * way.d + math::rotate(q, shape.p_CS), math::to_matrix(q * shape.q_CS)};
}

// How far shape i's surface moves by its body's turning, m, at most: round shapes may turn about their axes.
template <typename Real>
AXION_HD inline Real turned_reach(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i,
                                  const BodyWay<Real>& way) {
  using model::ShapeKind;
  const model::ShapeData<Real>& shape = m.shapes[i];
  if (shape.body < 0) return 0;
  const Real angle = math::norm(way.r), centre = angle * math::norm(shape.p_CS);
  if (shape.kind == ShapeKind::kSphere) return centre;
  const bool is_round = shape.kind == ShapeKind::kCapsule || shape.kind == ShapeKind::kCylinder;
  const Real tilt = is_round ? math::norm(math::cross(way.r, w.collide.shape_axes[i].column(2))) : angle;
  return centre + tilt * shape.bounding_radius;
}

// What was found on the way.
template <typename Real>
struct Meeting {
  bool met;                 // the shapes overlap by more than was allowed
  Real share;               // of the step, at which they do, or up to which they were looked at
  math::Vec3<Real> normal;  // of the last contact that was looked at: from b to a
  Real gap;                 // and its gap, m; it is open where rounds end before the step does
};

template <typename Real>
AXION_HD_RARE Meeting<Real> meet_on_way(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                        const model::PairData<Real>& pair, const BodyWay<Real>& way_a,
                                        const BodyWay<Real>& way_b, Real allowed) {
  const Shape<Real> a = shape_of(m, m.shapes[pair.shape_a]), b = shape_of(m, m.shapes[pair.shape_b]);
  const math::Vec3<Real> d = way_a.d - way_b.d;
  const Real turning = turned_reach(m, w, pair.shape_a, way_a) + turned_reach(m, w, pair.shape_b, way_b);
  const Real slop = slop_of(m, pair), reach = math::norm(d) + turning;
  Meeting<Real> meeting{false, Real(0), {}, Real(0)};
  ContactPoint<Real> points[kMaxPairContacts];
  for (int round = 0; round < SearchParameters::kWayRounds; ++round) {
    const Real share = meeting.share;
    const int count =
        collide_pair(a, pose_on_way(m, w, pair.shape_a, way_a, share), b, pose_on_way(m, w, pair.shape_b, way_b, share),
                     (Real(1) - share) * reach + slop, points);
    if (count == 0) return meeting;
    const int least = nearest_of(points, count);
    meeting.normal = points[least].normal, meeting.gap = points[least].gap;
    meeting.met = points[least].gap < -allowed;
    if (meeting.met || share >= Real(1)) return meeting;
    const Real closing = turning - math::dot(meeting.normal, d);
    const Real until = points[least].gap + allowed + Real(0.5) * slop;
    if (!(closing > Real(0))) return meeting;  // they part along this plane
    meeting.share = until < (Real(1) - share) * closing ? share + until / closing : Real(1);
  }
  meeting.met = true;
  return meeting;
}

// Whether the plane of a contact that is made ahead of touching stands in the way where nothing does: along it the
// surfaces come through each other, yet the shapes never overlap.
template <typename Real>
AXION_HD inline bool misleads(const Meeting<Real>& meeting, const math::Vec3<Real>& normal, Real gap_after, Real slop) {
  return !meeting.met && (gap_after < -slop || math::dot(meeting.normal, normal) < Real(ReviewParameters::kSameNormal));
}

}  // namespace axion::collide
