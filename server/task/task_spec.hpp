// A task as data: what axion.v1.TaskSpec says, in plain structures. proto/axion/v1/task.proto has the meaning of each.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/engine.hpp"

namespace axion::server::task {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class QuantityKind : std::uint8_t {
  kField,
  kSensor,
  kGeneralizedVelocity,
  kBodyPosition,
  kBodyOrientation,
  kBodyGravity,
  kBodyVelocity,
  kBodyAngularVelocity,
  kBodyContactForce,
  kCenterOfMass,
  kBodyWrenches,
  kBodyInertias,
  kBodyTwists,
  kActuatorForces,
  kCommand,
  kAction,
  kPreviousAction,
  kDraw,
  kPhase,
  kCurriculum,
  kBodyInContact,
  kBodyAirTime,
  kBodyContactTime,
  kBodyLastAirTime,
  kBodyFirstContact,
};
enum class Function : std::uint8_t { kIdentity, kSine, kCosine, kAbsolute, kSquare };

struct QuantitySpec {
  QuantityKind kind = QuantityKind::kField;
  std::string name;                 // of the field, sensor, body (or a pattern), command, draw, phase or curriculum
  model::Vec3d point{0, 0, 0};      // m, body frame
  bool in_body_axes = false;        // velocities
  std::string relative_to;          // body; positions
  std::vector<std::string> joints;  // names and patterns; none: all coordinates
  double force_above = 0;           // N, of touching
  int start = 0, count = 0;         // count 0: all from start on
  Function function = Function::kIdentity;
  std::vector<double> scale, offset;  // none, one for all, or one for each number
  double lower = -kInfinity, upper = kInfinity;
};

enum class Distribution : std::uint8_t { kUniform, kNormal };

struct ObservationSpec {
  QuantitySpec quantity{};
  double noise = 0;  // half width, or standard deviation
  Distribution noise_distribution = Distribution::kUniform;
  int history = 1;
  int delay = 0, most_delay = 0;  // steps of the task; most_delay 0: as delay
};

enum class Measure : std::uint8_t {
  kSum,
  kRate,
  kSquareSum,
  kAbsoluteSum,
  kLength,
  kTracking,
  kAlive,
  kExponential,
  kDot
};

// A number that is measured: first the threshold, then the power, then the bounds.
struct MeasureSpec {
  Measure measure = Measure::kSum;
  QuantitySpec quantity;
  bool has_target = false;
  QuantitySpec target;
  double tracking_width = 1;
  bool has_threshold = false;
  double threshold = 0;
  double power = 1;
  double lower = -kInfinity, upper = kInfinity;
};

// weight * measure * factors, within the bounds that `measure` has.
struct RewardSpec {
  std::string name;
  double weight = 1;
  MeasureSpec measure;
  std::vector<MeasureSpec> factors;
};

enum class Condition : std::uint8_t { kOutside, kContact, kNonFinite };

struct EndSpec {
  std::string name;
  Condition condition = Condition::kOutside;
  QuantitySpec quantity;
  double lower = -kInfinity, upper = kInfinity;
  bool bounds_end = false;
  std::vector<std::string> bodies;
  double force_above = 0;  // N
};

enum class ActionOf : std::uint8_t { kControl, kPosition, kVelocity, kEffort, kDelta };

struct ActionGroupSpec {
  ActionOf of = ActionOf::kControl;
  std::vector<std::string> actuators, joints;  // names and patterns
  std::vector<double> scale, offset;           // none, one for all, or one each
  std::string offset_keyframe;
  std::vector<double> lower, upper;
};

struct ActionSpec {
  std::vector<std::string> actuators;  // names and patterns; none: all
  std::vector<double> scale, offset;   // none, one for all, or one each
  std::string offset_keyframe;
  std::vector<double> lower, upper;  // of an action; likewise
  int frame_skip = 1;
  int delay = 0, most_delay = 0;        // most_delay 0: as delay
  std::vector<ActionGroupSpec> groups;  // in place of the numbers above
};

enum class StartOf : std::uint8_t { kPosition, kVelocity, kRotation };

struct StartSpec {
  StartOf of = StartOf::kPosition;
  std::string joint;         // name or pattern; empty: all coordinates
  int start = 0, count = 0;  // of its coordinates
  model::Vec3d axis{0, 0, 1};
  Distribution distribution = Distribution::kUniform;
  double lower = 0, upper = 0;     // uniform
  double mean = 0, deviation = 0;  // normal
  bool replaces = false;
  std::vector<double> scale, offset;                 // none, one for all, or one for each number
  double longer_than = 0, shorter_than = kInfinity;  // of all numbers together, where one is given
  bool has_longer_than = false, has_shorter_than = false;
};

struct CommandSpec {
  std::string name;
  std::vector<double> lower, upper;
  int least_steps = 0, most_steps = 0;  // 0: an episode has one
  double zero_probability = 0;
};

enum class PushOf : std::uint8_t { kForce, kVelocity };
enum class PushDirection : std::uint8_t { kHorizontal, kAny, kAxis };

struct PushSpec {
  PushOf of = PushOf::kForce;
  std::vector<std::string> bodies;  // names and patterns
  int least_steps = 0, most_steps = 0;
  int steps = 1;
  double lower = 0, upper = 0;  // N or m/s
  PushDirection direction = PushDirection::kHorizontal;
  model::Vec3d axis{0, 0, 0};
};

enum class DrawOperation : std::uint8_t { kAbsolute, kScale, kAdd };

struct DrawSpec {
  std::string name;
  std::string parameter;
  std::vector<std::string> of;  // names and patterns; none: all that have a use for it
  DrawOperation operation = DrawOperation::kAbsolute;
  bool is_log_uniform = false;  // or uniform
  double lower = 0, upper = 0;
  bool together = false;
  int start = 0, count = 0;  // of the numbers of each item
};

struct PhaseSpec {
  std::string name;
  double least_period = 0, most_period = 0;  // s; most_period 0: as least_period
  std::vector<double> offset;                // of the period
  bool random_start = false;
};

struct CurriculumSpec {
  std::string name, command, reward_term;
  std::vector<double> first_lower, first_upper;
  int levels = 0;
  double promote_above = 0, demote_below = 0;
  int most_first_level = 0;
};

enum class Autoreset : std::uint8_t { kNextStep, kSameStep, kDisabled };

struct TaskSpec {
  std::vector<ObservationSpec> observation;
  std::vector<RewardSpec> reward;
  std::vector<EndSpec> termination, truncation;
  std::int64_t max_episode_steps = 0;  // 0: no end by length
  ActionSpec action;
  std::string keyframe;  // empty: the initial state
  std::vector<StartSpec> start;
  std::vector<CommandSpec> command;
  std::vector<PushSpec> push;
  std::vector<DrawSpec> draw;
  std::vector<ObservationSpec> privileged;
  std::vector<PhaseSpec> phase;
  std::vector<CurriculumSpec> curriculum;
  Autoreset autoreset = Autoreset::kNextStep;
};

}  // namespace axion::server::task
