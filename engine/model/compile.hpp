// compile: from a SceneSpec to what the step code reads.
//
// merge_welds refuses what is wrong (by validate_scene) and makes one body of those that are welded; compile sorts
// bodies along the joint tree, finds principal axes, lays out rows and says which shapes may ever touch
// (compile_contacts.hpp).
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/model/compile_hulls.hpp"
#include "engine/model/merge_welds.hpp"
#include "engine/model/model_data.hpp"

namespace axion::model {

class Mobilities;

// A world's scratch keeps at most this many blocks of the trees' inverses, 2.3 MB in float32; models with more do
// without.
inline constexpr int kMaxInverseBlocks = 16384;

// Host copy of what SensorView refers to.
template <typename Real>
struct SensorArrays {
  std::vector<SensorData<Real>> list;
  std::vector<SensorPart<Real>> parts;
  std::vector<int> part_list;
  std::vector<LoopParts> loops;
  int size = 0, sensed_size = 0;
};

// Host copy of a model in one precision, and its view.
template <typename Real>
struct ModelArrays {
  std::vector<BodyData<Real>> bodies;
  std::vector<BodyForceData<Real>> body_forces;  // empty, or one a body
  std::vector<FluidPartData<Real>> fluid_parts;  // sorted by body
  math::Vec3<Real> wind{};
  std::vector<SiteMotorData<Real>> site_motors;
  std::vector<SiteUse> site_uses;  // sorted by body
  std::vector<AdhesionData> adhesions;
  std::vector<BreakData<Real>> breaks;
  std::vector<int> child_joints;
  std::vector<int> body_loops;
  std::vector<JointData<Real>>
      joints;  // then an entry for each tendon and equality through space (compile_tendons.cpp)
  std::vector<AxisData<Real>> axes;
  std::vector<ActuatorData<Real>> actuators;
  std::vector<ActivationData<Real>> activations;
  std::vector<ActuatorCurves<Real>> actuator_curves;
  std::vector<int> lock_joint;
  std::vector<int> limit_axis;
  std::vector<EffortData<Real>> efforts;
  std::vector<TendonData<Real>> tendons;
  std::vector<TendonTermData<Real>> tendon_terms;
  std::vector<int> axis_term_start, axis_terms;
  std::vector<TendonSpanData<Real>> tendon_spans;
  std::vector<int> tendon_sides, body_side_start, body_sides;
  std::vector<int> node_tendons, condensed_start, condensed_tendons, condensed_pairs;
  std::vector<ShapeData<Real>> shapes;
  std::vector<Real> hull_vertices;
  std::vector<ShapeContactData> shape_contacts;
  std::vector<int> neighbour_start, neighbours, exclude_start, excludes;
  bool lists_pairs = true;
  std::vector<PairData<Real>> pairs;
  std::vector<ShapeMomentData> shape_moments;
  std::vector<MomentFriction<Real>> pair_moments;
  std::vector<SurfaceMotion<Real>> surface_motions;  // empty, or one a shape
  Real soft_margin = 0;
  SoftnessRule softness_rule;
  std::vector<ShapeSoftness> shape_softness;
  std::vector<ImpedanceData<Real>> pair_impedances, limit_impedance;
  std::vector<LockSoftness<Real>> lock_softness;
  SensorArrays<Real> sensors;
  std::vector<MocapData<Real>> mocaps;
  std::vector<MocapUse> mocap_uses;
  int lock_count = 0, control_count = 0, contact_capacity = 0, moment_capacity = 0, candidate_capacity = 0;
  int coupling_capacity = 0, loop_count = 0, inverse_blocks = 0;
  int joint_lock_count = 0, tendon_axis_count = 0, slack_tendon_count = 0, spatial_count = 0;
  math::Vec3<Real> gravity{};
  ModelView<Real> view() const;  // pointers into the vectors: valid while they live
};

struct CompiledModel {
  WeldedScene welded;                    // the scene that users see: its bodies are the order of body_pose
  std::vector<int> external_body;        // [internal] -> index into welded.scene.bodies
  std::vector<int> internal_body;        // [external]
  std::vector<bool> closes_loop;         // [scene joint]
  std::vector<int> joint_of_scene;       // [scene joint] -> index into arrays.joints, -1 for a free joint
  std::vector<int> axis_of_tendon;       // [tendon of the scene] -> index into arrays.axes, -1: nothing is along it
  std::vector<math::Vec3<double>> p_BC;  // [internal] centre of mass in the body frame
  std::vector<math::Quat<double>> q_BC;  // [internal] principal frame in the body frame
  std::vector<math::Vec3<double>> x;     // [internal] initial centre of mass, world
  std::vector<math::Quat<double>> q;     // [internal] initial principal frame
  CompiledHulls hulls;                   // where they are in arrays.hull_vertices
  ModelArrays<double> arrays;
  std::vector<std::string> warnings;  // what a user should know of what was simplified
};

// Validates and compiles. Errors name a path in SceneSpec.
Result<CompiledModel> compile(const SceneSpec& scene);

// The same model with other numbers (vary.hpp): of `welded`, which is that of `model` but for them, and of `source`,
// the scene before its welds. It shares the model's hulls, whose vertices it leaves out. `mobilities` are the
// model's where the numbers change none, else null.
CompiledModel recompile(const CompiledModel& model, const SceneSpec& source, WeldedScene welded,
                        const Mobilities* mobilities);

// The same model in another precision.
ModelArrays<float> to_float(const ModelArrays<double>& arrays);

// Poses of all bodies (internal order) from joint coordinates in the layout of the joint_position field; `x`, `q` are
// in: the poses that bodies without a joint keep, out: all poses.
void forward_kinematics(const CompiledModel& model, const double* joint_position, std::vector<math::Vec3<double>>& x,
                        std::vector<math::Quat<double>>& q);

// From the reference configuration to the initial state: x and q of a model that is otherwise complete.
void place_bodies(CompiledModel& model);

}  // namespace axion::model
