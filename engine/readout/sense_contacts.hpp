// What a contact sensor reads of the contacts of the step just made: MuJoCo's sensor `contact`.
//
// Contacts count that push or overlap. One belongs to the sensor if one of its shapes is of the first side and the
// other of the second; where either way fits, the shape that the scene lists first is the first side's. Its normal n
// points out of the first side's shape, its tangents are t, what of an axis of the world is across n (y, or z where n
// is nearly along y), and n × t. The force is what the first side exerts on the second. Places and distances are those
// at the start of the step, as all that sensors of forces read (sense.hpp). Cost: the contacts times the slots.
#pragma once

#include "engine/model/shape_pairs.hpp"
#include "engine/model/world_state.hpp"
#include "engine/readout/frame_motion.hpp"

namespace axion::readout {

// What contact i exerts on its first body, N.
template <typename Real>
AXION_HD inline math::Vec3<Real> contact_force(const model::WorldView<Real>& w, int i) {
  const model::Contact<Real>& c = w.contacts[i];
  const Real* lambda = w.lambda_contact + 3 * i;
  return (1 / w.body_force_step[c.body_a]) * (lambda[0] * c.normal + lambda[1] * c.t1 + lambda[2] * c.t2);
}

// What its torsional and rolling friction exerts on its first body, N m.
template <typename Real>
AXION_HD inline math::Vec3<Real> contact_torque(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                                int i) {
  if (m.moment_capacity == 0) return {};
  return (1 / w.body_force_step[w.contacts[i].body_a]) * w.contact_moment[i];
}

// Half way between the surfaces.
template <typename Real>
AXION_HD inline math::Vec3<Real> contact_place(const model::Contact<Real>& c) {
  return c.p_WA - Real(0.5) * c.gap * c.normal;
}

// Whether a point, in the frame of a shape, is within it.
template <typename Real>
AXION_HD inline bool is_within(model::ShapeKind kind, const math::Vec3<Real>& size, const math::Vec3<Real>& p) {
  const Real across = p.x * p.x + p.y * p.y, radius = size.x * size.x;
  switch (kind) {
    case model::ShapeKind::kSphere:
      return across + p.z * p.z < radius;
    case model::ShapeKind::kCapsule: {
      const Real beyond = std::abs(p.z) > size.y ? std::abs(p.z) - size.y : Real(0);
      return across + beyond * beyond < radius;
    }
    case model::ShapeKind::kBox:
      return std::abs(p.x) < size.x && std::abs(p.y) < size.y && std::abs(p.z) < size.z;
    case model::ShapeKind::kCylinder:
      return std::abs(p.z) < size.y && across < radius;
    case model::ShapeKind::kEllipsoid: {
      const math::Vec3<Real> u{p.x / size.x, p.y / size.y, p.z / size.z};
      return math::dot(u, u) < 1;
    }
    default:
      return false;
  }
}

template <typename Real>
AXION_HD inline bool is_of_side(const model::ModelView<Real>& m, const model::ContactSideData& side, int shape) {
  const int part = m.shape_contacts[shape].part;
  switch (side.kind) {
    case model::ContactSideKind::kShape:
      return shape == side.index;
    case model::ContactSideKind::kBody:
      return part == side.index;
    case model::ContactSideKind::kSubtree:
      return side.index == 0 ||
             model::is_listed(m.sensors.part_list, side.part_start, side.part_start + side.part_count, part);
    default:
      return true;
  }
}

enum class ContactMatch : signed char { kNone, kListed, kTurned };

// How contact i belongs to a sensor: kTurned where its second shape is of the first side.
template <typename Real>
AXION_HD_CALL ContactMatch match_contact(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                         const model::SensorData<Real>& sensor, const FrameMotion<Real>& zone, int i) {
  const model::Contact<Real>& c = w.contacts[i];
  if (!(w.lambda_contact[3 * i] > 0) && !(c.gap <= 0)) return ContactMatch::kNone;
  const model::ContactSideData &first = sensor.contact.first, &second = sensor.contact.second;
  if (first.kind == model::ContactSideKind::kZone &&
      !is_within(sensor.zone, sensor.vector, math::rotate_inverse(zone.q, contact_place(c) - zone.p))) {
    return ContactMatch::kNone;
  }
  const model::PairData<Real> pair = model::pair_data(m, c.pair);
  const auto fits = [&](int a, int b) { return is_of_side(m, first, a) && is_of_side(m, second, b); };
  const bool listed = fits(pair.shape_a, pair.shape_b), turned = fits(pair.shape_b, pair.shape_a);
  if (listed && turned) return pair.shape_a < pair.shape_b ? ContactMatch::kListed : ContactMatch::kTurned;
  return listed ? ContactMatch::kListed : turned ? ContactMatch::kTurned : ContactMatch::kNone;
}

template <typename Real>
AXION_HD inline math::Vec3<Real> first_tangent(const math::Vec3<Real>& n) {
  const math::Vec3<Real> y = std::abs(n.y) < Real(0.5) ? math::Vec3<Real>{0, 1, 0} : math::Vec3<Real>{0, 0, 1};
  return math::normalized(y - math::dot(y, n) * n);
}

// The numbers of a slot that a sensor reads, in their order.
template <typename Real>
struct ContactSlot {
  std::uint8_t data;
  Real* to;
  AXION_HD void put(model::ContactDatum datum, Real value) {
    if ((data >> static_cast<int>(datum) & 1) != 0) *to++ = value;
  }
  AXION_HD void put(model::ContactDatum datum, const math::Vec3<Real>& v) {
    for (int k = 0; k < 3; ++k) put(datum, v[k]);
  }
};

template <typename Real>
AXION_HD_CALL void fill_slot(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i,
                             ContactMatch match, int found, ContactSlot<Real>& slot) {
  using enum model::ContactDatum;
  const model::Contact<Real>& c = w.contacts[i];
  const bool listed = match == ContactMatch::kListed;
  const math::Vec3<Real> n = listed ? -c.normal : c.normal, t = first_tangent(n);
  const math::Vec3<Real> force = listed ? -contact_force(w, i) : contact_force(w, i);
  const math::Vec3<Real> torque = listed ? -contact_torque(m, w, i) : contact_torque(m, w, i);
  const auto in_frame = [&](const math::Vec3<Real>& v) {
    return math::Vec3<Real>{math::dot(v, n), math::dot(v, t), math::dot(v, math::cross(n, t))};
  };
  slot.put(kFound, Real(found));
  slot.put(kForce, in_frame(force));
  slot.put(kTorque, in_frame(torque));
  slot.put(kDist, c.gap);
  slot.put(kPos, contact_place(c));
  slot.put(kNormal, n);
  slot.put(kTangent, t);
}

// Force and torque of all together, about the mean of their places by the sizes of their forces.
template <typename Real, typename Visit>
AXION_HD_CALL void fill_net_force(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int found,
                                  const Visit& for_each_match, ContactSlot<Real>& slot) {
  using enum model::ContactDatum;
  math::Vec3<Real> centre{}, force{}, torque{};
  Real weight = 0;
  for_each_match([&](int i, ContactMatch) {
    const math::Vec3<Real> f = contact_force(w, i);
    const Real size = std::sqrt(math::dot(f, f));
    centre += size * contact_place(w.contacts[i]);
    weight += size;
  });
  centre = weight > 0 ? (1 / weight) * centre : math::Vec3<Real>{};
  for_each_match([&](int i, ContactMatch match) {
    const math::Vec3<Real> f = match == ContactMatch::kListed ? -contact_force(w, i) : contact_force(w, i);
    force += f;
    torque += math::cross(contact_place(w.contacts[i]) - centre, f);
    if (m.moment_capacity == 0) return;
    torque += match == ContactMatch::kListed ? -contact_torque(m, w, i) : contact_torque(m, w, i);
  });
  slot.put(kFound, Real(found));
  slot.put(kForce, force);
  slot.put(kTorque, torque);
  slot.put(kDist, Real(0));
  slot.put(kPos, centre);
  slot.put(kNormal, math::Vec3<Real>{1, 0, 0});
  slot.put(kTangent, math::Vec3<Real>{0, 1, 0});
}

// All slots of a sensor; those without a contact are zero.
template <typename Real>
AXION_HD_CALL void sense_contacts(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                  const model::SensorData<Real>& sensor, const FrameMotion<Real>& zone, Real* to) {
  using model::ContactReduction;
  for (int k = 0; k < sensor.size; ++k) to[k] = 0;
  const auto for_each_match = [&](auto&& f) {
    for (int i = 0; i < w.record->contact_count; ++i) {
      const ContactMatch match = match_contact(m, w, sensor, zone, i);
      if (match != ContactMatch::kNone) f(i, match);
    }
  };
  int found = 0;
  for_each_match([&](int, ContactMatch) { ++found; });
  if (found == 0) return;
  const ContactReduction reduction = sensor.contact.reduction;
  ContactSlot<Real> slot{sensor.contact.data, to};
  if (reduction == ContactReduction::kNetForce) return fill_net_force(m, w, found, for_each_match, slot);
  const auto rank = [&](int i) {
    if (reduction == ContactReduction::kMinDist) return w.contacts[i].gap;
    if (reduction == ContactReduction::kNone) return Real(0);
    const math::Vec3<Real> f = contact_force(w, i);
    return -math::dot(f, f);
  };
  int last = -1;  // contact in the slot before; equal ranks come in the order of the contacts
  for (int k = 0; k < sensor.contact.slots && k < found; ++k) {
    int next = -1;
    ContactMatch of_next = ContactMatch::kNone;
    for_each_match([&](int i, ContactMatch match) {
      const Real r = rank(i);
      if (last >= 0 && (r < rank(last) || (r == rank(last) && i <= last))) return;
      if (next >= 0 && !(r < rank(next))) return;
      next = i, of_next = match;
    });
    fill_slot(m, w, next, of_next, found, slot);
    last = next;
  }
}

}  // namespace axion::readout
