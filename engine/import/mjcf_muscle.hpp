// The curves of an MJCF muscle: what of them follows from the scene.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <optional>

#include "engine/import/mjcf_drive.hpp"
#include "engine/import/mjcf_scene.hpp"

namespace axion::import {

// Of the actuator that `a` describes and that acts along an axis or a tendon by `actuator`, with its gear. Its range of
// lengths is the one given, or the range of its joint or tendon; a force below zero is `scale` over the acceleration
// that a unit of the actuator's force gives the scene in the reference configuration. None where there is no range,
// which was noted.
std::optional<model::MuscleSpec> muscle_of(const MjcfScene& scene, const Attributes& a, const Drive& drive,
                                           const model::ActuatorSpec& actuator);

}  // namespace axion::import
