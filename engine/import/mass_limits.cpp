#include "engine/import/mass_limits.hpp"

#include <algorithm>
#include <string>

#include "engine/model/principal_axes.hpp"
#include "engine/model/validate_inertia.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

constexpr double kLeastShare = 1e-3;  // of the greatest moment, where the least was negative

}  // namespace

void correct_mass(const XmlElement& source, std::string_view attribute, const MjcfSettings& settings,
                  model::MassProperties& mass) {
  mass.mass = std::max(mass.mass, settings.bound_mass);
  const double total = mass.mass + mass.I_cm(0, 0) + mass.I_cm(1, 1) + mass.I_cm(2, 2);
  if (!(total < model::kMaxMagnitude)) {
    refuse(source, "", "has a mass or inertia above " + std::to_string(static_cast<long>(model::kMaxMagnitude)));
  }
  math::Mat3<double> V;
  math::Vec3<double> d;
  model::symmetric_eigen(mass.I_cm, V, d);
  const double least = std::min({d.x, d.y, d.z}), trace = d.x + d.y + d.z;
  const double tolerance = model::kInertiaTriangleTolerance * trace;
  if (!(least >= -tolerance)) refuse(source, attribute, "has a negative principal moment of inertia");
  if (least < settings.bound_inertia) {
    for (int i = 0; i < 3; ++i) d[i] = std::max(d[i], settings.bound_inertia);
    mass.I_cm = math::rotate_diagonal(V, d);
  }
  const double sum = d.x + d.y + d.z, greatest = std::max({d.x, d.y, d.z});
  if (sum - greatest >= greatest - tolerance) return;
  if (!settings.balance_inertia) {
    refuse(source, attribute, "has principal moments with A + B < C, which no body has; balanceinertia evens them out");
  }
  mass.I_cm = math::Mat3<double>::diagonal(sum / 3, sum / 3, sum / 3);
}

bool raise_moments(model::MassProperties& mass) {
  math::Mat3<double> V;
  math::Vec3<double> d;
  model::symmetric_eigen(mass.I_cm, V, d);
  const double greatest = std::max({d.x, d.y, d.z});
  const double tolerance = model::kInertiaTriangleTolerance * std::abs(greatest);
  if (!(greatest > 0) || d.x + d.y + d.z - greatest >= greatest - tolerance) return false;
  for (int i = 0; i < 3; ++i) d[i] = std::max(d[i], 0.0);
  const double lack = std::max(2 * greatest - (d.x + d.y + d.z), 0.0);
  for (int i = 0; i < 3; ++i) {
    if (d[i] < greatest) d[i] = std::max(d[i] + lack / 2, kLeastShare * greatest);
  }
  mass.I_cm = math::rotate_diagonal(V, d);
  return true;
}

void scale_masses(model::SceneSpec& scene, double total_mass) {
  double total = 0;
  for (const model::BodySpec& body : scene.bodies) total += body.mass;
  if (!(total > 0)) return;
  const double scale = total_mass / total;
  for (model::BodySpec& body : scene.bodies) {
    body.mass *= scale;
    for (double& I : body.I_Bcm) I *= scale;
  }
}

}  // namespace axion::import
