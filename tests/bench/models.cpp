// axion-models: what becomes of one MJCF or URDF file, as one JSON object (models.py makes tables of whole folders with
// it).
//
//   axion-models MODEL [--assets LIST] [--seconds S] [--dt DT] [--precision float32|float64] [--softness rigid|mjcf]
//                [--starts N]
//
// LIST is a file with a line "NAME<tab>PATH" for each asset. A MODEL called *.urdf is read as URDF, with a fixed base,
// no motors and no ground, as MuJoCo reads it. The file is offered strictly first; where it is refused, it is offered
// again with allow_unsupported, and `refused` has every reason. What loads strictly steps for S seconds (0: not at all)
// at DT (the file's own step where none is given) twice: at rest, that is without controls, and under random controls
// that hold for 100 ms. With --starts it also starts N times, from the second on at coordinates drawn at random, and
// says which body is fastest beside what is allowed (tests/support/start_speeds.hpp). Exit codes: 0, whatever became of
// the file; 2 for a wrong command line.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "engine/import/mjcf.hpp"
#include "engine/import/urdf.hpp"
#include "engine/model/spec_math.hpp"
#include "tests/support/start_speeds.hpp"

namespace {

using axion::Batch;
using axion::ModelInfo;
using Vec3 = axion::math::Vec3<double>;

struct Task {
  std::string model, assets, precision = "float32";
  std::string softness = "rigid";
  double seconds = 2, dt = 0;
  int starts = 0;
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "axion-models: %s\n", why.c_str());
  std::exit(2);
}

std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("'" + path + "' cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

double not_negative(const std::string& flag, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0)) refuse(flag + " is '" + text + "', which is no number from 0 on");
  return value;
}

Task read_arguments(int argc, char** argv) {
  Task task;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--")) {
      if (i + 1 == argc) refuse(argument + " lacks its value");
      const std::string value = argv[++i];
      if (argument == "--assets") {
        task.assets = value;
      } else if (argument == "--precision" && (value == "float32" || value == "float64")) {
        task.precision = value;
      } else if (argument == "--softness" && (value == "rigid" || value == "mjcf")) {
        task.softness = value;
      } else if (argument == "--starts") {
        task.starts = static_cast<int>(not_negative(argument, value));
      } else if (argument == "--seconds") {
        task.seconds = not_negative(argument, value);
      } else if (argument == "--dt") {
        task.dt = not_negative(argument, value);
      } else {
        refuse(argument + " " + value + " is not understood");
      }
    } else if (task.model.empty()) {
      task.model = argument;
    } else {
      refuse("one model at a time");
    }
  }
  if (task.model.empty()) refuse("which model?");
  return task;
}

axion::import::ImportOptions read_assets(const Task& task) {
  axion::import::ImportOptions options;
  if (task.assets.empty()) return options;
  std::ifstream list(task.assets);
  if (!list) refuse("'" + task.assets + "' cannot be read");
  for (std::string line; std::getline(list, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) refuse("'" + line + "' is not NAME<tab>PATH");
    options.assets[line.substr(0, tab)] = file_content(line.substr(tab + 1));
  }
  return options;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    char code[8];
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

template <typename Items, typename Text>
std::string list(const Items& items, Text text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + text(item);
  return "[" + out + "]";
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return std::isfinite(value) ? text : "null";
}

// Values of a field of the one world.
std::vector<double> field_of(const Batch& batch, axion::Field field) {
  std::size_t count = 1;
  for (const std::int64_t n : batch.field_shape(field)) count *= static_cast<std::size_t>(n);
  std::vector<double> values(count);
  std::vector<float> narrow(count);
  const bool is_double = batch.field_dtype(field) == axion::DType::kFloat64;
  const axion::OutputView out{
      field, is_double ? reinterpret_cast<std::byte*>(values.data()) : reinterpret_cast<std::byte*>(narrow.data()), 0,
      0};
  if (!batch.get({}, {&out, 1}).ok()) refuse("a field cannot be read");
  if (!is_double) std::copy(narrow.begin(), narrow.end(), values.begin());
  return values;
}

// Of the bodies, kinetic and by their height: J. Springs hold energy, too, which is not counted.
double energy(const ModelInfo& model, const Batch& batch) {
  const std::vector<double> pose = field_of(batch, axion::Field::kBodyPose),
                            velocity = field_of(batch, axion::Field::kBodyVelocity);
  double sum = 0;
  for (std::size_t b = 0; b < model.bodies.size(); ++b) {
    const axion::BodyInfo& body = model.bodies[b];
    const double *p = &pose[7 * b], *v = &velocity[6 * b];
    const axion::math::Quat<double> R{p[3], p[4], p[5], p[6]};
    const Vec3 centre = Vec3{p[0], p[1], p[2]} + axion::math::rotate(R, axion::model::to_vec3(body.p_BoBcm));
    const Vec3 spin = axion::math::rotate_inverse(R, Vec3{v[3], v[4], v[5]});
    const Vec3 speed{v[0], v[1], v[2]};
    sum += 0.5 * body.mass * axion::math::dot(speed, speed) +
           0.5 * axion::math::dot(spin, axion::model::to_matrix(body.I_Bcm) * spin) -
           body.mass * axion::math::dot(axion::model::to_vec3(model.gravity), centre);
  }
  return sum;
}

// From 0 to 1, by a hash of which hold and which actuator.
double draw(std::uint64_t hold, std::uint64_t actuator) {
  std::uint64_t x = (hold + 1) * 0x9e3779b97f4a7c15ull + (actuator + 1) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1.0p-53;
}

// A motor takes any of its range, or a tenth of a newton (metre) either way; a drive a tenth of its range about where
// its joint starts, or about the middle of its range where it acts on a tendon.
std::vector<float> random_controls(const ModelInfo& model, std::uint64_t hold) {
  std::vector<float> controls;
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const axion::model::ActuatorSpec& a = model.actuators[i];
    double lower = -0.1, upper = 0.1;
    if (a.control_limited) lower = a.control_lower, upper = a.control_upper;
    if (a.kind == axion::model::ActuatorKind::kPosition) {
      const auto& axes = model.joints[static_cast<std::size_t>(a.joint)].axes;
      const double start = a.tendon < 0 ? a.gear * axes[static_cast<std::size_t>(a.axis)].initial_position
                                        : 0.5 * (lower + upper),
                   centre = std::clamp(start, lower, std::max(lower, upper)), half = 0.05 * (upper - lower);
      lower = std::max(lower, centre - half), upper = std::min(upper, centre + half);
    }
    controls.push_back(static_cast<float>(lower + (upper - lower) * draw(hold, i)));
  }
  return controls;
}

struct Run {
  long long steps = 0, fallback = 0, overflow = 0, non_finite = 0;
  double converged = 0, penetration = 0, joint_error = 0, first_energy = 0, last_energy = 0, seconds = 0;
  std::vector<double> first_pose, pose;
  std::vector<std::vector<float>> controls;  // [hold], of a run under random ones
};

std::optional<Run> step_model(axion::Engine& engine, const axion::BatchSpec& spec, double seconds, bool random,
                              std::string& why) {
  constexpr double kHold = 0.1;  // s
  axion::Result<std::unique_ptr<Batch>> made = engine.create_batch(spec);
  if (!made.ok()) {
    why = made.error().field + ": " + made.error().message;
    return std::nullopt;
  }
  Batch& batch = *made.value();
  const ModelInfo& model = spec.model->info();
  Run run;
  run.first_energy = energy(model, batch), run.first_pose = field_of(batch, axion::Field::kBodyPose);
  const int steps_of_hold = std::max(1, static_cast<int>(std::lround(kHold / spec.dt)));
  const long long steps = std::llround(seconds / spec.dt);
  const auto started = std::chrono::steady_clock::now();
  while (run.steps < steps) {
    const int count = static_cast<int>(std::min<long long>(steps_of_hold, steps - run.steps));
    std::vector<float> control(model.actuators.size(), 0.0F);
    if (random) run.controls.push_back(control = random_controls(model, run.controls.size()));
    axion::StepRequest request;
    request.batch = &batch, request.step_count = count;
    if (!control.empty())
      request.control = {reinterpret_cast<const std::byte*>(control.data()), axion::DType::kFloat32, 0, 0};
    if (axion::Result<axion::StepStatistics> done = engine.step({&request, 1}); !done.ok()) {
      why = done.error().message;
      return std::nullopt;
    }
    run.steps += count;
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const axion::StepStatistics all = batch.statistics().steps;
  run.fallback = all.fallback, run.overflow = all.contact_overflow, run.non_finite = all.non_finite;
  run.penetration = all.max_penetration, run.joint_error = all.max_joint_error;
  run.converged = all.world_steps > 0 ? static_cast<double>(all.converged) / static_cast<double>(all.world_steps) : 1;
  run.last_energy = energy(model, batch);
  run.pose = field_of(batch, axion::Field::kBodyPose);
  return run;
}

std::string to_json(const Run& run) {
  const auto row = [](const std::vector<float>& values) { return list(values, [](float v) { return number(v); }); };
  return "{\"steps\": " + std::to_string(run.steps) + ", \"converged\": " + number(run.converged) +
         ", \"fallback\": " + std::to_string(run.fallback) + ", \"overflow\": " + std::to_string(run.overflow) +
         ", \"non_finite\": " + std::to_string(run.non_finite) + ", \"penetration\": " + number(run.penetration) +
         ", \"joint_error\": " + number(run.joint_error) + ", \"energy\": [" + number(run.first_energy) + ", " +
         number(run.last_energy) + "], \"wall_seconds\": " + number(run.seconds) +
         ", \"first_pose\": " + list(run.first_pose, number) + ", \"pose\": " + list(run.pose, number) +
         ", \"controls\": " + list(run.controls, row) + "}";
}

std::string runs(const Task& task, const axion::import::ImportedScene& imported) {
  axion::Result<std::shared_ptr<const axion::Model>> model = axion::compile_model(imported.scene);
  if (!model.ok()) return ", \"stopped\": " + quoted(model.error().field + ": " + model.error().message);
  axion::BatchSpec spec;
  spec.model = model.value();
  spec.dt = task.dt > 0 ? task.dt : spec.model->info().timestep;
  spec.options.precision =
      task.precision == "float64" ? axion::model::Precision::kFloat64 : axion::model::Precision::kFloat32;
  if (task.softness == "mjcf") spec.options.contact_softness = axion::model::ContactSoftness::kMjcf;
  axion::EngineOptions options;
  options.device = "cpu", options.threads = 1;
  axion::Result<std::unique_ptr<axion::Engine>> engine = axion::create_engine(options);
  if (!engine.ok()) refuse(engine.error().message);
  const ModelInfo& info = spec.model->info();
  std::string out =
      ", \"dt\": " + number(spec.dt) + ", \"nq\": " + std::to_string(info.joint_position_count) +
      ", \"nv\": " + std::to_string(info.joint_velocity_count) +
      ", \"bodies\": " + list(info.bodies, [](const axion::BodyInfo& b) { return quoted(b.name); }) +
      ", \"masses\": " + list(info.bodies, [](const axion::BodyInfo& b) { return number(b.mass); }) +
      ", \"actuators\": " + list(info.actuators, [](const axion::model::ActuatorSpec& a) { return quoted(a.name); });
  for (const bool random : {false, true}) {
    std::string why;
    const std::optional<Run> run = step_model(*engine.value(), spec, task.seconds, random, why);
    if (!run) return out + ", \"stopped\": " + quoted(why);
    out += std::string(", \"") + (random ? "random" : "rest") + "\": " + to_json(*run);
  }
  return out;
}

std::string starts(const Task& task, const axion::import::ImportedScene& imported) {
  axion::model::SolverOptions options;
  if (task.precision == "float64") options.precision = axion::model::Precision::kFloat64;
  if (task.softness == "mjcf") options.contact_softness = axion::model::ContactSoftness::kMjcf;
  const double dt = task.dt > 0 ? task.dt : imported.scene.timestep;
  std::string out;
  for (int i = 0; i < task.starts; ++i) {
    const axion::testing::StartSpeeds s = axion::testing::measure_start(imported.scene, options, dt, i);
    if (i > 0) out += ", ";
    if (!s.refused.empty()) {
      out += "{\"refused\": " + quoted(s.refused) + "}";
      continue;
    }
    out += "{\"body\": " + quoted(s.body) + ", \"speed\": " + number(s.speed) + ", \"allowed\": " + number(s.allowed) +
           ", \"held\": " + (s.held() ? "true" : "false") + ", \"converged\": " + number(s.converged) +
           ", \"joint_error\": " + number(s.joint_error) + "}";
  }
  return ", \"starts\": [" + out + "]";
}

axion::Result<axion::import::ImportedScene> import_model(const Task& task, const std::string& text,
                                                         const axion::import::ImportOptions& options) {
  if (task.model.ends_with(".urdf") || task.model.ends_with(".URDF")) return axion::import::import_urdf(text, options);
  return axion::import::import_mjcf(text, options);
}

}  // namespace

int main(int argc, char** argv) {
  const Task task = read_arguments(argc, argv);
  axion::import::ImportOptions options = read_assets(task);
  const std::string text = file_content(task.model);
  const auto imported = import_model(task, text, options);
  if (imported.ok()) {
    std::string after = task.seconds > 0 ? runs(task, imported.value()) : "";
    if (task.starts > 0) after += starts(task, imported.value());
    std::printf("{\"loads\": true, \"warnings\": %s%s}\n", list(imported.value().warnings, quoted).c_str(),
                after.c_str());
    return 0;
  }
  const auto error = [](const axion::Error& e) {
    return "{\"field\": " + quoted(e.field) + ", \"message\": " + quoted(e.message) + "}";
  };
  std::printf("{\"loads\": false, \"error\": %s", error(imported.error()).c_str());
  options.allow_unsupported = true;
  const auto lenient = import_model(task, text, options);
  std::vector<std::string> refused;
  if (lenient.ok()) {
    for (const std::string& warning : lenient.value().warnings) {
      if (warning.find("left out") != std::string::npos) refused.push_back(warning);
    }
    std::printf(", \"refused\": %s}\n", list(refused, quoted).c_str());
  } else {
    std::printf(", \"refused\": [], \"refused_always\": %s}\n", error(lenient.error()).c_str());
  }
  return 0;
}
