// axion-accuracy: where the bodies of a model are after a smooth motion, and how long the engine took to get there.
//
//   axion-accuracy MODEL.xml CONTROLS DURATION HOLD DT... [--repeat N] [--preset default|axion_seed|velocity]
//                  [--tolerance T] [--read_back] CONTROLS is a file of numbers, the values of all actuators for the
//                  first HOLD seconds, then for the next. Nothing collides and no joint has limits: what is measured is
//                  the integration of smooth motion. One line of JSON for each DT, with the centres of mass of all
//                  bodies and their velocities as clients read them. The time is the best of N runs. --read_back writes
//                  the state that it reads back to the world after each hold. Exit codes: 0; 1 when the engine refuses
//                  something; 2 for a wrong command line.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "engine/import/mjcf.hpp"
#include "tests/bench/bench_engine.hpp"

namespace {

using axion::bench::take;

struct Task {
  std::string model, controls, preset = "default";
  double duration = 0, hold = 0, tolerance = 0;  // tolerance 0: the preset's
  std::vector<double> steps;
  int repeat = 1;
  bool read_back = false;
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "axion-accuracy: %s\n", why.c_str());
  std::exit(2);
}

double number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value > 0)) refuse("'" + text + "' is no positive number");
  return value;
}

Task read_arguments(int argc, char** argv) {
  Task task;
  std::vector<std::string> plain;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--read_back") {
      task.read_back = true;
    } else if (argument == "--repeat" && i + 1 < argc) {
      task.repeat = static_cast<int>(number(argv[++i]));
    } else if (argument == "--tolerance" && i + 1 < argc) {
      task.tolerance = number(argv[++i]);
    } else if (argument == "--preset" && i + 1 < argc) {
      task.preset = argv[++i];
    } else if (argument.starts_with("--")) {
      refuse("unknown argument " + argument);
    } else {
      plain.push_back(argument);
    }
  }
  if (plain.size() < 5) refuse("needs MODEL CONTROLS DURATION HOLD DT...");
  task.model = plain[0], task.controls = plain[1];
  task.duration = number(plain[2]), task.hold = number(plain[3]);
  for (std::size_t i = 4; i < plain.size(); ++i) task.steps.push_back(number(plain[i]));
  return task;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("'" + path + "' cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The model without shapes and limits.
axion::model::SceneSpec smooth_scene(const std::string& path) {
  axion::model::SceneSpec scene = take("import", axion::import::import_mjcf(read_file(path))).scene;
  scene.shapes.clear();
  for (axion::model::JointSpec& joint : scene.joints) {
    for (axion::model::AxisSpec& axis : joint.axes) axis.limited = false;
  }
  return scene;
}

axion::model::SolverOptions options_of(const Task& task) {
  const std::string& preset = task.preset;
  using axion::model::Preset;
  axion::model::SolverOptions options = axion::model::make_options(
      preset == "axion_seed" ? Preset::kAxionSeed : (preset == "velocity" ? Preset::kVelocity : Preset::kDefault));
  options.precision = axion::model::Precision::kFloat64;
  if (task.tolerance > 0) options.tolerance = task.tolerance;
  return options;
}

// One run from the model's first keyframe or reference pose; wall seconds of its steps.
double run(axion::Engine& engine, axion::Batch& batch, const Task& task, double dt, const std::vector<double>& controls,
           std::vector<double>& pose, std::vector<double>& velocity) {
  using axion::Field, axion::InputView, axion::OutputView, axion::DType;
  if (const axion::Status s = batch.reset({}); !s.ok()) axion::bench::fail("reset", s.error());
  const std::size_t nu = batch.spec().model->info().actuators.size();
  const int holds = static_cast<int>(std::lround(task.duration / task.hold));
  const int steps = static_cast<int>(std::lround(task.hold / dt));
  if (std::abs(steps * dt - task.hold) > 1e-9 * task.hold) refuse("every DT must divide HOLD");
  if (controls.size() < nu * holds) refuse("the file of controls is too short");
  const OutputView outputs[] = {
      {Field::kBodyPose, reinterpret_cast<std::byte*>(pose.data()), 8 * pose.size(), 0},
      {Field::kBodyVelocity, reinterpret_cast<std::byte*>(velocity.data()), 8 * velocity.size(), 0}};
  double seconds = 0;
  for (int k = 0; k < holds; ++k) {
    axion::StepRequest request;
    request.batch = &batch, request.step_count = steps;
    if (nu > 0)
      request.control = {reinterpret_cast<const std::byte*>(controls.data() + k * nu), DType::kFloat64, 8 * nu, 0};
    request.outputs = outputs;
    const auto start = std::chrono::steady_clock::now();
    take("step", engine.step({&request, 1}));
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!task.read_back) continue;
    axion::StateUpdate state;
    state.body_pose = {reinterpret_cast<const std::byte*>(pose.data()), DType::kFloat64, 8 * pose.size(), 0};
    state.body_velocity = {reinterpret_cast<const std::byte*>(velocity.data()), DType::kFloat64, 8 * velocity.size(),
                           0};
    if (const axion::Status s = batch.set_state({}, state); !s.ok()) axion::bench::fail("set_state", s.error());
  }
  return seconds;
}

void print_numbers(const char* name, const std::vector<double>& values, std::size_t width, std::size_t take_first) {
  std::printf(", \"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); i += width) {
    std::printf("%s[", i == 0 ? "" : ", ");
    for (std::size_t k = 0; k < take_first; ++k) std::printf("%s%.17g", k == 0 ? "" : ", ", values[i + k]);
    std::printf("]");
  }
  std::printf("]");
}

}  // namespace

int main(int argc, char** argv) {
  const Task task = read_arguments(argc, argv);
  std::vector<double> controls;
  {
    std::ifstream file(task.controls);
    if (!file) refuse("'" + task.controls + "' cannot be read");
    for (double value; file >> value;) controls.push_back(value);
  }
  axion::BatchSpec spec;
  spec.model = take("compile", axion::compile_model(smooth_scene(task.model)));
  spec.options = options_of(task);
  axion::EngineOptions engine_options;
  engine_options.device = "cpu", engine_options.threads = 1;
  const auto engine = take("engine", axion::create_engine(engine_options));
  const std::size_t nb = spec.model->info().bodies.size();
  std::vector<double> pose(7 * nb), velocity(6 * nb);
  for (const double dt : task.steps) {
    spec.dt = dt;
    const std::unique_ptr<axion::Batch> batch = take("create_batch", engine->create_batch(spec));
    double seconds = std::numeric_limits<double>::infinity();
    for (int k = 0; k < task.repeat; ++k)
      seconds = std::min(seconds, run(*engine, *batch, task, dt, controls, pose, velocity));
    std::printf("{\"dt\": %.17g, \"wall_seconds\": %.6g, \"names\": [", dt, seconds);
    for (std::size_t b = 0; b < nb; ++b)
      std::printf("%s\"%s\"", b == 0 ? "" : ", ", spec.model->info().bodies[b].name.c_str());
    std::printf("]");
    print_numbers("pose", pose, 7, 7);
    print_numbers("velocity", velocity, 6, 6);
    std::printf("}\n");
  }
  return 0;
}
