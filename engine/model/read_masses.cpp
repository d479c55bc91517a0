#include "engine/model/read_masses.hpp"

#include <cmath>

namespace axion::model {
namespace {

constexpr double kRoundedAway = 1e-12;  // of a mass: what rounding leaves of it

math::Mat3<double> point_inertia(double mass, const math::Vec3<double>& p) {
  const double square = math::dot(p, p);
  return mass * (math::Mat3<double>::diagonal(square, square, square) + (-1.0) * math::outer(p, p));
}

BodySpec with_unread(const BodySpec& body, const UnreadMass& unread, double sign) {
  BodySpec out = body;
  const math::Vec3<double> p = to_vec3(body.p_BoBcm);
  const double mass = body.mass + sign * unread.mass;
  if (!(mass > kRoundedAway * (body.mass + std::abs(unread.mass)))) {
    out.mass = 0, out.p_BoBcm = {}, out.I_Bcm = {};
    return out;
  }
  const math::Vec3<double> centre = (1 / mass) * (body.mass * p + sign * unread.moment);
  const math::Mat3<double> inertia = to_matrix(body.I_Bcm) + point_inertia(body.mass, p) + sign * unread.inertia;
  out.mass = mass;
  out.p_BoBcm = to_spec(centre);
  out.I_Bcm = to_spec(inertia + (-1.0) * point_inertia(mass, centre));
  return out;
}

}  // namespace

void add_part(const MassProperties& part, double sign, UnreadMass& unread) {
  unread.mass += sign * part.mass;
  unread.moment += (sign * part.mass) * part.p_cm;
  unread.inertia = unread.inertia + sign * (part.I_cm + point_inertia(part.mass, part.p_cm));
}

BodySpec as_read(const BodySpec& body, const UnreadMass& unread) { return with_unread(body, unread, -1); }
BodySpec from_read(const BodySpec& read, const UnreadMass& unread) { return with_unread(read, unread, 1); }

void read_masses(const std::vector<UnreadMass>& unread, std::vector<BodySpec>& bodies) {
  for (const UnreadMass& of : unread) {
    BodySpec& body = bodies[static_cast<std::size_t>(of.body)];
    body = as_read(body, of);
  }
}

}  // namespace axion::model
