// What sensors read of distances between shapes, of points within volumes and of images: MuJoCo's sensors `distance`,
// `normal`, `fromto`, `insidesite` and `camprojection`.
//
// Distances are those of the narrow phase (collide/nearest_points.hpp), of all shapes of one side to all of the other,
// and less than the sensor's cutoff; of equal ones the first in the scene's order counts. Called by read_sensors; needs
// no scratch. Cost: the pairs of shapes. Cannot fail.
#pragma once

#include "engine/collide/find_contacts.hpp"
#include "engine/collide/nearest_points.hpp"
#include "engine/readout/sense_contacts.hpp"

namespace axion::readout {

template <typename Real>
AXION_HD inline collide::ShapePose<Real> shape_at_pose(const model::WorldView<Real>& w,
                                                       const model::ShapeData<Real>& shape) {
  if (shape.body < 0) return {shape.p_CS, math::to_matrix(shape.q_CS)};
  const math::Quat<Real> q = w.q[shape.body];
  return {w.x[shape.body] + math::rotate(q, shape.p_CS), math::to_matrix(q * shape.q_CS)};
}

template <typename Real>
AXION_HD_CALL collide::NearestPoints<Real> nearest_of_sides(const model::ModelView<Real>& m,
                                                            const model::WorldView<Real>& w,
                                                            const model::SensorData<Real>& sensor) {
  const model::ContactSideData &first = sensor.contact.first, &second = sensor.contact.second;
  collide::NearestPoints<Real> nearest{{}, {}, {}, sensor.cutoff, false};
  for (int a = 0; a < m.shape_count; ++a) {
    if (!is_of_side(m, first, a)) continue;
    const collide::Shape<Real> shape_a = collide::shape_of(m, m.shapes[a]);
    const collide::ShapePose<Real> X_WA = shape_at_pose(w, m.shapes[a]);
    for (int b = 0; b < m.shape_count; ++b) {
      if (a == b || !is_of_side(m, second, b)) continue;
      const collide::NearestPoints<Real> next = collide::nearest_points(
          shape_a, X_WA, collide::shape_of(m, m.shapes[b]), shape_at_pose(w, m.shapes[b]), nearest.distance);
      if (next.is_near) nearest = next;
    }
  }
  return nearest;
}

// The numbers of a sensor of distances; nothing but the cutoff where nothing is near.
template <typename Real>
AXION_HD_CALL void read_distance(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::SensorData<Real>& sensor, Real* to) {
  const collide::NearestPoints<Real> nearest = nearest_of_sides(m, w, sensor);
  if (sensor.kind == model::SensorKind::kDistance) {
    to[0] = nearest.distance;
    return;
  }
  if (!nearest.is_near) return;
  if (sensor.kind == model::SensorKind::kNormal) {
    const math::Vec3<Real> n = nearest.distance < 0 ? nearest.normal : -nearest.normal;
    to[0] = n.x, to[1] = n.y, to[2] = n.z;
    return;
  }
  for (int k = 0; k < 3; ++k) to[k] = nearest.p_WA[k], to[3 + k] = nearest.p_WB[k];
}

// Whether a point of the world is within the sensor's zone, in its reference frame.
template <typename Real>
AXION_HD inline bool is_in_zone(const model::SensorData<Real>& sensor, const FrameMotion<Real>& zone,
                                const math::Vec3<Real>& p) {
  return is_within(sensor.zone, sensor.vector, math::rotate_inverse(zone.q, p - zone.p));
}

// Where a point of the world is in the image of a camera; of one in the camera's own plane, far out.
template <typename Real>
AXION_HD inline void project(const model::SensorData<Real>& sensor, const FrameMotion<Real>& camera,
                             const math::Vec3<Real>& p, Real* to) {
  const math::Vec3<Real> seen = math::rotate_inverse(camera.q, p - camera.p);
  const Real least = Real(1e-15);  // MuJoCo's mjMINVAL
  const Real depth = std::abs(seen.z) > least ? seen.z : seen.z < 0 ? -least : least;
  to[0] = sensor.centre[0] - sensor.focal[0] * (seen.x / depth);
  to[1] = sensor.centre[1] + sensor.focal[1] * (seen.y / depth);
}

}  // namespace axion::readout
