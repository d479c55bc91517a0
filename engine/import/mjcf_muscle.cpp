#include "engine/import/mjcf_muscle.hpp"

#include <algorithm>

#include "engine/import/mjcf_moved_mass.hpp"
#include "engine/import/path_range.hpp"

namespace axion::import {
namespace {

// From the ranges of what it acts along: of a sum of coordinates of all their ranges, of a path of those of the joints
// between its points; then within the tendon's own. False where they have none.
bool find_lengths(const MjcfScene& s, const Attributes& a, const model::ActuatorSpec& actuator,
                  model::MuscleSpec& muscle) {
  double range[2] = {0, 0};
  a.numbers("lengthrange", range, 2);
  if (range[0] < range[1]) {
    muscle.length_lower = range[0], muscle.length_upper = range[1];
    return true;
  }
  double lower = 0, upper = 0;
  bool known = true;
  const auto add = [&](int joint, int axis_index, double weight) {
    const model::AxisSpec& axis =
        s.spec.joints[static_cast<std::size_t>(joint)].axes[static_cast<std::size_t>(axis_index)];
    known = known && axis.limited;
    lower += weight * (weight < 0 ? axis.upper : axis.lower), upper += weight * (weight < 0 ? axis.lower : axis.upper);
  };
  if (actuator.tendon == kNoTendon) {
    add(actuator.joint, actuator.axis, 1);
  } else {
    const model::TendonSpec& tendon = s.spec.tendons[static_cast<std::size_t>(actuator.tendon)];
    for (const model::TendonTermSpec& term : tendon.terms) add(term.joint, term.axis, term.coefficient);
    if (!tendon.path.empty()) known = find_path_range(s.spec, tendon.path, lower, upper);
    if (tendon.limited) {
      lower = known ? std::max(lower, tendon.lower) : tendon.lower;
      upper = known ? std::min(upper, tendon.upper) : tendon.upper;
      known = known || tendon.path.empty();
    }
  }
  muscle.length_lower = std::min(actuator.gear * lower, actuator.gear * upper);
  muscle.length_upper = std::max(actuator.gear * lower, actuator.gear * upper);
  return known && lower < upper && actuator.gear != 0;
}

}  // namespace

std::optional<model::MuscleSpec> muscle_of(const MjcfScene& scene, const Attributes& a, const Drive& drive,
                                           const model::ActuatorSpec& actuator) {
  model::MuscleSpec muscle;
  const double* number = drive.gain;
  muscle.range_lower = number[0], muscle.range_upper = number[1];
  muscle.force = number[2];
  muscle.lmin = number[4], muscle.lmax = number[5], muscle.vmax = number[6];
  muscle.fpmax = drive.bias_type == Drive::kMuscle ? drive.bias[7] : 0;
  muscle.fvmax = number[8];
  if (!(muscle.range_lower < muscle.range_upper)) {
    a.refuse(a.has("range") ? "range" : "gainprm", "must have the smaller number first");
  }
  if (!find_lengths(scene, a, actuator, muscle)) {
    scene.notes.unsupported(a.element(), "lengthrange",
                            "give it, as neither its tendon nor all of its joints have a range");
    return {};
  }
  if (muscle.force >= 0) return muscle;
  const double acceleration = unit_acceleration(scene.spec, actuator);
  if (!(acceleration > 0)) refuse(a.element(), "force", "is required: nothing moves under its force");
  muscle.force = number[3] / acceleration;
  return muscle;
}

}  // namespace axion::import
