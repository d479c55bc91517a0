// What <compiler> does to masses, and the check that a body can have these moments.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <string_view>

#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/mjcf_settings.hpp"
#include "engine/model/scene_spec.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {

// boundmass, boundinertia, balanceinertia. `source` and `attribute` are where the moments are given, for messages.
void correct_mass(const XmlElement& source, std::string_view attribute, const MjcfSettings& settings,
                  model::MassProperties& mass);

// Moments A + B < C, as rounding, estimates and programs for drawing have it: A and B are raised alike until they make
// C, those below zero from there, and none is left below a thousandth of C. Returns whether they lacked anything.
bool raise_moments(model::MassProperties& mass);

// settotalmass: all bodies, also those that cannot move, in the same ratio.
void scale_masses(model::SceneSpec& scene, double total_mass);

}  // namespace axion::import
