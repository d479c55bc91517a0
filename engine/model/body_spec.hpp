// The bodies of a scene (scene_spec.hpp).
#pragma once

#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "engine/model/spec_field.hpp"
#include "engine/model/spec_types.hpp"

namespace axion::model {

// An ellipsoid of a body on which the fluid acts (MediumSpec, constraints/fluid_ellipsoids.hpp): MuJoCo's fluidshape
// and fluidcoef. Where a body has any, its box of inertia is not acted on. It has no mass and touches nothing.
struct FluidEllipsoidSpec {
  PoseSpec X_BE;                                                     // in the body frame
  Vec3d radii{0, 0, 0};                                              // m, semi-axes along x, y and z of E
  double blunt_drag = 0.5, slender_drag = 0.25, angular_drag = 1.5;  // at least 0
  double kutta_lift = 1.0, magnus_lift = 1.0;
};
template <>
inline constexpr auto kFieldsOf<FluidEllipsoidSpec> = std::tuple{
    SpecField{"X_BE", &FluidEllipsoidSpec::X_BE, {.hash = kAlways, .wire = "pose"}},
    SpecField{"radii", &FluidEllipsoidSpec::radii, {.least = kMinLength, .hash = kAlways}},
    SpecField{"blunt_drag", &FluidEllipsoidSpec::blunt_drag, {.least = 0, .hash = kAlways}},
    SpecField{"slender_drag", &FluidEllipsoidSpec::slender_drag, {.least = 0, .hash = kAlways}},
    SpecField{"angular_drag", &FluidEllipsoidSpec::angular_drag, {.least = 0, .hash = kAlways}},
    SpecField{"kutta_lift", &FluidEllipsoidSpec::kutta_lift, {.hash = kAlways}},
    SpecField{"magnus_lift", &FluidEllipsoidSpec::magnus_lift, {.hash = kAlways}},
};

struct BodySpec {
  std::string name;
  PoseSpec X_WB;           // body frame in the world, reference configuration
  double mass = 0.0;       // kg. Zero is allowed only if the body is welded to one that has mass
  Vec3d p_BoBcm{0, 0, 0};  // m, body frame
  // Rotational inertia about the centre of mass, in the body frame's axes: xx, yy, zz, xy, xz, yz (kg m^2).
  std::array<double, 6> I_Bcm{0, 0, 0, 0, 0, 0};
  double gravity_compensation = 0.0;  // share of its weight that a force at its centre of mass holds up; 1: all of it
  // A body that clients place, in each world where they want it: it starts at X_WB, never moves by itself and has no
  // velocity, also while it is moved. It is welded to the world, and nothing hangs on it but by welds and loop joints.
  bool is_mocap = false;
  std::vector<FluidEllipsoidSpec> fluid_ellipsoids{};
  bool ignores_medium = false;  // the fluid does not act on it, as on the light bodies between joints of one body
  // A body that stands for something else, whose mass users do not read as its own (read_masses.hpp): for the armature
  // of a joint, or for a part of another, the lender, as it is between joints of one body; -1: it is none.
  bool is_armature = false;
  int lender = -1;
};
template <>
inline constexpr auto kFieldsOf<BodySpec> = std::tuple{
    SpecField{"name", &BodySpec::name, {.hash = kNever}},
    SpecField{"X_WB", &BodySpec::X_WB, {.hash = kAlways, .wire = "pose"}},
    SpecField{"mass", &BodySpec::mass, {.least = 0, .hash = kAlways, .parameter = Parameter::kBodyMass}},
    SpecField{"p_BoBcm",
              &BodySpec::p_BoBcm,
              {.hash = kAlways, .wire = "center_of_mass", .parameter = Parameter::kBodyCenterOfMass}},
    SpecField{"I_Bcm", &BodySpec::I_Bcm, {.hash = kAlways, .wire = "inertia", .parameter = Parameter::kBodyInertia}},
    SpecField{"gravity_compensation", &BodySpec::gravity_compensation, {.hash = 1}},
    SpecField{"is_mocap", &BodySpec::is_mocap, {.hash = 26}},
    SpecField{"ignores_medium", &BodySpec::ignores_medium, {.hash = 38}},
    SpecField{"fluid_ellipsoids", &BodySpec::fluid_ellipsoids, {.hash = kNever}},
    SpecField{"is_armature", &BodySpec::is_armature, {.hash = kNever}},
    SpecField{"lender", &BodySpec::lender, {.hash = kNever, .is_omitted = true}},
};

}  // namespace axion::model
