#include "engine/import/mjcf_pose.hpp"

#include <cctype>

#include "engine/math/angle_functions.hpp"
#include "engine/model/principal_axes.hpp"

namespace axion::import {
namespace {

using Quat = math::Quat<double>;
using Vec3 = math::Vec3<double>;

// Lengths of directions outside these are mistakes, or would overflow when squared.
constexpr double kMinLength = 1e-10;
constexpr double kMaxLength = 1e100;

Vec3 direction(const Attributes& a, const char* name, const Vec3& v) {
  if (!(math::norm(v) > kMinLength)) a.refuse(name, "has a direction of zero length");
  if (!(math::norm(v) < kMaxLength)) a.refuse(name, "has a direction that is too long");
  return math::normalized(v);
}

// Lower case letters turn about the axes of the turned frame, upper case ones about those of the parent.
Quat from_euler(const double angle[3], const MjcfSettings& settings) {
  Quat q;
  for (std::size_t i = 0; i < 3; ++i) {
    const char letter = settings.euler_sequence[i];
    Vec3 turn;
    turn[std::tolower(letter) - 'x'] = settings.radians(angle[i]);
    const Quat one = math::exp_rotation(turn);
    q = letter >= 'x' ? q * one : one * q;
  }
  return q;
}

Quat from_xyaxes(const Attributes& a, const double xy[6]) {
  const Vec3 x = direction(a, "xyaxes", {xy[0], xy[1], xy[2]});
  const Vec3 given_y{xy[3], xy[4], xy[5]};
  const Vec3 y = direction(a, "xyaxes", given_y - math::dot(given_y, x) * x);
  return model::to_quat(math::transpose(math::Mat3<double>{{x, y, math::cross(x, y)}}));
}

// At most one in an element; the defaults may add another, and then the last of this order counts, as in MuJoCo.
Quat read_rotation(const Attributes& a, const MjcfSettings& settings) {
  static constexpr const char* kForms[] = {"quat", "axisangle", "xyaxes", "zaxis", "euler"};
  for (const XmlElement* layer : a.layers()) {
    int given = 0;
    for (const char* form : kForms) {
      if (layer->find(form) != nullptr && ++given > 1) {
        refuse(*layer, form, "is a second orientation of the same element");
      }
    }
  }
  Quat q;
  double v[6] = {1, 0, 0, 0, 0, 0};
  if (a.numbers("quat", {v, 4}, 4)) {
    if (!(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3] > kMinLength)) {
      a.refuse("quat", "is a zero quaternion");
    }
    q = model::to_quat(model::Quatd{v[0], v[1], v[2], v[3]});
  }
  if (a.numbers("axisangle", {v, 4}, 4)) {
    q = math::exp_rotation(settings.radians(v[3]) * direction(a, "axisangle", {v[0], v[1], v[2]}));
  }
  if (a.numbers("xyaxes", v, 6)) q = from_xyaxes(a, v);
  if (a.numbers("zaxis", {v, 3}, 3)) q = rotation_from_z(direction(a, "zaxis", {v[0], v[1], v[2]}));
  if (a.numbers("euler", {v, 3}, 3)) q = from_euler(v, settings);
  return math::normalized(q);
}

}  // namespace

math::Quat<double> rotation_from_z(const math::Vec3<double>& v) {
  const Vec3 axis{-v.y, v.x, 0};  // z × v
  const double sine = math::norm(axis);
  if (sine < kMinLength * math::norm(v)) return v.z >= 0 ? Quat{} : Quat{0, 1, 0, 0};
  return math::exp_rotation((math::arc_tangent(sine, v.z) / sine) * axis);
}

model::Pose read_pose(const Attributes& attributes, const MjcfSettings& settings) {
  return {read_rotation(attributes, settings), attributes.vec3("pos", {})};
}

math::Quat<double> read_euler(const Attributes& attributes, const MjcfSettings& settings, double times) {
  double v[3] = {0, 0, 0};
  attributes.numbers("euler", v, 3);
  for (double& angle : v) angle *= times;
  return math::normalized(from_euler(v, settings));
}

}  // namespace axion::import
