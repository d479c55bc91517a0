// Whether two shapes may come near each other within a step: where they are, how they move, and the test of their
// spheres.
#pragma once

#include <limits>

#include "engine/collide/collide_scratch.hpp"
#include "engine/math/mat3.hpp"
#include "engine/model/step_settings.hpp"

namespace axion::collide {

// Velocities that motion within the step is foreseen from: the last ones, and those of a solve where there is one.
enum class Foresight { kLast, kLastAndSolved };

// How far a shape's surface moves in a step by its body's turning, m.
template <typename Real>
AXION_HD inline Real turning_reach(const model::ShapeData<Real>& shape, ConstArray<math::Vec3<Real>> omega, Real dt) {
  if (shape.body < 0) return 0;
  return dt * math::norm(omega[shape.body]) * (math::norm(shape.p_CS) + shape.bounding_radius);
}

// How far from its centre any of a shape may come within a step, if its body moves at `v`; planes have no end.
template <typename Real>
AXION_HD inline Real shape_range(const model::ShapeData<Real>& shape, Real reach, ConstArray<math::Vec3<Real>> v,
                                 Real dt) {
  if (shape.kind == model::ShapeKind::kPlane) return std::numeric_limits<Real>::infinity();
  return shape.bounding_radius + reach + (shape.body < 0 ? Real(0) : dt * math::norm(v[shape.body]));
}

// Bodies fall towards the world's shapes, whose reach in a step is therefore what gravity adds to it; two bodies fall
// alike.
template <typename Real>
AXION_HD inline void place_shape(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i, Real dt) {
  const model::ShapeData<Real>& shape = m.shapes[i];
  if (shape.body < 0) {
    w.collide.shape_reach[i] = dt * dt * math::norm(m.gravity);
    w.collide.shape_range[i] = shape_range(shape, w.collide.shape_reach[i], w.v, dt);
    w.collide.shape_centre[i] = shape.p_CS, w.collide.shape_axes[i] = math::to_matrix(shape.q_CS);
    return;
  }
  w.collide.shape_reach[i] = turning_reach(shape, w.omega, dt);
  w.collide.shape_range[i] = shape_range(shape, w.collide.shape_reach[i], w.v, dt);
  const math::Quat<Real>& q = w.q[shape.body];
  w.collide.shape_centre[i] = w.x[shape.body] + math::rotate(q, shape.p_CS);
  w.collide.shape_axes[i] = math::to_matrix(q * shape.q_CS);
}

// After a solve: what a shape reaches along its result's velocities, too.
template <typename Real>
AXION_HD inline void reach_as_solved(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i, Real dt) {
  const model::ShapeData<Real>& shape = m.shapes[i];
  const Real reach = turning_reach(shape, w.omega_plus, dt);
  if (reach > w.collide.shape_reach[i]) w.collide.shape_reach[i] = reach;
  const Real last = shape_range(shape, w.collide.shape_reach[i], w.v, dt),
             solved = shape_range(shape, w.collide.shape_reach[i], w.v_plus, dt);
  w.collide.shape_range[i] = last > solved ? last : solved;
}

// What shape a moves beside shape b in a step, but for their turning.
template <typename Real>
AXION_HD inline math::Vec3<Real> relative_travel(const model::ShapeData<Real>& a, const model::ShapeData<Real>& b,
                                                 ConstArray<math::Vec3<Real>> v, Real dt) {
  return b.body < 0 ? dt * v[a.body] : dt * (v[a.body] - v[b.body]);
}

// Gaps below this are candidates. What forces other than gravity add is made up for after the solve
// (review_contacts.hpp).
template <typename Real>
AXION_HD inline Real pair_margin(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::PairData<Real>& pair, const model::StepSettings<Real>& s,
                                 Foresight foresight) {
  const model::ShapeData<Real>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
  Real travel = math::norm(relative_travel(a, b, w.v, s.dt));
  if (foresight == Foresight::kLastAndSolved) {
    const Real solved = math::norm(relative_travel(a, b, w.v_plus, s.dt));
    if (solved > travel) travel = solved;
  }
  return s.contact_margin + w.collide.shape_reach[pair.shape_a] + w.collide.shape_reach[pair.shape_b] + travel;
}

// Whether bounding spheres whose centres are d apart, the first moving by `travel`, come within `distance` centre to
// centre; a plane is its half space.
template <typename Real>
AXION_HD inline bool come_near(const math::Vec3<Real>& d, const math::Vec3<Real>& travel, Real distance) {
  const Real along = -math::dot(d, travel), length2 = math::dot(travel, travel);
  const Real t = along <= Real(0) ? Real(0) : (along >= length2 ? Real(1) : along / length2);
  const math::Vec3<Real> nearest = d + t * travel;
  return math::dot(nearest, nearest) < distance * distance;
}

// Whether two shapes that are in reach come near each other in the step.
template <typename Real>
AXION_HD inline bool meet_in_reach(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int shape_a,
                                   int shape_b, const model::StepSettings<Real>& s, Foresight foresight) {
  const math::Vec3<Real> d = w.collide.shape_centre[shape_a] - w.collide.shape_centre[shape_b];
  const model::ShapeData<Real>&a = m.shapes[shape_a], &b = m.shapes[shape_b];
  const Real margin = s.contact_margin + w.collide.shape_reach[shape_a] + w.collide.shape_reach[shape_b];
  const auto near = [&](const math::Vec3<Real>* v) {
    const math::Vec3<Real> travel = relative_travel(a, b, v, s.dt);
    if (b.kind == model::ShapeKind::kPlane) {
      const math::Vec3<Real> normal = w.collide.shape_axes[shape_b].column(2);
      const Real closing = math::dot(normal, travel);
      return math::dot(normal, d) + (closing < 0 ? closing : Real(0)) < a.bounding_radius + margin;
    }
    return come_near(d, travel, a.bounding_radius + b.bounding_radius + margin);
  };
  return near(w.v) || (foresight == Foresight::kLastAndSolved && near(w.v_plus));
}

template <typename Real>
AXION_HD_SMALL inline bool near_each_other(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                           int shape_a, int shape_b, const model::StepSettings<Real>& s,
                                           Foresight foresight) {
  const math::Vec3<Real> d = w.collide.shape_centre[shape_a] - w.collide.shape_centre[shape_b];
  const Real range = s.contact_margin + w.collide.shape_range[shape_a] + w.collide.shape_range[shape_b];
  if (math::dot(d, d) >= range * range) return false;  // most pairs, and nothing else is read of them
  return meet_in_reach(m, w, shape_a, shape_b, s, foresight);
}

}  // namespace axion::collide
