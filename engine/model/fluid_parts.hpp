// What a fluid does to a part of a body: the numbers that constraints/fluid_forces.hpp takes.
#pragma once

#include "engine/model/model_data.hpp"
#include "engine/model/principal_frame.hpp"

namespace axion::model {

// For the box of uniform density that has the part's mass and inertia, in the frame of the body that it belongs to.
// X_BC: that body's principal frame.
FluidPartData<double> fluid_box(const MediumSpec& medium, const MassProperties& part, const Frame& X_BC);

// For an ellipsoid in the frame of that body.
FluidPartData<double> fluid_ellipsoid(const MediumSpec& medium, const FluidEllipsoidSpec& ellipsoid, const Frame& X_BC);

}  // namespace axion::model
