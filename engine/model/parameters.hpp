// The numbers of a model that each world may have of its own.
//
// A world without values of its own has the model's. The numbers of all parameters together, one parameter after the
// other in the order of Parameter, are a row of parameter_count(model) numbers (vary.hpp).
#pragma once

#include <cstdint>

namespace axion {

enum class Parameter : std::uint8_t {
  kGravity,
  kBodyMass,
  kBodyCenterOfMass,
  kBodyInertia,
  kAxisDamping,
  kAxisArmature,
  kAxisStiffness,
  kAxisSpringReference,
  kAxisFrictionLoss,
  kAxisLower,
  kAxisUpper,
  kAxisAnchor,
  kShapeFriction,
  kShapeRestitution,
  kShapeSize,
  kShapePosition,
  kActuatorGear,
  kActuatorKp,
  kActuatorKd,
};
inline constexpr int kParameterCount = 19;

// What a parameter has its numbers for. Axes are those of joints of kind AXES that have coordinates, joint by joint.
enum class ParameterOf : std::uint8_t { kWorld, kBodies, kAxes, kShapes, kActuators };

struct ParameterDescription {
  const char* name;
  ParameterOf of;
  int width;  // numbers for each of them
  const char* description;
};

// In the order of Parameter. Shape for a world: [count of `of`, width], without extents of one number.
inline constexpr ParameterDescription kParameters[kParameterCount] = {
    {"gravity", ParameterOf::kWorld, 3, "m/s^2, world frame"},
    {"body_mass", ParameterOf::kBodies, 1, "kg, of each body with what is welded to it"},
    {"body_center_of_mass", ParameterOf::kBodies, 3, "m, body frame"},
    {"body_inertia", ParameterOf::kBodies, 6,
     "xx yy zz xy xz yz about the centre of mass, axes of the body frame, kg m^2"},
    {"axis_damping", ParameterOf::kAxes, 1, "N m s/rad or N s/m"},
    {"axis_armature", ParameterOf::kAxes, 1, "kg m^2 or kg"},
    {"axis_stiffness", ParameterOf::kAxes, 1, "N m/rad or N/m"},
    {"axis_spring_reference", ParameterOf::kAxes, 1, "rad or m, where the spring rests"},
    {"axis_friction_loss", ParameterOf::kAxes, 1, "N m or N; of axes that have friction loss in the model"},
    {"axis_lower", ParameterOf::kAxes, 1, "rad or m; of axes that have limits"},
    {"axis_upper", ParameterOf::kAxes, 1, "rad or m; of axes that have limits"},
    {"axis_anchor", ParameterOf::kAxes, 3, "m, frame of the child, reference configuration; of hinges"},
    {"shape_friction", ParameterOf::kShapes, 1, "sliding coefficient"},
    {"shape_restitution", ParameterOf::kShapes, 1, "0 to 1"},
    {"shape_size", ParameterOf::kShapes, 3, "m, as in ShapeSpec; of shapes that have a size"},
    {"shape_position", ParameterOf::kShapes, 3, "m, of the shape's frame in that of its body"},
    {"actuator_gear", ParameterOf::kActuators, 1, "effort of a unit of control, by the actuator's law"},
    {"actuator_kp", ParameterOf::kActuators, 1, "N m/rad or N/m; of position drives"},
    {"actuator_kd", ParameterOf::kActuators, 1, "N m s/rad or N s/m; of position and velocity drives"},
};

constexpr const ParameterDescription& description_of(Parameter parameter) {
  return kParameters[static_cast<int>(parameter)];
}

// Some of the parameters: bit p of Parameter p.
using ParameterSet = std::uint32_t;
static_assert(kParameterCount <= 32);

constexpr ParameterSet set_of(Parameter parameter) { return ParameterSet{1} << static_cast<int>(parameter); }
constexpr ParameterSet set_of(ParameterOf of) {
  ParameterSet set = 0;
  for (int p = 0; p < kParameterCount; ++p) {
    if (kParameters[p].of == of) set |= set_of(static_cast<Parameter>(p));
  }
  return set;
}

}  // namespace axion
