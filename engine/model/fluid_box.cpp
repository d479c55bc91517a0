#include "engine/model/fluid_box.hpp"

#include <algorithm>
#include <cmath>

namespace axion::model {

FluidBoxData<double> fluid_box(const MediumSpec& medium, const MassProperties& part, const Frame& X_BC) {
  constexpr double kPi = 3.14159265358979323846;
  BodySpec alone;
  alone.mass = part.mass, alone.p_BoBcm = to_spec(part.p_cm), alone.I_Bcm = to_spec(part.I_cm);
  math::Vec3<double> I;
  const Frame X_BF = principal_frame(alone, I);
  const auto side = [&](double one, double other, double own) {
    return std::sqrt(6 * std::max(one + other - own, 0.0) / part.mass);
  };
  const double a = side(I.y, I.z, I.x), b = side(I.x, I.z, I.y), c = side(I.x, I.y, I.z), mean = (a + b + c) / 3;
  const auto fourth = [](double x) { return x * x * x * x; };
  FluidBoxData<double> box;
  box.p_CF = math::rotate_inverse(X_BC.q, X_BF.p - X_BC.p);
  box.q_CF = math::conjugate(X_BC.q) * X_BF.q;
  box.drag = 0.5 * medium.density * math::Vec3<double>{b * c, a * c, a * b};
  box.angular_drag =
      medium.density / 64 *
      math::Vec3<double>{a * (fourth(b) + fourth(c)), b * (fourth(a) + fourth(c)), c * (fourth(a) + fourth(b))};
  box.viscous_drag = 3 * kPi * medium.viscosity * mean;
  box.viscous_angular_drag = kPi * medium.viscosity * mean * mean * mean;
  return box;
}

}  // namespace axion::model
