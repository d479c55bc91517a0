#include "server/task/task_parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace axion::server::task {
std::string element(const std::string& path, const char* list, std::size_t i) {
  return path + list + "[" + std::to_string(i) + "]";
}

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

Status check_delay(const std::string& path, int delay, int most) {
  if (delay < 0 || delay > 1000) {
    return invalid_argument(path + ".delay", "is " + std::to_string(delay) + "; it must be from 0 to 1000");
  }
  if ((most == 0 || most >= delay) && most >= 0 && most <= 1000) return {};
  return invalid_argument(path + ".most_delay", "is " + std::to_string(most) + "; it must be 0, or from delay, " +
                                                    std::to_string(delay) + ", to 1000");
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

namespace {

constexpr int kMaxDrawnTogether = 64;  // numbers whose length is bounded: they may be drawn a hundred times

// Where uniform numbers can never have such a length nothing is to be drawn for ever.
Status check_lengths(const std::string& path, const StartTerm& term) {
  double least = 0, greatest = 0;  // squares of lengths
  for (int i = 0; i < term.size(); ++i) {
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
  auto scale = spread(path + ".scale", spec.scale, term.size(), 1);
  if (!scale.ok()) return scale.error();
  auto offset = spread(path + ".offset", spec.offset, term.size(), 0);
  if (!offset.ok()) return offset.error();
  term.scale = std::move(scale).value(), term.offset = std::move(offset).value();
  if (!spec.has_longer_than && !spec.has_shorter_than) return {};
  const std::string first = path + (spec.has_longer_than ? ".longer_than" : ".shorter_than");
  if (term.size() > kMaxDrawnTogether) {
    return invalid_argument(first, "is given for " + std::to_string(term.size()) + " numbers; there may be 64");
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

Result<StartTerm> PartCompiler::start(const std::string& path, const StartSpec& spec) {
  StartTerm term{.spec = spec};
  std::vector<Coordinates> named{{0, info_.joint_position_count, 0, info_.joint_velocity_count}};
  if (!spec.joint.empty()) {
    auto found = joints(path + ".joint", {spec.joint});
    if (!found.ok()) {
      Error error = found.error();
      error.field = path + ".joint";
      return error;
    }
    named = std::move(found).value();
  }
  if (spec.of == StartOf::kRotation) {
    const auto free =
        std::find_if(task_.robot.free_roots.begin(), task_.robot.free_roots.end(), [&](const FreeRoot& r) {
          return spec.joint.empty() || (named[0].is_free && r.position_start == named[0].position_start);
        });
    if (free == task_.robot.free_roots.end()) {
      return invalid_argument(path + ".joint", shown(spec.joint) + " is no free joint, which a rotation is of");
    }
    if (!(math::norm(Vec3{spec.axis[0], spec.axis[1], spec.axis[2]}) > 1e-9)) {
      return invalid_argument(path + ".axis", "has no length");
    }
    term.numbers = {free->position_start + 3};
    term.body = free->body;
  } else {
    const bool velocity = spec.of == StartOf::kVelocity;
    std::vector<int> whole;
    for (const Coordinates& joint : named) {
      const int first = velocity ? joint.velocity_start : joint.position_start;
      const int count = velocity ? joint.velocity_count : joint.position_count;
      for (int i = 0; i < count; ++i) whole.push_back(first + i);
    }
    int size = 0;
    if (Status s = take_piece(path, spec.start, spec.count, static_cast<int>(whole.size()), size); !s.ok()) {
      return s.error();
    }
    term.numbers.assign(whole.begin() + spec.start, whole.begin() + spec.start + size);
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

}  // namespace axion::server::task
