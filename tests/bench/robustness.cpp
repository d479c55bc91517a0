// axion-robustness: how well one scene's steps converge at one time step with one preset, as one JSON object.
//
// Steps one world at a time, episode after episode, and prints shares and quantiles over its world-steps (robustness.py
// makes the table of all scenes). `energy_gained` is the most that the bodies' energy rose above where an episode began
// and what drives gave, as a share of Σ m g · 1 m. Exit codes: 0; 1 when a scene cannot be built; 2 for a wrong command
// line.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "engine/constraints/free_motion.hpp"
#include "tests/bench/bench_options.hpp"
#include "tests/bench/robustness_scenes.hpp"
#include "tests/support/single_world.hpp"

namespace {

using axion::bench::RobustnessScene;

struct Options {
  std::string scene = "humanoid", preset = "default", precision = "float32", models = ".";
  double dt = 0.005;
  long long steps = 2000;
  int first_episode = 0;
};

struct Totals {
  long long steps = 0, converged = 0, fallback = 0, non_finite = 0, overflow = 0, contacts = 0;
  std::map<int, long long> iterations, linear;  // iterations: Newton steps and rounds of sweeps
  long long newton = 0, sweeps = 0;
  double penetration = 0, joint_error = 0, energy_gained = 0, seconds = 0;
};

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "axion-robustness: %s\n", what.c_str());
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--list") {
      for (const RobustnessScene& scene : axion::bench::robustness_scenes()) std::printf("%s\n", scene.name.c_str());
      std::exit(0);
    }
    if (i + 1 == argc) refuse(flag + " is unknown or lacks its value");
    const char* value = argv[++i];
    char* end = nullptr;
    const double number = std::strtod(value, &end);
    const bool is_number = end != value && *end == '\0';
    if (flag == "--scene")
      o.scene = value;
    else if (flag == "--preset")
      o.preset = value;
    else if (flag == "--precision")
      o.precision = value;
    else if (flag == "--models")
      o.models = value;
    else if (flag == "--dt" && is_number && number > 0)
      o.dt = number;
    else if (flag == "--steps" && is_number && number >= 1)
      o.steps = static_cast<long long>(number);
    else if (flag == "--first_episode" && is_number && number >= 0)
      o.first_episode = static_cast<int>(number);
    else
      refuse(flag + " is unknown, or '" + value + "' is no value of it");
  }
  return o;
}

axion::model::SolverOptions solver_options(const std::string& preset) {
  using axion::model::Preset;
  if (preset == "default") return make_options(Preset::kDefault);
  if (preset == "axion_seed") return make_options(Preset::kAxionSeed);
  if (preset == "velocity") return make_options(Preset::kVelocity);
  refuse("--preset must be default, axion_seed or velocity; it is '" + preset + "'");
}

// Work of drives in the step just made: impulses along axes times the mean of the rates before and after, J.
template <typename Real>
class DriveWork {
 public:
  DriveWork(const axion::model::ModelView<Real>& m, const axion::model::WorldView<Real>& w)
      : m_(m), w_(w), rate_(static_cast<std::size_t>(m.axis_count), 0.0) {}

  double add_step() {
    double work = 0;
    for (int a = 0; a < m_.axis_count; ++a) {
      const double impulse = w_.lambda_joint[m_.lock_count + a] + w_.axis_impulse[a];
      work += impulse * (w_.axis_rate[a] + rate_[a]) / 2;
      rate_[a] = w_.axis_rate[a];
    }
    return work;
  }

 private:
  const axion::model::ModelView<Real> m_;
  const axion::model::WorldView<Real>& w_;
  std::vector<double> rate_;
};

template <typename Real>
void run_episode(const Options& o, const RobustnessScene& scene, int episode, long long steps, Totals& totals) {
  const axion::model::SceneSpec spec = axion::bench::build_scene(scene, o.models, episode);
  axion::testing::SingleWorld<Real> world(spec, solver_options(o.preset), o.dt);
  const auto m = world.model();
  auto& w = world.world();
  const std::vector<double> constant = axion::bench::constant_controls(scene, spec, episode);
  DriveWork<Real> drives(m, w);
  double weight = 0, work = 0;
  for (int b = 0; b < m.body_count; ++b) weight += m.bodies[b].mass * 9.81;
  const double start = world.energy();
  for (long long step = 0; step < steps; ++step) {
    for (int i = 0; i < m.control_count; ++i) {
      const auto& limit = spec.actuators[i];
      const double lower = limit.control_limited ? limit.control_lower : -1;
      const double upper = limit.control_limited ? limit.control_upper : 1;
      const double draw = axion::bench::noise(1, episode, static_cast<std::uint64_t>(step), i);
      w.control[i] = static_cast<Real>(constant[i] + scene.random_control * draw * (upper - lower) / 2);
    }
    const auto before = std::chrono::steady_clock::now();
    world.step();
    totals.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    const auto& record = world.record();
    ++totals.steps;
    if ((record.outcome & axion::kNonFinite) != 0) {
      ++totals.non_finite;
      return;
    }
    totals.converged += (record.outcome & axion::kConverged) != 0;
    totals.fallback += (record.outcome & axion::kFallback) != 0;
    totals.overflow += (record.outcome & axion::kContactOverflow) != 0;
    totals.contacts += record.contact_count;
    ++totals.iterations[record.newton_iterations + record.sweep_rounds], ++totals.linear[record.linear_iterations];
    totals.newton += record.newton_iterations, totals.sweeps += record.contact_sweeps;
    totals.penetration = std::max<double>(totals.penetration, record.max_penetration);
    totals.joint_error = std::max<double>(totals.joint_error, record.max_joint_error);
    work += drives.add_step();
    totals.energy_gained = std::max(totals.energy_gained, (world.energy() - start - work) / weight);
  }
}

double mean(const std::map<int, long long>& counts) {
  double sum = 0, n = 0;
  for (const auto& [value, count] : counts) sum += double(value) * double(count), n += double(count);
  return n > 0 ? sum / n : 0;
}

int quantile(const std::map<int, long long>& counts, double q) {
  long long n = 0, below = 0;
  for (const auto& [value, count] : counts) n += count;
  for (const auto& [value, count] : counts) {
    below += count;
    if (double(below) >= q * double(n)) return value;
  }
  return 0;
}

template <typename Real>
Totals run(const Options& o, const RobustnessScene& scene) {
  Totals totals;
  const long long per_episode = std::max(1LL, std::llround(scene.episode_seconds / o.dt));
  for (int episode = o.first_episode; totals.steps < o.steps; ++episode) {
    run_episode<Real>(o, scene, episode, std::min(per_episode, o.steps - totals.steps), totals);
  }
  return totals;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  const auto& scenes = axion::bench::robustness_scenes();
  const auto scene = std::find_if(scenes.begin(), scenes.end(), [&](const auto& s) { return s.name == o.scene; });
  if (scene == scenes.end()) refuse("--scene '" + o.scene + "' is none of those that --list prints");
  if (o.precision != "float32" && o.precision != "float64") refuse("--precision must be float32 or float64");
  try {
    const Totals t = o.precision == "float32" ? run<float>(o, *scene) : run<double>(o, *scene);
    const double n = static_cast<double>(t.steps);
    std::printf(
        "{\"scene\": \"%s\", \"dt\": %g, \"preset\": \"%s\", \"precision\": \"%s\", \"world_steps\": %lld, "
        "\"converged\": %.6f, \"iterations_mean\": %.3f, \"iterations_p99\": %d, \"newton_mean\": %.3f, "
        "\"sweeps_mean\": %.2f, \"linear_mean\": %.2f, \"linear_p99\": %d, "
        "\"fallback\": %.6f, \"overflow\": %.6f, \"non_finite\": %lld, \"contacts_mean\": %.2f, "
        "\"max_penetration_m\": %.3e, \"max_joint_error_m\": %.3e, \"energy_gained\": %.3e, \"steps_per_second\": "
        "%.0f}\n",
        o.scene.c_str(), o.dt, o.preset.c_str(), o.precision.c_str(), t.steps, double(t.converged) / n,
        mean(t.iterations), quantile(t.iterations, 0.99), double(t.newton) / n, double(t.sweeps) / n, mean(t.linear),
        quantile(t.linear, 0.99), double(t.fallback) / n, double(t.overflow) / n, t.non_finite, double(t.contacts) / n,
        t.penetration, t.joint_error, t.energy_gained, n / t.seconds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "axion-robustness: %s\n", error.what());
    return 1;
  }
  return 0;
}
