// All contacts of a world at the start of a step.
//
// Broad phase: the model's pairs whose bounding spheres come within a margin that grows with their speed, so that large
// steps do not tunnel. Narrow phase: collide_pair into each pair's own slots. Compaction keeps the order of pairs and of
// features, so that the result does not depend on how the team runs. More than the world holds: the deepest stay.
#pragma once

#include "engine/collide/collide_pair.hpp"
#include "engine/team/team.hpp"
#include "engine/model/step_settings.hpp"
#include "engine/model/world_view.hpp"

namespace axion::collide {

// Where shape i is, and how far its surface may move in a step.
template <typename Real>
AXION_HD inline void place_shape(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i, Real dt) {
  const model::ShapeData<Real>& shape = m.shapes[i];
  if (shape.body < 0) {
    w.shape_centre[i] = shape.p_CS, w.shape_axes[i] = math::to_matrix(shape.q_CS), w.shape_reach[i] = 0;
    return;
  }
  const math::Quat<Real>& q = w.q[shape.body];
  const Real radius = math::norm(shape.p_CS) + shape.bounding_radius;
  w.shape_centre[i] = w.x[shape.body] + math::rotate(q, shape.p_CS);
  w.shape_axes[i] = math::to_matrix(q * shape.q_CS);
  w.shape_reach[i] = dt * (math::norm(w.v[shape.body]) + math::norm(w.omega[shape.body]) * radius + Real(9.81) * dt);
}

template <typename Real>
AXION_HD inline Real pair_margin(const model::WorldView<Real>& w, const model::PairData<Real>& pair,
                                 const model::StepSettings<Real>& s) {
  return s.contact_margin + w.shape_reach[pair.shape_a] + w.shape_reach[pair.shape_b];
}

// Whether the bounding spheres come within the margin; a plane is its half space.
template <typename Real>
AXION_HD inline bool near_each_other(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                     const model::PairData<Real>& pair, const model::StepSettings<Real>& s) {
  const model::ShapeData<Real>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
  const Real margin = pair_margin(w, pair, s);
  const math::Vec3<Real> d = w.shape_centre[pair.shape_a] - w.shape_centre[pair.shape_b];
  if (b.kind == model::ShapeKind::kPlane) {
    return math::dot(w.shape_axes[pair.shape_b].column(2), d) < a.bounding_radius + margin;
  }
  const Real distance = a.bounding_radius + b.bounding_radius + margin;
  return math::dot(d, d) < distance * distance;
}

template <typename Real>
AXION_HD_CALL model::Contact<Real> make_contact(const model::WorldView<Real>& w, const model::ShapeData<Real>& a,
                                                  const model::ShapeData<Real>& b, int pair, Real friction,
                                                  const ContactPoint<Real>& point) {
  model::Contact<Real> c{};
  c.body_a = a.body, c.body_b = b.body, c.pair = pair, c.feature = point.feature;
  c.normal = point.normal, c.p_WA = point.p_WA, c.gap = point.gap, c.friction = friction;
  math::tangent_basis(c.normal, c.t1, c.t2);
  // Two moving bodies share one point: a friction impulse on either side of a gap would be a couple from nowhere.
  const math::Vec3<Real> p = b.body < 0 ? point.p_WA : Real(0.5) * (point.p_WA + point.p_WB);
  c.r_a = p - w.x[a.body];
  if (b.body >= 0) c.r_b = p - w.x[b.body];
  return c;
}

// Marks the deepest `capacity` of the kept candidates; rare, so one member of the team does it. Returns capacity.
template <typename Real>
AXION_HD inline int keep_deepest(const model::WorldView<Real>& w, int kept, int capacity) {
  for (int i = 0; i < kept - capacity; ++i) {  // drop the shallowest, one at a time, keeping the order of the rest
    int shallowest = 0;
    for (int k = 1; k < kept - i; ++k) {
      if (w.candidate[w.candidate_kept[k]].gap > w.candidate[w.candidate_kept[shallowest]].gap) shallowest = k;
    }
    for (int k = shallowest; k + 1 < kept - i; ++k) w.candidate_kept[k] = w.candidate_kept[k + 1];
  }
  return capacity;
}

struct ContactSearch {
  int count;
  bool overflow;
};

template <typename Real, typename Team>
AXION_HD_CALL ContactSearch find_contacts(const Team& team, const model::ModelView<Real>& m,
                                            const model::WorldView<Real>& w, const model::StepSettings<Real>& s) {
  team.for_each(m.shape_count, [&](int i) { place_shape(m, w, i, s.dt); });
  const int active = team.filter(
      m.pair_count, [&](int i) { return near_each_other(m, w, m.pairs[i], s); },
      [&](int i, int k) { w.pair_active[k] = static_cast<std::uint32_t>(i); });
  team.for_each(1, [&](int) {
    int slot = 0;
    for (int k = 0; k < active; ++k) {
      w.candidate_start[k] = slot;
      slot += m.pairs[w.pair_active[k]].contact_max;
    }
  });
  team.for_each(active, [&](int k) {
    const int index = static_cast<int>(w.pair_active[k]);
    const model::PairData<Real>& pair = m.pairs[index];
    const model::ShapeData<Real>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
    ContactPoint<Real> points[kMaxPairContacts];
    w.candidate_count[k] = 0;
    if (w.candidate_start[k] + pair.contact_max > m.candidate_capacity) return;  // counted as an overflow below
    const ShapePose<Real> X_WA{w.shape_centre[pair.shape_a], w.shape_axes[pair.shape_a]};
    const ShapePose<Real> X_WB{w.shape_centre[pair.shape_b], w.shape_axes[pair.shape_b]};
    const int found = collide_pair(Shape<Real>{a.kind, a.size}, X_WA, Shape<Real>{b.kind, b.size}, X_WB,
                                   pair_margin(w, pair, s), points);
    const int count = found < pair.contact_max ? found : pair.contact_max;
    for (int i = 0; i < count; ++i) {
      w.candidate[w.candidate_start[k] + i] =
          make_contact(w, a, b, index, pair.friction * w.friction_scale[0], points[i]);
    }
    w.candidate_count[k] = count;
  });
  team.for_each(1, [&](int) {
    int kept = 0;
    for (int k = 0; k < active; ++k) {
      for (int i = 0; i < w.candidate_count[k]; ++i) w.candidate_kept[kept++] = w.candidate_start[k] + i;
    }
    w.record->contact_count = kept > m.contact_capacity ? keep_deepest(w, kept, m.contact_capacity) : kept;
    const int last = active - 1;
    const bool dropped =
        kept > m.contact_capacity ||
        (active > 0 && w.candidate_start[last] + m.pairs[w.pair_active[last]].contact_max > m.candidate_capacity);
    w.contact_start[0] = dropped ? 1 : 0;  // carried out of the team below; the list of contacts is built later
  });
  const int count = w.record->contact_count;
  const bool overflow = w.contact_start[0] != 0;
  team.for_each(count, [&](int i) { w.contacts[i] = w.candidate[w.candidate_kept[i]]; });
  return {count, overflow};
}

}  // namespace axion::collide
