// The bodies of a scene (scene_spec.hpp).
#pragma once

#include <array>
#include <string>
#include <vector>

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

}  // namespace axion::model
