#include "engine/model/scene_warnings.hpp"

#include <algorithm>
#include <cstddef>

#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

constexpr double kRounding = 1e-9;       // rad or m: degrees and back
constexpr std::size_t kMostListed = 20;  // joints

}  // namespace

std::vector<std::string> scene_warnings(const SceneSpec& scene) {
  std::vector<std::string> outside;
  for (const JointSpec& joint : scene.joints) {
    for (const AxisSpec& axis : joint.axes) {
      const double s = axis.initial_position;
      if (!axis.limited || (s >= axis.lower - kRounding && s <= axis.upper + kRounding)) continue;
      outside.push_back("\"" + axis.name + "\" at " + to_text(s) + " (limits " + to_text(axis.lower) + " to " +
                        to_text(axis.upper) + ")");
    }
  }
  if (outside.empty()) return {};
  std::string text = outside.size() == 1
                         ? "a joint starts outside its limits and is pushed back: "
                         : std::to_string(outside.size()) + " joints start outside their limits and are pushed back: ";
  for (std::size_t i = 0; i < std::min(outside.size(), kMostListed); ++i) text += (i > 0 ? ", " : "") + outside[i];
  if (outside.size() > kMostListed) text += ", and " + std::to_string(outside.size() - kMostListed) + " more";
  return {text};
}

}  // namespace axion::model
