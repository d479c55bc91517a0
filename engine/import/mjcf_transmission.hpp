// What MJCF's actuators act on besides hinges, slides, tendons and sites.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include "engine/import/mjcf_scene.hpp"

namespace axion::import {

// Makes the actuator, whose joint is found and has no axes, a motor at the joint's frames with its gear; `attribute`
// named the joint. False where it cannot be, which was noted.
bool turn_joint(MjcfScene& s, const Attributes& a, const char* attribute, model::ActuatorSpec& actuator);

// Gives it a slider-crank: a tendon of its own, which is added to the scene.
bool find_crank(MjcfScene& s, const Attributes& a, model::ActuatorSpec& actuator);

// Makes the actuator, which acts at a site, one of a tendon of its own that is a wrench, so that its force may depend
// on how its site moves.
void pull_by_wrench(MjcfScene& s, const Attributes& a, model::ActuatorSpec& actuator);

// Makes it press what touches its body.
void find_adhesive(const MjcfScene& s, const Attributes& a, model::ActuatorSpec& actuator);

}  // namespace axion::import
