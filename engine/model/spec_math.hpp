// Poses and mass properties of the plain data in SceneSpec, in double precision.
//
// For code that builds or rewrites a SceneSpec (import, merge_welds, compile); step code has its own types.
// Frames follow the monogram notation of scene_spec.hpp. Nothing here checks its input: see validate_scene.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>

#include "engine/math/mat3.hpp"
#include "engine/math/quat.hpp"
#include "engine/math/vec3.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::model {

// As a person would read it in a message.
inline std::string to_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

inline math::Vec3<double> to_vec3(const Vec3d& a) { return {a[0], a[1], a[2]}; }
inline Vec3d to_spec(const math::Vec3<double>& a) { return {a.x, a.y, a.z}; }
inline Quatd to_spec(const math::Quat<double>& a) { return {a.w, a.x, a.y, a.z}; }

// Normalised. Divided by its largest component first, so that no square overflows; the caller knows it is not zero.
inline math::Quat<double> to_quat(const Quatd& a) {
  const double s = std::max({std::abs(a[0]), std::abs(a[1]), std::abs(a[2]), std::abs(a[3])});
  return math::normalized(math::Quat<double>{a[0] / s, a[1] / s, a[2] / s, a[3] / s});
}

// X_AB: takes points of frame B to frame A.
struct Pose {
  math::Quat<double> rotation{};
  math::Vec3<double> position{};
};

inline Pose to_pose(const PoseSpec& X) { return {to_quat(X.rotation), to_vec3(X.position)}; }
inline PoseSpec to_spec(const Pose& X) { return {to_spec(X.position), to_spec(X.rotation)}; }

// X_AC = X_AB X_BC
inline Pose operator*(const Pose& X_AB, const Pose& X_BC) {
  return {math::normalized(X_AB.rotation * X_BC.rotation), X_AB.position + math::rotate(X_AB.rotation, X_BC.position)};
}
// X_BA
inline Pose inverse(const Pose& X_AB) {
  return {math::conjugate(X_AB.rotation), -math::rotate_inverse(X_AB.rotation, X_AB.position)};
}
// p_A of a point given by p_B.
inline math::Vec3<double> operator*(const Pose& X_AB, const math::Vec3<double>& p_B) {
  return X_AB.position + math::rotate(X_AB.rotation, p_B);
}

// Components in the order xx yy zz xy xz yz.
inline math::Mat3<double> to_matrix(const std::array<double, 6>& I) {
  return {{{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}}};
}
inline std::array<double, 6> to_spec(const math::Mat3<double>& I) {
  return {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)};
}

// Mass, centre of mass and rotational inertia about it, all in one frame.
struct MassProperties {
  double mass = 0;            // kg
  math::Vec3<double> p_cm{};  // m
  math::Mat3<double> I_cm{};  // kg m^2
};

// The same matter, expressed in frame A instead of B.
inline MassProperties re_express(const Pose& X_AB, const MassProperties& part) {
  const math::Mat3<double> R = math::to_matrix(X_AB.rotation);
  return {part.mass, X_AB * part.p_cm, R * part.I_cm * math::transpose(R)};
}

// The sum of parts that share a frame, by the parallel axis theorem:
//   m = Σ m_i,  p = Σ m_i p_i / m,  I = Σ I_i + m_i (|d_i|² 1 − d_i d_iᵀ),  d_i = p_i − p.
// Without any mass the centre stays at the frame's origin.
inline MassProperties combine(std::span<const MassProperties> parts) {
  MassProperties sum;
  for (const MassProperties& part : parts) {
    sum.mass += part.mass;
    sum.p_cm += part.mass * part.p_cm;
  }
  sum.p_cm = sum.mass > 0 ? (1 / sum.mass) * sum.p_cm : math::Vec3<double>{};
  for (const MassProperties& part : parts) {
    const math::Vec3<double> d = part.p_cm - sum.p_cm;
    sum.I_cm = sum.I_cm + part.I_cm + (part.mass * math::dot(d, d)) * math::Mat3<double>::identity() +
               (-part.mass) * math::outer(d, d);
  }
  return sum;
}

}  // namespace axion::model
