// The engine: models, batches of worlds, steps and queries; with this header alone a server or a program uses it.
//
// A Model is an immutable compiled scene, shared by any number of batches. A Batch is N worlds of one model, resident
// on one device, stepped at one dt with one set of solver options. `Engine::step` takes any number of requests, for
// different batches, in one launch; a world's result does not depend on what else is in the launch.
//
// Threading: an Engine and its batches are used by one thread at a time (the device's batcher). Models and their info
// may be read from any thread. Every call that can be refused returns Status or Result and changes nothing if refused.
//
// Tensors are row-major, little-endian; shapes are given per world, the leading dimension [n] is the worlds asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/base/stop.hpp"
#include "engine/model/derivatives.hpp"
#include "engine/model/fields.hpp"
#include "engine/model/fingerprint.hpp"
#include "engine/model/parameters.hpp"
#include "engine/model/queries.hpp"
#include "engine/model/scene_limits.hpp"
#include "engine/model/scene_spec.hpp"
#include "engine/model/solver_options.hpp"
#include "engine/model/step_statistics.hpp"

namespace axion {

// ---- Models ---------------------------------------------------------------------------------------------------------

std::size_t size_of(DType dtype);

struct BodyInfo {
  std::string name;
  double mass = 0;                // kg, with everything that is welded to it, as it is read (read_masses.hpp)
  std::array<double, 6> I_Bcm{};  // about the centre of mass, body axes: xx yy zz xy xz yz (kg m^2)
  model::Vec3d p_BoBcm{};         // m
  model::PoseSpec X_WB;           // initial pose
};

struct WeldInfo {  // a body of the scene that became part of another
  std::string name;
  int body = model::kWorldBody;  // index into ModelInfo::bodies or kWorldBody
  model::PoseSpec X_BW;          // pose of the welded frame in that body
  int mocap = -1;                // in the world: the mocap body that it stands on, where the scene has that; -1: none
};

struct MocapInfo {  // a body that clients place
  std::string name;
  model::PoseSpec X_WM;     // where it stands after a reset
  std::vector<int> shapes;  // indices into ModelInfo::shapes of shapes that go with it; their poses are in the world
};

struct JointInfo {
  std::string name;
  model::JointKind kind = model::JointKind::kFree;
  int parent = model::kWorldBody;  // index into ModelInfo::bodies
  int child = 0;
  int position_start = 0, position_count = 0;   // range in joint_position
  int velocity_start = 0, velocity_count = 0;   // range in joint_velocity
  std::vector<model::AxisSpec> axes;            // as compiled: unit axes
  bool closes_loop = false;                     // rows, but no coordinates (model/loop_joints.hpp)
  double lock_stiffness = 0, lock_damping = 0;  // of the locked directions; stiffness 0 is rigid
};

struct SensorInfo {
  std::string name;
  model::SensorKind kind = model::SensorKind::kClock;
  int start = 0, size = 0;       // range in sensor_data
  double cutoff = 0, noise = 0;  // as in SensorSpec
};

struct ModelInfo {
  std::string name;
  std::vector<BodyInfo> bodies;  // in the order of body_pose
  std::vector<WeldInfo> welds;
  std::vector<MocapInfo> mocaps;  // in the order of mocap_pose
  std::vector<JointInfo> joints;
  std::vector<model::ShapeSpec> shapes;  // body indices refer to `bodies`
  std::vector<model::MeshSpec> meshes;   // the hulls that shapes of kind mesh collide with
  std::vector<model::HeightFieldSpec> height_fields;
  std::vector<model::ActuatorSpec> actuators;  // in the order of control
  std::vector<model::KeyframeSpec> keyframes;
  std::vector<model::TendonSpec> tendons;
  std::vector<model::EqualitySpec> equalities;
  std::vector<SensorInfo> sensors;  // in the order of sensor_data
  int sensor_size = 0;              // numbers of sensor_data
  model::Vec3d gravity{};
  double timestep = 0;
  int joint_position_count = 0;  // nq
  int joint_velocity_count = 0;  // nv
  int contact_capacity = 0;      // contacts a world can hold; more raises CONTACT_OVERFLOW
  std::vector<std::string>
      warnings;            // what may surprise in the scene (model/scene_warnings.hpp), and what was simplified
  model::SceneSpec scene;  // what it was compiled from; compiled again it is the same model
  model::Fingerprint fingerprint{};  // of all in it that decides how worlds move (model/fingerprint.hpp)
};

// An immutable compiled scene.
class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
};

// Validates and compiles. Errors name the field as a path in SceneSpec ("bodies[3].mass").
Result<std::shared_ptr<const Model>> compile_model(const model::SceneSpec& scene);

// ---- Fields ---------------------------------------------------------------------------------------------------------

// DType, Field and Outcome are in model/fields.hpp.
std::string_view field_name(Field field);                                   // "body_pose", ...
std::vector<std::int64_t> field_shape(const ModelInfo& info, Field field);  // of one world
Result<Field> field_from_name(std::string_view name);

// ---- Steps ----------------------------------------------------------------------------------------------------------

class Batch;

// Real input of any layout: value (i, t, j) is at data + i*world_stride + t*step_stride + j*size_of(dtype).
struct InputView {
  const std::byte* data = nullptr;  // nullptr: absent
  DType dtype = DType::kFloat32;    // kFloat32 or kFloat64
  std::size_t world_stride = 0;     // bytes
  std::size_t step_stride = 0;      // bytes; 0 holds one value over all steps
};

// Where a field goes: record r of world i is written at data + i*world_stride + r*record_stride.
struct OutputView {
  Field field = Field::kBodyPose;
  std::byte* data = nullptr;
  std::size_t world_stride = 0;
  std::size_t record_stride = 0;
};

struct StepRequest {
  Batch* batch = nullptr;
  std::span<const std::int32_t> world_indices;  // empty: all worlds, in order; else distinct
  int step_count = 1;                           // >= 1
  InputView control;                            // [n, (steps,) nu]; absent keeps the last control (zero at first)
  InputView body_wrench;                        // [n, nb, 6] force, torque about the centre of mass, world; held
  InputView mocap_pose;                         // [n, mocap bodies, 7], as the field; absent: they stay; held
  int record_every = 0;                         // 0: one record after the last step
  std::span<const OutputView> outputs;
};

// What a step did, StepStatistics, and the bounds of its histograms are in model/step_statistics.hpp.

// ---- State ----------------------------------------------------------------------------------------------------------

// Values of a parameter (model/parameters.hpp): [n, items, width] as parameter_shape has it.
struct ParameterInput {
  Parameter parameter = Parameter::kGravity;
  InputView values;
};

// Of one world.
std::vector<std::int64_t> parameter_shape(const ModelInfo& info, Parameter parameter);
// INVALID_ARGUMENT with all names where there is none of this name.
Result<Parameter> parameter_from_name(std::string_view name);

// New state of some worlds; absent parts keep their value. Either body_* or joint_*, not both. Velocities are those at
// the instant of the poses, as they are read. Quaternions are normalised; a zero or non-finite one is refused. Joint
// coordinates place the bodies by the tree. Poses and velocities that are set forget the impulses of the last step:
// what follows depends on the state alone. A world that is frozen stays so; only a reset revives it.
struct StateUpdate {
  InputView body_pose;       // [n, nb, 7]
  InputView body_velocity;   // [n, nb, 6]
  InputView joint_position;  // [n, nq]
  InputView joint_velocity;  // [n, nv]
  InputView time;            // [n], s
  InputView activation;      // [n, activations], held within their ranges
  InputView mocap_pose;      // [n, mocap bodies, 7]; forgets nothing of the last step
  // Numbers that these worlds have in place of the model's from now on, each parameter once. Body frames keep their
  // poses and go on as they moved; all else that is set is set after this. Refused as a whole where the model could not
  // be compiled with the numbers of any world; the error names the path of the number in the model.
  std::vector<ParameterInput> parameters = {};
  // Snapshots (Batch::snapshots): one a world, or one for all, and nothing beside them. They replace all that a world
  // carries, frozen or not: state, impulses, time, step index, outcome, scales and initial poses. INVALID_ARGUMENT
  // unless taken of a world of the same model, precision, dt and choices that decide what the state means
  // (constraint_level, joint_mode, gyroscopic_mode, half_step_start); the same bits follow where all other options are
  // the same too.
  std::vector<std::string_view> snapshots = {};
};

// How worlds start again. Clears warm starts, impulses and outcomes; controls are the keyframe's, or zero.
struct ResetRequest {
  std::span<const std::int32_t> world_indices;  // empty: all
  int keyframe = -1;                            // -1: the initial state
  StateUpdate state;                            // applied on top; with snapshots no keyframe
};

// Whether a snapshot is of a world with numbers of its own. Of other bytes: false.
bool has_own_numbers(std::string_view snapshot);

struct ContactInfo {
  int shape_a = 0, shape_b = 0;     // index into ModelInfo::shapes
  int body_a = 0, body_b = 0;       // kWorldBody for the world
  model::Vec3d point{};             // m, world frame, on the surface of a, at the start of the last step
  model::Vec3d normal{};            // unit, from b to a
  double gap = 0;                   // m, at the end of the last step along the normal; negative: overlap
  double normal_impulse = 0;        // N s
  model::Vec3d friction_impulse{};  // N s, world frame, on a
  model::Vec3d moment_impulse{};    // N m s, world frame, on a: of torsional and rolling friction
};

// A world's last step.
struct WorldStatistics {
  int newton_iterations = 0, linear_iterations = 0, line_search_steps = 0;
  int sweep_rounds = 0, contact_sweeps = 0;  // linearisations of the joints with sweeps over contacts; all their sweeps
  int contact_count = 0;
  model::JointMode joint_mode = {};                               // that the step ended in
  std::uint32_t outcome = 0;                                      // zero before the first step
  std::array<double, kResidualBlockCount> residual{};             // m/s or rad/s
  std::array<double, kResidualBlockCount> residual_normalised{};  // multiples of the tolerance
  double max_penetration = 0;                                     // m
  double max_joint_error = 0;                                     // m, of joints that do not give way
  double max_equality_error = 0;                                  // m (or rad), of equalities that were eased
};

// Per-world changes to the model; data are in the order of the worlds.
struct BatchOverrides {
  InputView body_pose;                          // [n, nb, 7] initial poses, used by the first state and by Reset
  InputView mass_scale;                         // [n, nb] > 0: scales mass and inertia
  InputView friction_scale;                     // [n] >= 0: scales all friction coefficients of all contacts
  InputView gain_scale;                         // [n, nu] >= 0: scales gear (motor) or kp and kd (position, velocity)
  std::vector<ParameterInput> parameters = {};  // as in StateUpdate
};

struct BatchSpec {
  std::shared_ptr<const Model> model;
  int world_count = 1;
  double dt = 0.005;  // s, 1e-6 .. 1
  model::SolverOptions options;
  BatchOverrides overrides;
  bool started = true;  // false: the caller starts the worlds, before anything else (Batch::prepare_start)
};

// Cumulative over a batch since it was created.
struct BatchStatistics {
  StepStatistics steps;
  std::int64_t memory_bytes = 0;
};

// A change of worlds' state that has been checked, with all of it worked out that needs no device.
class StateChange {
 public:
  virtual ~StateChange() = default;
};

class Batch {
 public:
  virtual ~Batch() = default;
  virtual const BatchSpec& spec() const = 0;      // overrides' views are not kept
  virtual DType real_dtype() const = 0;           // kFloat32 or kFloat64
  virtual std::int64_t memory_bytes() const = 0;  // on the device
  // What memory_bytes can become at most when worlds are given numbers of their own.
  virtual std::int64_t memory_bound() const = 0;
  virtual std::int64_t step_index(int world) const = 0;
  // Shape of a field for one world, e.g. {nb, 7}; empty for a scalar.
  virtual std::vector<std::int64_t> field_shape(Field field) const = 0;
  virtual DType field_dtype(Field field) const = 0;
  // Worlds empty: all. `out` receives records as in OutputView.
  virtual Status get(std::span<const std::int32_t> worlds, std::span<const OutputView> out) const = 0;
  // All that each world carries, as bytes: the same bits follow from them in any world of any batch with the same model
  // and options, on any device. `outcomes`, one a world or empty, stand for the worlds' own: a request may have been
  // made by several launches.
  virtual Result<std::vector<std::string>> snapshots(std::span<const std::int32_t> worlds,
                                                     std::span<const std::uint32_t> outcomes) const = 0;
  // A parameter of each world, one row after the other: `out` has room for all of them.
  virtual Status parameters(std::span<const std::int32_t> worlds, Parameter parameter, std::span<double> out) const = 0;
  // A change of these worlds in two parts, so that it can be made of some of them at a time. Where a keyframe is given
  // they are reset first. prepare() changes nothing, and may run on any thread, beside looks at the batch too, as long
  // as nothing changes that until the change is made or thrown away. It stops if no caller waits any more
  // (base/stop.hpp). The change refers to its worlds and to what the state's views refer to.
  virtual Result<std::unique_ptr<StateChange>> prepare(std::span<const std::int32_t> worlds, const StateUpdate& state,
                                                       std::optional<int> keyframe) const = 0;
  // The first state of all worlds. The overrides are the spec's, which were checked with it, and live on.
  virtual Result<std::unique_ptr<StateChange>> prepare_start(const BatchOverrides& overrides) const = 0;
  // Makes it of the worlds [first, last) in the order asked for: of all, in turn, from 0 on. Refused at first = 0
  // alone, for want of memory; then nothing has changed.
  virtual Status make(StateChange& change, int first, int last) = 0;
  // All of it at once.
  virtual Status set_state(std::span<const std::int32_t> worlds, const StateUpdate& state) = 0;
  virtual Status reset(const ResetRequest& request) = 0;
  virtual Result<std::vector<ContactInfo>> contacts(int world) const = 0;
  // Of engine/model/queries.hpp, for `worlds` in order; spans have room for all that is asked for. A query that is made
  // in parts is checked as a whole first.
  virtual Status check(std::span<const std::int32_t> worlds, const RayQuery& query) const = 0;
  virtual Status check(std::span<const std::int32_t> worlds, std::span<const ShapePairQuery> pairs,
                       double max_distance) const = 0;
  virtual Status check(std::span<const std::int32_t> worlds, const DynamicsQuery& query) const = 0;
  virtual Status cast_rays(std::span<const std::int32_t> worlds, const RayQuery& query, const RayHits& hits) const = 0;
  virtual Status distances(std::span<const std::int32_t> worlds, std::span<const ShapePairQuery> pairs,
                           double max_distance, const PairDistances& out) const = 0;
  virtual Status dynamics(std::span<const std::int32_t> worlds, const DynamicsQuery& query,
                          const Dynamics& out) const = 0;
  virtual Result<WorldStatistics> statistics(int world) const = 0;
  virtual BatchStatistics statistics() const = 0;
};

// ---- Devices --------------------------------------------------------------------------------------------------------

struct DeviceInfo {
  std::string kind;  // "cpu" or "cuda"
  std::string id;    // "cpu", "cuda:0"
  std::string name;  // as the hardware calls itself
  std::int64_t memory_total_bytes = 0;
  std::int64_t memory_used_bytes = 0;  // by this engine's batches
  int threads = 0;                     // CPU threads that step worlds; 0 on a GPU
  int block_threads = 0;               // GPU: threads of a world in the last launch's last grid; 0 before and on a CPU
  std::int64_t near_bytes = 0;         // GPU: shared memory that holds scratch of a world, likewise
};

// Processors that this thread may run on, as taskset, cpusets and containers allow; at least 1.
int available_processors();

struct EngineOptions {
  std::string device = "auto";          // "auto", "cpu", "cuda:<index>"; auto takes a GPU where one is usable
  int threads = 0;                      // CPU; 0: available_processors(). GPU: of the host that pack inputs, at most 8
  std::int64_t memory_limit_bytes = 0;  // 0: what the device has
  std::string instruction_set = {};  // CPU: "x86-64", "x86-64-v3" or "x86-64-v4"; empty: the widest usable. Same bits
  int block_threads = 0;             // GPU: threads of a world, 32, 64, 128 or 256; 0: the engine's choice. Same bits
  std::int64_t near_bytes = -1;      // GPU: of a world's scratch in shared memory; -1: the engine's choice. Same bits
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual DeviceInfo device() const = 0;
  // RESOURCE_EXHAUSTED if the worlds do not fit; nothing is allocated then.
  virtual Result<std::unique_ptr<Batch>> create_batch(const BatchSpec& spec) = 0;
  // Checks every request before any runs; a refused call changes nothing. At most one request a batch.
  virtual Result<StepStatistics> step(std::span<const StepRequest> requests) = 0;
};

// INVALID_ARGUMENT for an unknown device, FAILED_PRECONDITION for one that is not usable here (the message says why;
// "auto" never fails for lack of a GPU, and `*note` then says why the CPU was taken).
Result<std::unique_ptr<Engine>> create_engine(const EngineOptions& options, std::string* note = nullptr);

// Backends compiled into this build: "cpu", "cuda".
std::vector<std::string> compiled_backends();

// ---- Linearisation --------------------------------------------------------------------------------------------------

// How a step depends on its state x and its controls: A = dx+/dx, B = dx+/du, C = dy/dx, D = dy/du, where x+ is the
// state that the step leaves, as clients read it, and y the sensor_data after it. A step begins as after set_state: it
// knows x, the numbers of the world and its mocap poses, and of the step before nothing. engine/backend/linearise.cpp
// says how they are found.

std::vector<StateCoordinate> state_coordinates(const ModelInfo& info);

// k steps of n worlds, one after the other along a trajectory.
struct LinearisationSpec {
  std::vector<std::int32_t> worlds;  // empty: all, in order; else distinct
  StateUpdate start;                 // on top of the worlds' own state; neither parameters nor snapshots
  int step_count = 1;                // k >= 1
  InputView control;                 // [n, k, nu]; absent: the last control of each world
  double difference = 1e-6;          // by which each coordinate and control is moved either way, in its unit
  LinearisationMethod method = LinearisationMethod::kExact;
};

// One that is under way. Nothing of the batch changes; it must not be changed by others before the last item.
class Linearisation {
 public:
  virtual ~Linearisation() = default;
  // Does the items [first, last), each a launch of few worlds: all of linearisation_items, in turn, from 0 on.
  virtual Status run(std::size_t first, std::size_t last) = 0;
  // What its own worlds take on the device at most.
  virtual std::int64_t memory_bytes() const = 0;
};

std::size_t linearisation_items(const DeviceInfo& device, const ModelInfo& info, std::size_t worlds, std::size_t steps);

// Checks all and makes the worlds that are stepped. INVALID_ARGUMENT with "batch" for a model whose state joint
// coordinates do not say: bodies without a joint, joints that give way in their locked directions. The engine is the
// batch's; what spec and output refer to lives as long as the linearisation.
Result<std::unique_ptr<Linearisation>> linearise(Engine& engine, const Batch& batch, const LinearisationSpec& spec,
                                                 const LinearisationOutput& output);

// ---- Gradients ------------------------------------------------------------------------------------------------------

// dL/d(field) after each record of the steps, from which the others follow.
struct FieldGradient {
  Field field = Field::kBodyPose;
  InputView values;  // [n, (records,) ...]
};

// The vector-Jacobian product of k steps of n worlds: from dL/d(fields) to dL/d(start, controls, inputs). The steps are
// those of a linearisation, one after the other along the trajectory that it would have.
struct StepGradientSpec {
  std::vector<std::int32_t> worlds;  // empty: all, in order; else distinct
  StateUpdate start;                 // on top of the worlds' own state; neither parameters nor snapshots
  int step_count = 1;                // k >= 1
  InputView control;                 // as of a StepRequest: step_stride 0 holds it
  InputView body_wrench;             // likewise
  int record_every = 0;              // likewise
  std::vector<FieldGradient> fields;
  InputView state;                    // [n, x]: dL/d(coordinates of the state after the last step); absent: zero
  std::vector<GradientInput> inputs;  // beside state and control
  std::vector<Field> outputs;         // whose values are wanted
  double difference = 1e-6;           // of laws without an exact derivative, and within which kinks are looked for
};

// Fields that a gradient may be given of: body_pose, body_velocity, joint_position, joint_velocity, activation,
// sensor_data.
bool has_gradient(Field field);
// "mass_scale", "friction_scale", "gain_scale", "body_wrench" or a parameter's name. INVALID_ARGUMENT with all names
// where there is none of this name, and for a parameter that has no gradient.
Result<GradientInput> gradient_input_from_name(std::string_view name);
std::vector<std::int64_t> gradient_input_shape(const ModelInfo& info, const GradientInput& input);  // of one world

// As a linearisation: items are two a step of each world, there and back.
std::size_t step_gradient_items(std::size_t worlds, std::size_t steps);
// What the states on the way take on the host, beside what memory_bytes says.
std::size_t step_gradient_host_bytes(const ModelInfo& info, std::size_t steps);
Result<std::unique_ptr<Linearisation>> step_gradient(Engine& engine, const Batch& batch, const StepGradientSpec& spec,
                                                     const StepGradientOutput& output);

}  // namespace axion
