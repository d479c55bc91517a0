#include "tests/bench/bench_options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace axion::bench {
namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "%s (see --help)\n", message.c_str());
  std::exit(2);
}

template <typename T>
T parse_number(const std::string& flag, const std::string& text, T lower, T upper) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= lower && value <= upper)) {
    fail(flag + " is '" + text + "', must be a number from " + std::to_string(lower) + " to " + std::to_string(upper));
  }
  return value;
}

struct Flag {
  const char* name;
  const char* help;
  std::function<void(const std::string& flag, const std::string& text)> set;
};

template <typename T>
auto number(T& target, std::type_identity_t<T> lower, std::type_identity_t<T> upper) {
  return [&target, lower, upper](const std::string& flag, const std::string& text) {
    target = parse_number<T>(flag, text, lower, upper);
  };
}

auto choice(std::string& target, std::vector<std::string> choices) {
  return [&target, choices = std::move(choices)](const std::string& flag, const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) fail(flag + " has no choice '" + text + "'");
    target = text;
  };
}

auto any_text(std::string& target) {
  return [&target](const std::string&, const std::string& text) { target = text; };
}

std::vector<Flag> make_flags(BenchOptions& o) {
  constexpr int kMany = 1'000'000'000;
  return {
      {"--model", "MJCF file (required)", any_text(o.model)},
      {"--worlds", "number of worlds", number(o.worlds, 1, 10'000'000)},
      {"--steps", "timed steps of each world", number(o.steps, 1, kMany)},
      {"--warmup_steps", "steps of each world before the clock starts", number(o.warmup_steps, 0, kMany)},
      {"--steps_per_launch", "steps that one launch takes", number(o.steps_per_launch, 1, 100'000)},
      {"--dt", "time step in seconds; 0 takes the model's", number(o.dt, 0.0, 1.0)},
      {"--device", "auto, cpu or cuda:0", any_text(o.device)},
      {"--threads", "CPU threads; 0 takes all", number(o.threads, 0, 4096)},
      {"--instruction_set", "of the CPU: x86-64, x86-64-v3 or x86-64-v4; empty takes the widest",
       any_text(o.instruction_set)},
      {"--block_threads", "of a world on a GPU: 32, 64, 128 or 256; 0 as the engine chooses",
       number(o.block_threads, 0, 1024)},
      {"--near_bytes", "of a world's scratch in a GPU's shared memory; -1 as the engine chooses",
       number(o.near_bytes, -1, 1 << 20)},
      {"--precision", "float32 or float64", choice(o.precision, {"float32", "float64"})},
      {"--preset", "solver preset: default, axion_seed or velocity",
       choice(o.preset, {"default", "axion_seed", "velocity"})},
      {"--keyframe", "index of the keyframe to start from; -1 is the initial state", number(o.keyframe, -1, 100'000)},
      {"--control_fraction", "part of its range that a control moves in", number(o.control_fraction, 0.0, 1.0)},
      {"--control_centre", "centre of every control; default: zero for motors, the start for drives",
       number(o.control_centre, -1e6, 1e6)},
      {"--control_hold", "steps for which a drawn control stays", number(o.control_hold, 1, kMany)},
      {"--watch", "body whose motion is reported", any_text(o.watch)},
      {"--seed", "seed of the controls", number(o.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max())},
  };
}

void print_help(const char* program, const std::vector<Flag>& flags) {
  std::printf("Usage: %s --model FILE [--flag VALUE]...\n\n", program);
  for (const Flag& flag : flags) std::printf("  %-20s %s\n", flag.name, flag.help);
  std::printf("  %-20s %s\n", "--json", "print one JSON object on one line");
  std::printf("  %-20s %s\n", "--memory", "axion-bench: print the bytes of each array of a world, and step nothing");
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

BenchOptions parse_options(int argc, char** argv, const char* program) {
  BenchOptions options;
  const std::vector<Flag> flags = make_flags(options);
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--help") {
      print_help(program, flags);
      std::exit(0);
    }
    if (name == "--json" || name == "--memory") {
      (name == "--json" ? options.json : options.memory) = true;
      continue;
    }
    std::string value;
    const std::size_t equals = name.find('=');
    const bool attached = equals != std::string::npos;
    if (attached) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const auto flag = std::find_if(flags.begin(), flags.end(), [&](const Flag& f) { return name == f.name; });
    if (flag == flags.end()) fail("unknown argument '" + name + "'");
    if (!attached) {
      if (++i == argc) fail(name + " has no value");
      value = argv[i];
    }
    flag->set(name, value);
  }
  if (options.model.empty()) fail("--model is missing");
  return options;
}

BenchOptions::BenchOptions() : control_centre(std::numeric_limits<double>::quiet_NaN()) {}

BenchReport::BenchReport() {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  newton_iterations_mean = newton_iterations_p99 = linear_iterations_mean = contacts_mean = kUnknown;
  sweep_rounds_mean = contact_sweeps_mean = kUnknown;
  converged_fraction = non_finite_fraction = max_penetration_m = max_joint_error_m = memory_bytes = kUnknown;
  bodies = shapes = joint_rows = axis_rows = limit_rows = kUnknown;
  watched_height_min_m = watched_height_max_m = watched_tilt_max_rad = kUnknown;
  watched_x_end_min_m = watched_height_end_min_m = watched_speed_max_m_s = watched_speed_end_m_s = kUnknown;
}

void Watch::see(int world, int step, const std::array<double, 7>& pose) {
  const double height = pose[2];
  for (const double value : pose) finite_ = finite_ && std::isfinite(value);
  if (!seen_) height_min_ = height_max_ = height;
  seen_ = true;
  height_min_ = std::min(height_min_, height), height_max_ = std::max(height_max_, height);
  const double up = 1 - 2 * (pose[4] * pose[4] + pose[5] * pose[5]);  // z axis of the body along the world's
  tilt_max_ = std::max(tilt_max_, std::acos(std::clamp(up, -1.0, 1.0)));
  if (static_cast<std::size_t>(world) >= last_.size()) last_.resize(world + 1, pose);
  const std::array<double, 7>& last = last_[world];
  if (step > 0) {
    const double speed = std::hypot(pose[0] - last[0], pose[1] - last[1], pose[2] - last[2]) / dt_;
    speed_max_ = std::max(speed_max_, speed);
    if (10 * step >= 9 * step_count_) speed_end_ = std::max(speed_end_, speed);
  }
  last_[world] = pose;
}

void Watch::report(BenchReport& report) const {
  if (!seen_ || !finite_) return;  // what is not finite stays unknown
  report.watched_height_min_m = height_min_, report.watched_height_max_m = height_max_;
  report.watched_tilt_max_rad = tilt_max_;
  report.watched_speed_max_m_s = speed_max_, report.watched_speed_end_m_s = speed_end_;
  report.watched_x_end_min_m = last_.front()[0], report.watched_height_end_min_m = last_.front()[2];
  for (const auto& pose : last_) {
    report.watched_x_end_min_m = std::min(report.watched_x_end_min_m, pose[0]);
    report.watched_height_end_min_m = std::min(report.watched_height_end_min_m, pose[2]);
  }
}

void print_report(const BenchReport& r, bool json) {
  const double world_steps = static_cast<double>(r.worlds) * r.steps;
  const std::vector<std::pair<const char*, std::string>> fields = {
      {"engine", json_string(r.engine)},
      {"model", json_string(r.model)},
      {"device", json_string(r.device)},
      {"device_name", json_string(r.device_name)},
      {"threads", std::to_string(r.threads)},
      {"block_threads", std::to_string(r.block_threads)},
      {"near_bytes", std::to_string(r.near_bytes)},
      {"worlds", std::to_string(r.worlds)},
      {"steps", std::to_string(r.steps)},
      {"dt", json_number(r.dt)},
      {"precision", json_string(r.precision)},
      {"steps_per_second", json_number(world_steps / r.wall_seconds)},
      {"wall_seconds", json_number(r.wall_seconds)},
      {"newton_iterations_mean", json_number(r.newton_iterations_mean)},
      {"newton_iterations_p99", json_number(r.newton_iterations_p99)},
      {"linear_iterations_mean", json_number(r.linear_iterations_mean)},
      {"sweep_rounds_mean", json_number(r.sweep_rounds_mean)},
      {"contact_sweeps_mean", json_number(r.contact_sweeps_mean)},
      {"contacts_mean", json_number(r.contacts_mean)},
      {"converged_fraction", json_number(r.converged_fraction)},
      {"non_finite_fraction", json_number(r.non_finite_fraction)},
      {"max_penetration_m", json_number(r.max_penetration_m)},
      {"max_joint_error_m", json_number(r.max_joint_error_m)},
      {"memory_bytes", json_number(r.memory_bytes)},
      {"bodies", json_number(r.bodies)},
      {"shapes", json_number(r.shapes)},
      {"joint_rows", json_number(r.joint_rows)},
      {"axis_rows", json_number(r.axis_rows)},
      {"limit_rows", json_number(r.limit_rows)},
      {"watched_height_min_m", json_number(r.watched_height_min_m)},
      {"watched_height_max_m", json_number(r.watched_height_max_m)},
      {"watched_tilt_max_rad", json_number(r.watched_tilt_max_rad)},
      {"watched_x_end_min_m", json_number(r.watched_x_end_min_m)},
      {"watched_height_end_min_m", json_number(r.watched_height_end_min_m)},
      {"watched_speed_max_m_s", json_number(r.watched_speed_max_m_s)},
      {"watched_speed_end_m_s", json_number(r.watched_speed_end_m_s)},
  };
  if (!json) {
    for (const auto& [name, value] : fields) std::printf("%-24s %s\n", name, value.c_str());
    return;
  }
  const char* separator = "{";
  for (const auto& [name, value] : fields) {
    std::printf("%s\"%s\": %s", separator, name, value.c_str());
    separator = ", ";
  }
  std::printf("}\n");
}

double noise(std::uint64_t seed, std::uint64_t world, std::uint64_t step, std::uint64_t actuator) {
  // splitmix64 (Steele, Lea, Flood 2014), chained over the arguments.
  std::uint64_t x = seed;
  for (const std::uint64_t part : {world, step, actuator}) {
    x += part + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1p-52 - 1.0;
}

double random_control(const BenchOptions& options, const ControlRange& range, int world, int step, int actuator) {
  const double half = 0.5 * (range.upper - range.lower) * options.control_fraction;
  const double value = range.centre + half * noise(options.seed, world, step / options.control_hold, actuator);
  return std::clamp(value, range.lower, range.upper);
}

}  // namespace axion::bench
