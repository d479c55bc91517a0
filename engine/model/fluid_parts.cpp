#include "engine/model/fluid_parts.hpp"
#include "engine/math/constants.hpp"

#include <algorithm>
#include <cmath>

#include "engine/model/spec_math.hpp"

namespace axion::model {

namespace {

// R_D(x, y, z) = 3/2 of the integral from 0 on of dt / (sqrt(t + x) sqrt(t + y) (t + z)^(3/2)), by duplication (Carlson
// 1995, Numerical computation of real or complex elliptic integrals).
double elliptic_rd(double x, double y, double z) {
  double sum = 0, factor = 1;
  for (int k = 0; k < 64; ++k) {
    const double mean = (x + y + 3 * z) / 5, X = 1 - x / mean, Y = 1 - y / mean, Z = 1 - z / mean;
    if (std::max({std::abs(X), std::abs(Y), std::abs(Z)}) < 1e-3) {
      const double ea = X * Y, eb = Z * Z, ec = ea - eb, ed = ea - 6 * eb, ee = ed + 2 * ec;
      const double series = 1 + ed * (-3.0 / 14 + 9.0 / 88 * ed - 4.5 / 26 * Z * ee) +
                            Z * (ee / 6 + Z * (-9.0 / 22 * ec + Z * 3.0 / 26 * ea));
      return 3 * sum + factor * series / (mean * std::sqrt(mean));
    }
    const double root = std::sqrt(x * y) + std::sqrt(x * z) + std::sqrt(y * z);
    sum += factor / (std::sqrt(z) * (z + root));
    factor /= 4, x = (x + root) / 4, y = (y + root) / 4, z = (z + root) / 4;
  }
  return 3 * sum;
}

}  // namespace

FluidPartData<double> fluid_box(const MediumSpec& medium, const MassProperties& part, const Frame& X_BC) {
  BodySpec alone;
  alone.mass = part.mass, alone.p_BoBcm = to_spec(part.p_cm), alone.I_Bcm = to_spec(part.I_cm);
  math::Vec3<double> I;
  const Frame X_BF = principal_frame(alone, I);
  const auto side = [&](double one, double other, double own) {
    return std::sqrt(6 * std::max(one + other - own, 0.0) / part.mass);
  };
  const double a = side(I.y, I.z, I.x), b = side(I.x, I.z, I.y), c = side(I.x, I.y, I.z), mean = (a + b + c) / 3;
  const auto fourth = [](double x) { return x * x * x * x; };
  FluidPartData<double> box{};
  box.p_CF = math::rotate_inverse(X_BC.q, X_BF.p - X_BC.p);
  box.q_CF = math::conjugate(X_BC.q) * X_BF.q;
  box.drag = 0.5 * medium.density * math::Vec3<double>{b * c, a * c, a * b};
  box.angular_drag =
      medium.density / 64 *
      math::Vec3<double>{a * (fourth(b) + fourth(c)), b * (fourth(a) + fourth(c)), c * (fourth(a) + fourth(b))};
  box.viscous_drag = 3 * math::kPi * medium.viscosity * mean;
  box.viscous_angular_drag = math::kPi * medium.viscosity * mean * mean * mean;
  return box;
}

// Added mass by potential flow (Lamb 1932, Hydrodynamics, sections 114 and 115), in MuJoCo's form.
FluidPartData<double> fluid_ellipsoid(const MediumSpec& medium, const FluidEllipsoidSpec& ellipsoid,
                                      const Frame& X_BC) {
  const Pose X_BE = to_pose(ellipsoid.X_BE);
  const auto& r = ellipsoid.radii;
  const double volume = 4.0 / 3 * math::kPi * r[0] * r[1] * r[2], density = medium.density;
  double kappa[3], square[3], moment[3], virtual_inertia[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
    square[i] = r[i] * r[i];
    kappa[i] = r[0] * r[1] * r[2] * 2 / 3 * elliptic_rd(r[j] * r[j], r[k] * r[k], r[i] * r[i]);
    moment[i] = 8.0 / 15 * math::kPi * r[i] * std::pow(std::max(r[j], r[k]), 4);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
    const double apart = square[j] - square[k];
    const double below = std::abs(2 * apart + (square[j] + square[k]) * (kappa[j] - kappa[k]));
    virtual_inertia[i] = volume / 5 * apart * apart * std::abs(kappa[k] - kappa[j]) / std::max(below, 1e-14);
  }
  double sorted[3] = {r[0], r[1], r[2]};
  std::sort(sorted, sorted + 3);
  const double widest = math::kPi * sorted[1] * sorted[2];
  const double greatest = 8.0 / 15 * math::kPi * sorted[1] * std::pow(sorted[2], 4);
  const auto turning = [&](double I) {
    return density * (ellipsoid.angular_drag * I + ellipsoid.slender_drag * (greatest - I));
  };
  const double mean = 2 * (r[0] + r[1] + r[2]) / 3;
  FluidPartData<double> part{};
  part.p_CF = math::rotate_inverse(X_BC.q, X_BE.position - X_BC.p);
  part.q_CF = math::conjugate(X_BC.q) * X_BE.rotation;
  part.angular_drag = {turning(moment[0]), turning(moment[1]), turning(moment[2])};
  part.viscous_drag = 3 * math::kPi * medium.viscosity * mean;
  part.viscous_angular_drag = math::kPi * medium.viscosity * mean * mean * mean;
  part.is_ellipsoid = true;
  part.radii = to_vec3(r);
  const auto added = [](double k) { return k / std::max(2 - k, 1e-14); };
  part.virtual_mass = density * volume * math::Vec3<double>{added(kappa[0]), added(kappa[1]), added(kappa[2])};
  part.virtual_inertia = density * math::Vec3<double>{virtual_inertia[0], virtual_inertia[1], virtual_inertia[2]};
  part.area_drag = density * (ellipsoid.blunt_drag - ellipsoid.slender_drag);
  part.least_drag = density * ellipsoid.slender_drag * widest;
  part.kutta = density * ellipsoid.kutta_lift;
  part.magnus = density * ellipsoid.magnus_lift * volume;
  return part;
}

}  // namespace axion::model
