// SceneSpec: a scene as a person or an importer describes it, before it is compiled.
//
// Everything is in SI units, radians and double precision. Quaternions are (w, x, y, z). Frames follow the monogram
// notation: X_WB is the pose of body frame B in the world W, p_BoBcm the centre of mass measured from B's origin.
// The poses given here are those of the *reference configuration*, in which every joint axis reads its `reference`.
// `compile` (model/compile.hpp) validates a SceneSpec and turns it into an immutable Model.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "engine/math/constants.hpp"
#include "engine/model/actuator_spec.hpp"
#include "engine/model/body_spec.hpp"
#include "engine/model/impedance.hpp"
#include "engine/model/joint_spec.hpp"
#include "engine/model/sensor_spec.hpp"
#include "engine/model/shape_spec.hpp"
#include "engine/model/spec_field.hpp"
#include "engine/model/spec_types.hpp"
#include "engine/model/tendon_spec.hpp"

namespace axion::model {

struct KeyframeSpec {
  std::string name;
  double time = 0.0;
  std::vector<double> joint_position;   // layout of the joint_position field: free 7, ball 4, axis 1, in joint order
  std::vector<double> joint_velocity;   // free 6, ball 3, axis 1; empty means zero
  std::vector<double> control = {};     // in the order of the actuators; empty means zero
  std::vector<double> activation = {};  // of those actuators that have one; empty means zero
  std::vector<double> mocap_pose = {};  // of each mocap body x y z, then w x y z; empty means those of the scene
};

// A fluid that fills the space. It acts on each body as on the box of uniform density that has the body's mass and
// inertia (constraints/fluid_forces.hpp), or on the ellipsoids that the body has in place of it.
struct MediumSpec {
  double density = 0.0;    // kg/m^3, at least 0; air 1.2, water 1000
  double viscosity = 0.0;  // Pa s, at least 0; air 1.8e-5, water 9e-4
  Vec3d wind{0, 0, 0};     // m/s, velocity of the fluid
};

struct SceneSpec {
  std::string name;
  Vec3d gravity{0, 0, -math::kGravity};  // m/s^2
  double timestep = 0.005;               // s, that of a batch which is created without one
  bool filter_parent_child = true;       // bodies joined directly to each other do not collide (never the world)
  std::vector<BodySpec> bodies;
  std::vector<JointSpec> joints;
  std::vector<ShapeSpec> shapes;
  std::vector<MeshSpec> meshes;
  std::vector<ActuatorSpec> actuators;
  std::vector<ContactExcludeSpec> excludes;
  std::vector<KeyframeSpec> keyframes;
  std::vector<ContactPairSpec> contact_pairs;
  Vec3d magnetic_field{0, -0.5, 0};  // what magnetometers read, world frame
  std::vector<SensorSpec> sensors;   // in the order of sensor_data
  MediumSpec medium;
  std::vector<TendonSpec> tendons;
  std::vector<EqualitySpec> equalities;
  std::vector<HeightFieldSpec> height_fields;
  SoftnessRule softness_rule;
};
// For messages: the fingerprint and the checks take a scene part by part.
template <>
inline constexpr auto kFieldsOf<SceneSpec> = std::tuple{
    SpecField{"name", &SceneSpec::name},
    SpecField{"gravity", &SceneSpec::gravity},
    SpecField{"timestep", &SceneSpec::timestep},
    SpecField{"filter_parent_child", &SceneSpec::filter_parent_child},
    SpecField{"bodies", &SceneSpec::bodies},
    SpecField{"joints", &SceneSpec::joints},
    SpecField{"shapes", &SceneSpec::shapes},
    SpecField{"actuators", &SceneSpec::actuators},
    SpecField{"equalities", &SceneSpec::equalities},
    SpecField{"tendons", &SceneSpec::tendons},
    SpecField{"contact_pairs", &SceneSpec::contact_pairs},
    SpecField{"sensors", &SceneSpec::sensors},
    SpecField{"excludes", &SceneSpec::excludes},
    SpecField{"magnetic_field", &SceneSpec::magnetic_field},
};

}  // namespace axion::model
