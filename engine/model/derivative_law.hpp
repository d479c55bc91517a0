// Why a step has no exact derivative (engine/gradient): the law in it that has none, by name.
#pragma once

#include <cstdint>

namespace axion {

enum class LawWithoutDerivative : std::int32_t {
  kNone,             // the derivative is exact
  kSoftContact,      // soft contacts, limits and friction
  kRollingFriction,  // torsional and rolling friction
  kShape,            // contacts of cylinders, ellipsoids, meshes and height fields
  kTurnedContact,    // contacts that were found in the poses of a result
  kJointMode,        // impulses of joints that turn within the step, or joints that were linearised
  kRemedy,           // a step that did not converge, or whose outcome says more than that it did
  kSize,             // more unknowns than are eliminated
  kSingular,         // a system without a unique solution
  kOther,            // a solution that its laws do not give again
  kIdleAxis,         // of a number that would act along an axis on which nothing acts, such as damping of zero
};

constexpr const char* name_of(LawWithoutDerivative law) {
  using enum LawWithoutDerivative;
  switch (law) {
    case kNone:
      break;
    case kSoftContact:
      return "soft contact";
    case kRollingFriction:
      return "torsional or rolling friction";
    case kShape:
      return "contact of a cylinder, an ellipsoid, a mesh or a height field";
    case kTurnedContact:
      return "contact in the poses of a result";
    case kJointMode:
      return "joint mode";
    case kRemedy:
      return "outcome of the step";
    case kSize:
      return "size of the system";
    case kSingular:
      return "system without a unique solution";
    case kOther:
      return "solution that is not met again";
    case kIdleAxis:
      return "axis on which nothing acts";
  }
  return "";
}

}  // namespace axion
