// The part of compile that lays out actuators, their curves and activations; for compile.cpp alone.
#pragma once

#include <functional>

#include "engine/model/compile.hpp"

namespace axion::model {

// What motors may do together along an axis.
void bound_motors(const ForceRangeSpec& motors, AxisData<double>& axis);

// Actuators sorted by the axes that `axis_of` gives them, -1 at a site, and those of each axis. Needs joints and
// tendons.
void add_actuators(CompiledModel& model, const std::function<int(const ActuatorSpec&)>& axis_of);

}  // namespace axion::model
