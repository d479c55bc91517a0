// solref, solimp and margin, by the names that they have on each kind of element.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include "engine/import/mjcf_attributes.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::import {

// `reference` and `impedance` are attribute names. What is not given has MuJoCo's defaults; so has, with a warning, a
// reference of one number above 0 and one that is not, and a margin below 0.
model::SoftnessSpec read_softness(const Attributes& attributes, const char* reference, const char* impedance,
                                  Notes& notes);

// Of dry friction: `solreffriction`, `solimpfriction`.
model::SoftnessSpec read_friction_softness(const Attributes& attributes, Notes& notes);

}  // namespace axion::import
