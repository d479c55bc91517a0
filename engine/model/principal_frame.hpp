// The frame of a body's principal axes of inertia, at its centre of mass.
#pragma once

#include <cmath>

#include "engine/math/quat.hpp"
#include "engine/model/principal_axes.hpp"
#include "engine/model/scene_spec.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::model {

// Origin and rotation of a frame in another; p, q as in p_WC, q_WC.
struct Frame {
  math::Vec3<double> p;
  math::Quat<double> q;
};

inline Frame compose(const Frame& A, const Frame& B) { return {A.p + math::rotate(A.q, B.p), A.q * B.q}; }

// In the body's frame, with the principal moments, kg m². Inertia that is diagonal to rounding keeps the body's axes.
inline Frame principal_frame(const BodySpec& body, math::Vec3<double>& moments) {
  const auto& I = body.I_Bcm;
  math::Mat3<double> A{{{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}}};
  const double noise = 1e-12 * (I[0] + I[1] + I[2]);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      if (i != j && std::abs(A(i, j)) < noise) A(i, j) = 0;
    }
  }
  math::Mat3<double> V;
  symmetric_eigen(A, V, moments);
  return {to_vec3(body.p_BoBcm), to_quat(V)};
}

}  // namespace axion::model
