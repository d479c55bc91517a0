#include "engine/import/mass_limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "engine/base/utf8.hpp"
#include "engine/model/principal_axes.hpp"
#include "engine/model/validate_inertia.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

constexpr double kLeastShare = 1e-3;  // of the greatest moment, where the least was negative
// What makes mass and inertia, in MJCF and URDF, and magnitudes beyond which it is named in a refusal of them.
constexpr std::string_view kMassAttributes[] = {"mass",   "size",   "density", "diaginertia", "fullinertia",
                                                "fromto", "radius", "length",  "value",       "scale",
                                                "ixx",    "iyy",    "izz"};
constexpr double kUnusuallySmall = 1e-6, kUnusuallyLarge = 1e6;
constexpr int kMaxNamed = 3;
constexpr std::size_t kMaxShown = 64;

bool is_unusual(const std::string& numbers) {
  std::istringstream words(numbers);
  for (std::string word; words >> word;) {
    const double size = std::abs(std::strtod(word.c_str(), nullptr));
    if (size != 0 && !(size >= kUnusuallySmall && size <= kUnusuallyLarge)) return true;
  }
  return false;
}

void name_odd_numbers(const XmlElement& element, int& count, std::string& text) {
  for (const XmlAttribute& attribute : element.attributes) {
    const bool known = std::ranges::find(kMassAttributes, attribute.name) != std::end(kMassAttributes);
    if (!known || !is_unusual(attribute.value) || count++ >= kMaxNamed) continue;
    text += "; " + describe(element) + " has " + attribute.name + "=\"" +
            std::string(utf8_prefix(attribute.value, kMaxShown)) + "\"";
  }
  for (const XmlElement& child : element.children) {
    if (child.tag != "body" && child.tag != "joint") name_odd_numbers(child, count, text);
  }
}

}  // namespace

std::string odd_numbers(const XmlElement& element) {
  int count = 0;
  std::string text;
  name_odd_numbers(element, count, text);
  return text;
}

void correct_mass(const XmlElement& source, std::string_view attribute, const MjcfSettings& settings,
                  model::MassProperties& mass) {
  mass.mass = std::max(mass.mass, settings.bound_mass);
  const double total = mass.mass + mass.I_cm(0, 0) + mass.I_cm(1, 1) + mass.I_cm(2, 2);
  if (!(total < model::kMaxMagnitude)) {
    const bool is_small = mass.mass < model::kMinMass;  // its inertia was divided by it
    refuse(source, "",
           (is_small ? "has a mass below 1e-12" : "has a mass or inertia above 1000000000") + odd_numbers(source));
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
