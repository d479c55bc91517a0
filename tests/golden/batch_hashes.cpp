// axion-hashes: what every scene of the robustness table comes to under every choice of solver options, as hashes.
//
//   axion-hashes MODELS [STEPS] > before; ...; axion-hashes MODELS [STEPS] > after; diff before after
//
// A change that is not meant to change results changes no line. One line a scene, precision and choice of options: the
// FNV-1a hash of the bits of what the steps leave. Each choice changes one option of preset DEFAULT, but for the
// presets themselves. MODELS is the directory of MJCF files. Exit codes: 0; 1 when a scene cannot be built; 2 for a
// wrong command line.
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "tests/bench/bench_engine.hpp"
#include "tests/bench/robustness_scenes.hpp"

namespace {

using axion::Field;
using axion::bench::take;
using axion::model::SolverOptions;

constexpr std::array kFields{Field::kBodyPose, Field::kBodyVelocity, Field::kJointImpulse, Field::kContactCount,
                             Field::kOutcome};

struct Choice {
  std::string name;
  double dt;
  SolverOptions options;
};

std::vector<Choice> choices() {
  using namespace axion::model;
  std::vector<Choice> all;
  for (const double dt : {0.001, 0.005, 0.02, 0.05}) {
    all.push_back({"default_" + std::to_string(dt), dt, make_options(Preset::kDefault)});
  }
  all.push_back({"seed", 0.005, make_options(Preset::kAxionSeed)});
  all.push_back({"seed_20ms", 0.02, make_options(Preset::kAxionSeed)});
  all.push_back({"velocity", 0.005, make_options(Preset::kVelocity)});
  const auto add = [&](const char* name, const std::function<void(SolverOptions&)>& change, Preset preset) {
    SolverOptions options = make_options(preset);
    change(options);
    all.push_back({name, 0.01, options});
  };
  add(
      "previous", [](SolverOptions& o) { o.joint_mode = JointMode::kPrevious; }, Preset::kDefault);
  add(
      "current", [](SolverOptions& o) { o.joint_mode = JointMode::kCurrent; }, Preset::kDefault);
  add(
      "linearised", [](SolverOptions& o) { o.joint_mode = JointMode::kLinearised; }, Preset::kDefault);
  add(
      "implicit", [](SolverOptions& o) { o.gyroscopic_mode = GyroscopicMode::kImplicit; }, Preset::kDefault);
  add(
      "explicit", [](SolverOptions& o) { o.gyroscopic_mode = GyroscopicMode::kExplicit; }, Preset::kDefault);
  add(
      "minimum_map", [](SolverOptions& o) { o.contact_function = ContactFunction::kMinimumMap; }, Preset::kDefault);
  add(
      "scalar", [](SolverOptions& o) { o.friction_model = FrictionModel::kScalarFixedPoint; }, Preset::kDefault);
  add(
      "tree_direct", [](SolverOptions& o) { o.linear_solver = LinearSolver::kTreeDirect; }, Preset::kDefault);
  add(
      "tree_krylov", [](SolverOptions& o) { o.linear_solver = LinearSolver::kTreeKrylov; }, Preset::kDefault);
  add(
      "dense", [](SolverOptions& o) { o.linear_solver = LinearSolver::kDenseDirect; }, Preset::kDefault);
  add(
      "pcr_tree", [](SolverOptions& o) { o.linear_solver = LinearSolver::kPcrTree; }, Preset::kAxionSeed);
  add(
      "seed_direct", [](SolverOptions& o) { o.linear_solver = LinearSolver::kTreeDirect; }, Preset::kAxionSeed);
  add(
      "no_line_search", [](SolverOptions& o) { o.line_search = false; }, Preset::kDefault);
  add(
      "no_warm_start", [](SolverOptions& o) { o.warm_start = false; }, Preset::kDefault);
  add(
      "no_half_step", [](SolverOptions& o) { o.half_step_start = false; }, Preset::kDefault);
  add(
      "rigid", [](SolverOptions& o) { o.contact_compliance = 0; }, Preset::kDefault);
  add(
      "few_iterations", [](SolverOptions& o) { o.max_newton_iterations = 3; }, Preset::kDefault);
  return all;
}

std::uint64_t hash(std::uint64_t h, const std::vector<std::byte>& bytes) {
  for (const std::byte b : bytes) h = (h ^ static_cast<std::uint64_t>(b)) * 1099511628211u;
  return h;
}

// The hash of a batch of two worlds, of which the second is pushed, after `steps` steps.
std::uint64_t run(axion::Engine& engine, const std::shared_ptr<const axion::Model>& model,
                  const axion::bench::RobustnessScene& scene, const Choice& choice, int steps) {
  const auto batch = take(scene.name, engine.create_batch({model, 2, choice.dt, choice.options, {}}));
  const std::vector<double> control = axion::bench::constant_controls(scene, model->info().scene, 0);
  std::vector<double> wrench(model->info().bodies.size() * 12);
  wrench[wrench.size() / 2] = 1;
  axion::StepRequest request;
  request.batch = batch.get();
  request.step_count = steps;
  if (!control.empty()) {
    request.control = {reinterpret_cast<const std::byte*>(control.data()), axion::DType::kFloat64, 0, 0};
  }
  request.body_wrench = {reinterpret_cast<const std::byte*>(wrench.data()), axion::DType::kFloat64,
                         wrench.size() / 2 * sizeof(double), 0};
  take(scene.name, engine.step({&request, 1}));
  std::uint64_t h = 14695981039346656037u;
  for (const Field field : kFields) {
    std::size_t bytes = axion::size_of(batch->field_dtype(field));
    for (const std::int64_t extent : batch->field_shape(field)) bytes *= static_cast<std::size_t>(extent);
    std::vector<std::byte> data(2 * bytes);
    const axion::OutputView view{field, data.data(), bytes, 0};
    if (const axion::Status status = batch->get({}, {&view, 1}); !status.ok()) {
      axion::bench::fail(scene.name, status.error());
    }
    h = hash(h, data);
  }
  return h;
}

int run_all(const std::string& models, int steps) {
  const auto engine = take("create", axion::create_engine({.device = "cpu", .threads = 2}));
  for (const axion::bench::RobustnessScene& scene : axion::bench::robustness_scenes()) {
    const auto spec = axion::bench::build_scene(scene, models, 0);
    const auto model = take(scene.name, axion::compile_model(spec));
    for (const Choice& choice : choices()) {
      for (const auto precision : {axion::model::Precision::kFloat32, axion::model::Precision::kFloat64}) {
        Choice c = choice;
        c.options.precision = precision;
        const bool wide = precision == axion::model::Precision::kFloat64;
        if (c.name == "dense" && model->info().bodies.size() > 50) continue;  // refused: the matrix is too large
        std::printf("%s %s %s %016" PRIx64 "\n", scene.name.c_str(), c.name.c_str(), wide ? "float64" : "float32",
                    run(*engine, model, scene, c, steps));
        std::fflush(stdout);
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 2 ? std::atoi(argv[2]) : 40;
  if (argc < 2 || argc > 3 || steps < 1) {
    std::fprintf(stderr, "Usage: axion-hashes MODELS [STEPS]\n");
    return 2;
  }
  try {
    return run_all(argv[1], steps);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "axion-hashes: %s\n", error.what());
    return 1;
  }
}
