#include "server/task/task_parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace axion::server::task {
namespace {

int element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return static_cast<int>(count);
}

// What the i-th number of a list is called.
std::string element(const std::string& path, const char* list, std::size_t i) {
  return path + list + "[" + std::to_string(i) + "]";
}

// A piece [start, start + count) of `whole` numbers; count 0 is the rest.
Status take_piece(const std::string& path, int start, int count, int whole, int& size) {
  if (start < 0 || start > whole) {
    return invalid_argument(path + ".start",
                            "is " + std::to_string(start) + ", but there are " + std::to_string(whole) + " numbers");
  }
  if (count < 0 || count > whole - start) {
    return invalid_argument(path + ".count", "is " + std::to_string(count) + ", but from " + std::to_string(start) +
                                                 " on there are " + std::to_string(whole - start) + " numbers");
  }
  size = count == 0 ? whole - start : count;
  return {};
}

}  // namespace

std::string to_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string shown(const std::string& name) {
  return "\"" + (name.size() > 64 ? name.substr(0, 64) + "..." : name) + "\"";
}

std::string unknown(const std::string& what, const std::string& name, const std::vector<std::string>& known) {
  constexpr std::size_t kShown = 32;
  std::string text = "unknown " + what + " " + shown(name) + ", the model has ";
  if (known.empty()) return text + "none";
  for (std::size_t i = 0; i < std::min(known.size(), kShown); ++i) text += (i > 0 ? ", " : "") + known[i];
  return known.size() > kShown ? text + " and " + std::to_string(known.size() - kShown) + " more" : text;
}

Status check_number(const std::string& path, double value, double least, double greatest) {
  if (value >= least && value <= greatest) return {};
  return invalid_argument(path,
                          "is " + to_text(value) + "; it must be from " + to_text(least) + " to " + to_text(greatest));
}

Status check_bounds(const std::string& path, double lower, double upper) {
  if (lower < upper) return {};
  return invalid_argument(path + "lower", "is " + to_text(lower) + "; it must be below upper, " + to_text(upper));
}

Result<std::vector<double>> spread(const std::string& path, const std::vector<double>& values, int size, double absent,
                                   bool infinite) {
  if (!values.empty() && values.size() != 1 && values.size() != static_cast<std::size_t>(size)) {
    return invalid_argument(
        path, "has " + std::to_string(values.size()) + " numbers; there must be none, one, or " + std::to_string(size));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if ((infinite && std::isinf(values[i])) || std::abs(values[i]) <= kMaxNumber) continue;
    return invalid_argument(path + "[" + std::to_string(i) + "]", "is " + to_text(values[i]));
  }
  const auto count = static_cast<std::size_t>(size);
  if (values.size() == count && size != 1) return values;
  return std::vector<double>(count, values.empty() ? absent : values[0]);
}

int PartCompiler::read(Field field) {
  const auto found = std::find(task_.fields.begin(), task_.fields.end(), field);
  if (found != task_.fields.end()) return task_.field_sizes[static_cast<std::size_t>(found - task_.fields.begin())];
  task_.fields.push_back(field);
  task_.field_sizes.push_back(element_count(field_shape(info_, field)));
  return task_.field_sizes.back();
}

Result<int> PartCompiler::body(const std::string& path, const std::string& name) const {
  const int index = task_.robot.find_body(name);
  if (index >= 0) return index;
  std::vector<std::string> names;
  for (const BodyPart& part : task_.robot.bodies) names.push_back(part.name);
  return invalid_argument(path, unknown("body", name, names));
}

Result<int> PartCompiler::keyframe(const std::string& path, const std::string& name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < info_.keyframes.size(); ++i) {
    if (!name.empty() && info_.keyframes[i].name == name) return static_cast<int>(i);
    names.push_back(info_.keyframes[i].name);
  }
  if (name.empty()) return -1;
  return invalid_argument(path, unknown("keyframe", name, names));
}

Result<std::vector<int>> PartCompiler::actuators(const std::vector<std::string>& names) const {
  std::vector<int> indices;
  std::vector<std::string> known;
  for (const model::ActuatorSpec& actuator : info_.actuators) known.push_back(actuator.name);
  for (std::size_t i = 0; names.empty() && i < known.size(); ++i) indices.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string path = "action.actuators[" + std::to_string(i) + "]";
    const auto found = std::find(known.begin(), known.end(), names[i]);
    if (found == known.end()) return invalid_argument(path, unknown("actuator", names[i], known));
    indices.push_back(static_cast<int>(found - known.begin()));
    if (std::count(indices.begin(), indices.end(), indices.back()) > 1) {
      return invalid_argument(path, "names " + shown(names[i]) + " again");
    }
  }
  return indices;
}

Status PartCompiler::resolve_body(const std::string& path, const QuantitySpec& spec, Quantity& out, int size) {
  const Result<int> index = body(path + ".body", spec.name);
  if (!index.ok()) return index.error();
  out.body = index.value();
  out.whole = size;
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
    case QuantityKind::kSensor: {
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
    case QuantityKind::kCommand: {
      std::vector<std::string> names;
      for (const CommandTerm& command : task_.command) {
        names.push_back(command.spec.name);
        if (command.spec.name != spec.name) continue;
        out.command = command.start;
        out.whole = command.size;
        return {};
      }
      std::string text = unknown("command", spec.name, names);
      return invalid_argument(path + ".command", text.replace(text.find("the model"), 9, "the task"));
    }
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
  read_ += out.kind == QuantityKind::kField ? 0 : out.whole;
  if (Status s = take_piece(path, spec.start, spec.count, out.whole, out.size); !s.ok()) return s.error();
  read_ += out.size;
  if (read_ > kMaxNumbers) return invalid_argument(path, "is beyond 65536 numbers that are read for a step");
  out.first += spec.start;
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

namespace {

constexpr int kMaxDrawnTogether = 64;  // numbers whose length is bounded: they may be drawn a hundred times

// Where uniform numbers can never have such a length nothing is to be drawn for ever.
Status check_lengths(const std::string& path, const StartTerm& term) {
  double least = 0, greatest = 0;  // squares of lengths
  for (int i = 0; i < term.size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double scale = term.scale.empty() ? 1 : term.scale[at], offset = term.offset.empty() ? 0 : term.offset[at];
    const double one = offset + scale * term.spec.lower, other = offset + scale * term.spec.upper;
    const double far = std::max(std::abs(one), std::abs(other));
    const double near = one * other <= 0 ? 0 : std::min(std::abs(one), std::abs(other));
    least += near * near, greatest += far * far;
  }
  const auto drawn = [&] {
    return "numbers from " + to_text(std::sqrt(least)) + " to " + to_text(std::sqrt(greatest));
  };
  if (std::sqrt(greatest) <= term.longer_than) {
    return invalid_argument(path + ".longer_than",
                            "is " + to_text(term.longer_than) + ", but what is drawn are " + drawn() + " long");
  }
  if (std::sqrt(least) >= term.shorter_than) {
    return invalid_argument(path + ".shorter_than",
                            "is " + to_text(term.shorter_than) + ", but what is drawn are " + drawn() + " long");
  }
  return {};
}

// Scale, offset and lengths of what is drawn.
Status shape_draws(const std::string& path, const StartSpec& spec, StartTerm& term) {
  const char* const given = !spec.scale.empty()     ? ".scale"
                            : !spec.offset.empty()  ? ".offset"
                            : spec.has_longer_than  ? ".longer_than"
                            : spec.has_shorter_than ? ".shorter_than"
                                                    : nullptr;
  if (given == nullptr) return {};
  if (spec.of == StartOf::kRotation) return invalid_argument(path + given, "is given, but a rotation has none");
  auto scale = spread(path + ".scale", spec.scale, term.size, 1);
  if (!scale.ok()) return scale.error();
  auto offset = spread(path + ".offset", spec.offset, term.size, 0);
  if (!offset.ok()) return offset.error();
  term.scale = std::move(scale).value(), term.offset = std::move(offset).value();
  if (!spec.has_longer_than && !spec.has_shorter_than) return {};
  const std::string first = path + (spec.has_longer_than ? ".longer_than" : ".shorter_than");
  if (term.size > kMaxDrawnTogether) {
    return invalid_argument(first, "is given for " + std::to_string(term.size) + " numbers; there may be 64");
  }
  if (spec.has_longer_than) {
    if (Status s = check_number(path + ".longer_than", spec.longer_than, 0); !s.ok()) return s;
    term.longer_than = spec.longer_than;
  }
  if (spec.has_shorter_than) {
    const double least = std::max(term.longer_than, 0.0);
    if (!(spec.shorter_than > least && spec.shorter_than <= kMaxNumber)) {
      return invalid_argument(path + ".shorter_than",
                              "is " + to_text(spec.shorter_than) + "; it must be above " + to_text(least));
    }
    term.shorter_than = spec.shorter_than;
  }
  return spec.distribution == Distribution::kUniform ? check_lengths(path, term) : Status{};
}

}  // namespace

Result<StartTerm> PartCompiler::start(const std::string& path, const StartSpec& spec) const {
  StartTerm term{.spec = spec};
  Coordinates coordinates{0, info_.joint_position_count, 0, info_.joint_velocity_count, false};
  if (!spec.joint.empty() && !task_.robot.find_joint(info_, spec.joint, coordinates)) {
    std::vector<std::string> names;
    for (const JointInfo& joint : info_.joints) {
      if (joint.axes.empty()) names.push_back(joint.name);
      for (const model::AxisSpec& axis : joint.axes) names.push_back(axis.name);
    }
    return invalid_argument(path + ".joint", unknown("joint", spec.joint, names));
  }
  if (spec.of == StartOf::kRotation) {
    const auto free =
        std::find_if(task_.robot.free_roots.begin(), task_.robot.free_roots.end(), [&](const FreeRoot& r) {
          return spec.joint.empty() || (coordinates.is_free && r.position_start == coordinates.position_start);
        });
    if (free == task_.robot.free_roots.end()) {
      return invalid_argument(path + ".joint", shown(spec.joint) + " is no free joint, which a rotation is of");
    }
    if (!(math::norm(Vec3{spec.axis[0], spec.axis[1], spec.axis[2]}) > 1e-9)) {
      return invalid_argument(path + ".axis", "has no length");
    }
    term.first = free->position_start + 3;
    term.size = 1;
    term.body = free->body;
  } else {
    const bool velocity = spec.of == StartOf::kVelocity;
    const int whole = velocity ? coordinates.velocity_count : coordinates.position_count;
    if (Status s = take_piece(path, spec.start, spec.count, whole, term.size); !s.ok()) return s.error();
    term.first = (velocity ? coordinates.velocity_start : coordinates.position_start) + spec.start;
  }
  const bool uniform = spec.distribution == Distribution::kUniform;
  if (Status s = check_number(path + (uniform ? ".lower" : ".mean"), uniform ? spec.lower : spec.mean, -kMaxNumber);
      !s.ok()) {
    return s.error();
  }
  Status s = uniform ? check_number(path + ".upper", spec.upper, spec.lower)
                     : check_number(path + ".deviation", spec.deviation, 0);
  if (!s.ok()) return s.error();
  if (s = shape_draws(path, spec, term); !s.ok()) return s.error();
  return term;
}

Result<CommandTerm> PartCompiler::command(const std::string& path, const CommandSpec& spec) const {
  if (spec.name.empty()) return invalid_argument(path + ".name", "is empty");
  for (const CommandTerm& other : task_.command) {
    if (other.spec.name == spec.name) return invalid_argument(path + ".name", "is " + shown(spec.name) + " again");
  }
  if (spec.lower.empty() || spec.lower.size() != spec.upper.size()) {
    return invalid_argument(path + ".upper", "has " + std::to_string(spec.upper.size()) + " numbers and lower has " +
                                                 std::to_string(spec.lower.size()) + "; one or more each");
  }
  if (spec.lower.size() > kMaxTerms) return invalid_argument(path + ".lower", "has more numbers than 256");
  for (std::size_t i = 0; i < spec.lower.size(); ++i) {
    if (Status s = check_number(element(path, ".lower", i), spec.lower[i], -kMaxNumber); !s.ok()) return s.error();
    if (Status s = check_number(element(path, ".upper", i), spec.upper[i], spec.lower[i]); !s.ok()) return s.error();
  }
  if (spec.least_steps < 0) return invalid_argument(path + ".least_steps", "is " + std::to_string(spec.least_steps));
  if (spec.most_steps < spec.least_steps || (spec.most_steps > 0 && spec.least_steps == 0)) {
    return invalid_argument(path + ".most_steps", "is " + std::to_string(spec.most_steps) + " and least_steps is " +
                                                      std::to_string(spec.least_steps) +
                                                      "; both 0, or least_steps from 1 to most_steps");
  }
  if (Status s = check_number(path + ".zero_probability", spec.zero_probability, 0, 1); !s.ok()) return s.error();
  return CommandTerm{.spec = spec, .start = task_.command_size, .size = static_cast<int>(spec.lower.size())};
}

}  // namespace axion::server::task
