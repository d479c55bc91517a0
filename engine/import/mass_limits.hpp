// What <compiler> does to masses, and the check that a body can have these moments.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <string>
#include <string_view>

#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/mjcf_settings.hpp"
#include "engine/model/scene_spec.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {

// Which numbers of an element, and of those within it that are no bodies of their own, may be why a mass or an inertia
// is out of range: "; <geom name="ball"> (line 3) has size="1e-30"", and so on for a few; empty where none is of an
// unusual magnitude.
std::string odd_numbers(const XmlElement& element);

// boundmass, boundinertia, balanceinertia. `source` and `attribute` are where the moments are given, for messages.
void correct_mass(const XmlElement& source, std::string_view attribute, const MjcfSettings& settings,
                  model::MassProperties& mass);

// Moments A + B < C, as rounding, estimates and programs for drawing have it: A and B are raised alike until they make
// C, those below zero from there, and none is left below a thousandth of C. Returns whether they lacked anything.
bool raise_moments(model::MassProperties& mass);

// settotalmass: all bodies, also those that cannot move, in the same ratio.
void scale_masses(model::SceneSpec& scene, double total_mass);

}  // namespace axion::import
