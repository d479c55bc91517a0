#include "engine/import/mjcf_muscle.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/import/mjcf_moved_mass.hpp"

namespace axion::import {
namespace {

// From the range of what it acts along: of a sum of coordinates, of all their ranges. False where they have none.
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
  const auto add = [&](const model::AxisSpec& axis, double weight) {
    known = known && axis.limited;
    lower += weight * (weight < 0 ? axis.upper : axis.lower), upper += weight * (weight < 0 ? axis.lower : axis.upper);
  };
  const auto axis_at = [&](int joint, int axis) -> const model::AxisSpec& {
    return s.spec.joints[static_cast<std::size_t>(joint)].axes[static_cast<std::size_t>(axis)];
  };
  if (actuator.tendon == kNoTendon) {
    add(axis_at(actuator.joint, actuator.axis), actuator.gear);
  } else {
    const model::TendonSpec& tendon = s.spec.tendons[static_cast<std::size_t>(actuator.tendon)];
    if (tendon.limited) {
      lower = std::min(actuator.gear * tendon.lower, actuator.gear * tendon.upper);
      upper = std::max(actuator.gear * tendon.lower, actuator.gear * tendon.upper);
    } else {
      known = tendon.path.empty();
      for (const model::TendonTermSpec& term : tendon.terms) {
        add(axis_at(term.joint, term.axis), actuator.gear * term.coefficient);
      }
    }
  }
  if (!known || !(lower < upper)) return false;
  muscle.length_lower = lower, muscle.length_upper = upper;
  return true;
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
