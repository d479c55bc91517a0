// Quantities of a task: what they read, by index.
#include <algorithm>
#include <utility>

#include "server/task/task_parts.hpp"

namespace axion::server::task {
namespace {

int element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return static_cast<int>(count);
}

// A curriculum as a quantity finds it: quantities are compiled before curricula are, which name terms of the reward.
struct Level {
  CurriculumSpec spec;
  int start = 0, size = 1;
};

std::vector<Level> levels_of(const TaskSpec& spec) {
  std::vector<Level> levels;
  for (const CurriculumSpec& curriculum : spec.curriculum)
    levels.push_back({curriculum, static_cast<int>(levels.size())});
  return levels;
}

// Numbers of one of the task's own terms.
template <typename Term>
Status resolve_term(const std::string& path, const char* what, const std::vector<Term>& terms, const std::string& name,
                    Quantity& out) {
  std::vector<std::string> names;
  for (const Term& term : terms) {
    names.push_back(term.spec.name);
    if (term.spec.name != name) continue;
    out.at = term.start;
    out.whole = term.size;
    return {};
  }
  std::string text = unknown(what, name, names);
  return invalid_argument(path + "." + what, text.replace(text.find("the model"), 9, "the task"));
}

}  // namespace

int PartCompiler::read(Field field) {
  const auto found = std::find(task_.fields.begin(), task_.fields.end(), field);
  if (found != task_.fields.end()) return task_.field_sizes[static_cast<std::size_t>(found - task_.fields.begin())];
  task_.fields.push_back(field);
  task_.field_sizes.push_back(element_count(field_shape(info_, field)));
  return task_.field_sizes.back();
}

Result<std::vector<Coordinates>> PartCompiler::joints(const std::string& path, const std::vector<std::string>& names) {
  const auto found = names_.find(path, "joint", names, task_.robot.joint_names);
  if (!found.ok()) return found.error();
  std::vector<Coordinates> joints;
  for (const int index : found.value()) {
    const Coordinates& joint = task_.robot.joints[static_cast<std::size_t>(index)];
    // A pattern may match a joint and its axes.
    if (std::any_of(joints.begin(), joints.end(), [&](const Coordinates& other) {
          return other.joint == joint.joint && (other.axis < 0 || joint.axis < 0 || other.axis == joint.axis);
        })) {
      continue;
    }
    joints.push_back(joint);
  }
  return joints;
}

Status PartCompiler::resolve_joints(const std::string& path, const QuantitySpec& spec, Quantity& out) {
  if (spec.joints.empty()) return {};
  const bool position = out.kind == QuantityKind::kField && out.field == Field::kJointPosition;
  const bool velocity = (out.kind == QuantityKind::kField && out.field == Field::kJointVelocity) ||
                        out.kind == QuantityKind::kGeneralizedVelocity || out.kind == QuantityKind::kActuatorForces;
  if (!position && !velocity) {
    return invalid_argument(path + ".joints", "are given, but the quantity has no numbers of joints");
  }
  const auto named = joints(path + ".joints", spec.joints);
  if (!named.ok()) return named.error();
  for (const Coordinates& joint : named.value()) {
    const int first = position ? joint.position_start : joint.velocity_start;
    const int count = position ? joint.position_count : joint.velocity_count;
    for (int i = 0; i < count; ++i) out.picks.push_back(first + i);
  }
  return {};
}

Status PartCompiler::resolve_tracked(const std::string& path, const QuantitySpec& spec, Quantity& out) {
  if (Status s = resolve_body(path, spec, out, 1); !s.ok()) return s;
  if (Status s = check_number(path + ".force_above", spec.force_above, 0); !s.ok()) return s;
  task_.reads_contacts = true;
  for (const int body : out.bodies) {
    auto& tracked = task_.tracked;
    const auto found = std::find_if(tracked.begin(), tracked.end(), [&](const TrackedBody& other) {
      return other.body == body && other.force_above == spec.force_above;
    });
    out.tracked.push_back(static_cast<int>(found - tracked.begin()));
    if (found == tracked.end()) tracked.push_back({body, spec.force_above});
    if (tracked.size() > static_cast<std::size_t>(kMaxTerms)) {
      return invalid_argument(path + ".body", "is beyond 256 bodies whose touching is looked at");
    }
  }
  return {};
}

Status PartCompiler::resolve_body(const std::string& path, const QuantitySpec& spec, Quantity& out, int size) {
  auto named = bodies(path + ".body", {spec.name});
  if (!named.ok()) {
    Error error = named.error();
    error.field = path + ".body";
    return error;
  }
  out.bodies = std::move(named).value();
  out.whole = size * static_cast<int>(std::min<std::size_t>(out.bodies.size(), kMaxNumbers));
  for (std::size_t i = 0; i < 3; ++i) {
    if (Status s = check_number(path + ".point", spec.point[i], -kMaxNumber); !s.ok()) return s;
  }
  out.point = {spec.point[0], spec.point[1], spec.point[2]};
  out.in_body_axes = spec.in_body_axes;
  if (spec.kind == QuantityKind::kBodyContactForce) task_.reads_contacts = true;
  read(Field::kBodyPose);
  read(Field::kBodyVelocity);
  return {};
}

Status PartCompiler::resolve_sensor(const std::string& path, const QuantitySpec& spec, Quantity& out) {
  std::vector<std::string> names;
  for (const SensorInfo& sensor : info_.sensors) {
    names.push_back(sensor.name);
    if (sensor.name != spec.name) continue;
    out.kind = QuantityKind::kField;
    out.field = Field::kSensorData;
    read(out.field);
    out.first = sensor.start;
    out.whole = sensor.size;
    return {};
  }
  return invalid_argument(path + ".sensor", unknown("sensor", spec.name, names));
}

Status PartCompiler::resolve(const std::string& path, const QuantitySpec& spec, Quantity& out) {
  const int bodies = static_cast<int>(task_.robot.bodies.size());
  switch (spec.kind) {
    case QuantityKind::kField: {
      const Result<Field> field = field_from_name(spec.name);
      if (!field.ok()) return invalid_argument(path + ".field", field.error().message);
      out.field = field.value();
      out.whole = read(out.field);
      return {};
    }
    case QuantityKind::kSensor:
      return resolve_sensor(path, spec, out);
    case QuantityKind::kCommand:
      return resolve_term(path, "command", task_.command, spec.name, out);
    case QuantityKind::kDraw:
      return resolve_term(path, "draw", task_.draw, spec.name, out);
    case QuantityKind::kPhase:
      return resolve_term(path, "phase", task_.phase, spec.name, out);
    case QuantityKind::kCurriculum:
      return resolve_term(path, "curriculum", levels_of(task_.spec), spec.name, out);
    case QuantityKind::kGeneralizedVelocity:
      read(Field::kJointPosition);
      out.whole = read(Field::kJointVelocity);
      return {};
    case QuantityKind::kActuatorForces:
      read(Field::kActuatorForce);
      out.whole = info_.joint_velocity_count;
      return {};
    case QuantityKind::kAction:
    case QuantityKind::kPreviousAction:
      out.whole = task_.action_size();
      return {};
    case QuantityKind::kBodyOrientation:
      return resolve_body(path, spec, out, 4);
    case QuantityKind::kBodyPosition:
      if (!spec.relative_to.empty()) {
        const Result<int> other = body(path + ".relative_to", spec.relative_to);
        if (!other.ok()) return other.error();
        out.relative_to = other.value();
      }
      return resolve_body(path, spec, out, 3);
    case QuantityKind::kBodyGravity:
    case QuantityKind::kBodyVelocity:
    case QuantityKind::kBodyAngularVelocity:
    case QuantityKind::kBodyContactForce:
      return resolve_body(path, spec, out, 3);
    case QuantityKind::kBodyInContact:
    case QuantityKind::kBodyAirTime:
    case QuantityKind::kBodyContactTime:
    case QuantityKind::kBodyLastAirTime:
    case QuantityKind::kBodyFirstContact:
      return resolve_tracked(path, spec, out);
    case QuantityKind::kCenterOfMass:
      out.whole = 3;
      break;
    case QuantityKind::kBodyWrenches:
      out.whole = 6 * bodies, task_.reads_contacts = true;
      break;
    case QuantityKind::kBodyInertias:
      out.whole = 10 * bodies;
      break;
    case QuantityKind::kBodyTwists:
      out.whole = 6 * bodies;
      break;
  }
  read(Field::kBodyPose);
  read(Field::kBodyVelocity);
  return {};
}

Result<Quantity> PartCompiler::quantity(const std::string& path, const QuantitySpec& spec) {
  Quantity out{.kind = spec.kind};
  if (Status s = resolve(path, spec, out); !s.ok()) return s.error();
  if (Status s = resolve_joints(path, spec, out); !s.ok()) return s.error();
  read_ += out.kind == QuantityKind::kField ? 0 : out.whole;
  const int taken = spec.joints.empty() ? out.whole : static_cast<int>(out.picks.size());
  if (Status s = take_piece(path, spec.start, spec.count, taken, out.size); !s.ok()) return s.error();
  read_ += out.size;
  if (read_ > kMaxNumbers) return invalid_argument(path, "is beyond 65536 numbers that are read for a step");
  if (spec.joints.empty()) {
    out.first += spec.start;
  } else {
    out.picks = {out.picks.begin() + spec.start, out.picks.begin() + spec.start + out.size};
  }
  out.function = spec.function;
  if (!spec.scale.empty()) {
    auto scale = spread(path + ".scale", spec.scale, out.size, 1);
    if (!scale.ok()) return scale.error();
    out.scale = std::move(scale).value();
  }
  if (!spec.offset.empty()) {
    auto offset = spread(path + ".offset", spec.offset, out.size, 0);
    if (!offset.ok()) return offset.error();
    out.offset = std::move(offset).value();
  }
  if (Status s = check_bounds(path + ".", spec.lower, spec.upper); !s.ok()) return s.error();
  out.lower = spec.lower;
  out.upper = spec.upper;
  return out;
}

}  // namespace axion::server::task
