// axion-bench: how fast the engine steps worlds of one model, in process, without a server.
//
// Every world starts from the same state and gets its own random controls (bench_options.hpp), drawn before the clock
// starts. `steps_per_second` counts world-steps. Figures of the solver come from the engine's own statistics over the
// timed steps. With --memory nothing is stepped: it prints where the bytes of a world are. Exit codes: 0; 1 when the
// engine refuses something; 2 for a wrong command line.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "tests/bench/bench_engine.hpp"
#include "tests/bench/bench_options.hpp"
#include "tests/bench/memory_table.hpp"

namespace {

using axion::bench::BenchOptions;
using axion::bench::BenchReport;
using axion::bench::ControlRange;
using axion::bench::take;

// Index of the body that --watch names, or the end of the program.
int watched_body(const axion::ModelInfo& model, const BenchOptions& options) {
  for (std::size_t b = 0; b < model.bodies.size(); ++b) {
    if (model.bodies[b].name == options.watch) return static_cast<int>(b);
  }
  std::fprintf(stderr, "axion-bench: --watch '%s' is no body of the model\n", options.watch.c_str());
  std::exit(2);
}

struct Run {
  axion::StepStatistics statistics;
  double wall_seconds = 0;
};

// Room for the poses of every body after every step of a launch, and what becomes of the watched one's.
class PoseRecorder {
 public:
  PoseRecorder(const axion::Batch& batch, int watched, const BenchOptions& options)
      : body_count_(static_cast<int>(batch.spec().model->info().bodies.size())),
        watched_(watched),
        is_float_(batch.real_dtype() == axion::DType::kFloat32),
        real_(is_float_ ? sizeof(float) : sizeof(double)),
        watch_(options.steps, batch.spec().dt),
        bytes_(pose_bytes() * options.steps_per_launch * options.worlds) {}

  // The request records into this until take().
  void record(axion::StepRequest& request) {
    view_ = {axion::Field::kBodyPose, bytes_.data(), pose_bytes() * request.step_count, pose_bytes()};
    request.record_every = 1;
    request.outputs = {&view_, 1};
  }
  void take(int first_step, int step_count, int world_count) {
    for (int world = 0; world < world_count; ++world) {
      for (int step = 0; step < step_count; ++step) {
        const std::byte* at = bytes_.data() + pose_bytes() * (static_cast<std::size_t>(world) * step_count + step);
        std::array<double, 7> pose;
        for (int i = 0; i < 7; ++i) pose[i] = value(at + real_ * (7 * watched_ + i));
        watch_.see(world, first_step + step, pose);
      }
    }
  }
  const axion::bench::Watch& watch() const { return watch_; }

 private:
  std::size_t pose_bytes() const { return 7 * real_ * body_count_; }
  double value(const std::byte* at) const {
    if (!is_float_) return read<double>(at);
    return read<float>(at);
  }
  template <typename Real>
  static Real read(const std::byte* at) {
    Real real;
    std::memcpy(&real, at, sizeof real);
    return real;
  }

  const int body_count_, watched_;
  const bool is_float_;
  const std::size_t real_;
  axion::bench::Watch watch_;
  std::vector<std::byte> bytes_;
  axion::OutputView view_;
};

// Steps all worlds `step_count` times, from `first_step` of the sequence of controls. `recorder` may be null.
Run run_steps(axion::Engine& engine, axion::Batch& batch, const BenchOptions& options,
              const std::vector<ControlRange>& ranges, int first_step, int step_count, PoseRecorder* recorder) {
  Run run;
  for (int done = 0; done < step_count;) {
    const int now = std::min(options.steps_per_launch, step_count - done);
    const std::vector<float> control = axion::bench::draw_controls(options, ranges, first_step + done, now);
    axion::StepRequest request = axion::bench::step_request(batch, ranges, control, now);
    if (recorder != nullptr) recorder->record(request);
    const auto start = std::chrono::steady_clock::now();
    run.statistics.add(take("step", engine.step({&request, 1})));
    run.wall_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (recorder != nullptr) recorder->take(done, now, options.worlds);
    done += now;
  }
  return run;
}

// The smallest bound that at least 99 % of the values do not exceed; NaN if that is above the last bound.
double newton_p99(const axion::StepStatistics& statistics) {
  const auto& counts = statistics.newton_iterations.counts;
  std::int64_t below = 0;
  for (std::size_t b = 0; b < axion::kNewtonIterationBounds.size(); ++b) {
    below += counts[b];
    if (100 * below >= 99 * statistics.world_steps) return axion::kNewtonIterationBounds[b];
  }
  return std::numeric_limits<double>::quiet_NaN();
}

BenchReport make_report(const BenchOptions& options, const axion::BatchSpec& spec, const axion::DeviceInfo& device,
                        const Run& run) {
  const axion::StepStatistics& s = run.statistics;
  const double world_steps = static_cast<double>(std::max<std::int64_t>(s.world_steps, 1));
  BenchReport report;
  report.engine = "axion";
  report.model = std::filesystem::path(options.model).filename().string();
  report.device = device.id;
  report.device_name = device.name;
  report.worlds = options.worlds;
  report.steps = options.steps;
  report.threads = device.threads;
  report.block_threads = device.block_threads, report.near_bytes = device.near_bytes;
  report.dt = spec.dt;
  report.precision = options.precision;
  report.wall_seconds = run.wall_seconds;
  report.newton_iterations_mean = s.newton_iterations.sum / world_steps;
  report.newton_iterations_p99 = newton_p99(s);
  report.sweep_rounds_mean = s.sweep_rounds.sum / world_steps;
  report.contact_sweeps_mean = s.contact_sweeps.sum / world_steps;
  report.linear_iterations_mean = s.linear_iterations.sum / world_steps;
  report.contacts_mean = s.contacts.sum / world_steps;
  report.converged_fraction = static_cast<double>(s.converged) / world_steps;
  report.non_finite_fraction = static_cast<double>(s.non_finite) / world_steps;
  report.max_penetration_m = s.max_penetration;
  report.max_joint_error_m = s.max_joint_error;
  return report;
}

// Counts of the model. A joint locks what its axes leave of six directions; a free joint locks none.
void count_model(const axion::ModelInfo& model, BenchReport& report) {
  report.bodies = static_cast<double>(model.bodies.size());
  report.shapes = static_cast<double>(model.shapes.size());
  report.joint_rows = report.axis_rows = report.limit_rows = 0;
  for (const axion::JointInfo& joint : model.joints) {
    if (joint.kind == axion::model::JointKind::kFree) continue;
    const double axes = static_cast<double>(joint.axes.size());
    report.joint_rows += joint.kind == axion::model::JointKind::kBall ? 3 : 6 - axes;
    report.axis_rows += axes;
    for (const axion::model::AxisSpec& axis : joint.axes) report.limit_rows += axis.limited;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const BenchOptions options = axion::bench::parse_options(argc, argv, "axion-bench");
  std::string note;
  const std::unique_ptr<axion::Engine> engine =
      take("--device", axion::create_engine({.device = options.device,
                                             .threads = options.threads,
                                             .memory_limit_bytes = 0,
                                             .instruction_set = options.instruction_set,
                                             .block_threads = options.block_threads,
                                             .near_bytes = options.near_bytes},
                                            &note));
  if (!note.empty()) std::fprintf(stderr, "note: %s\n", note.c_str());

  const axion::BatchSpec spec = axion::bench::make_spec(options);
  if (options.memory) {
    axion::bench::print_memory(axion::bench::memory_table(spec),
                               std::filesystem::path(options.model).filename().string(), options.precision,
                               options.json);
    return 0;
  }
  const axion::ModelInfo& model = spec.model->info();
  const std::unique_ptr<axion::Batch> batch = axion::bench::make_batch(*engine, spec, options);

  const std::vector<ControlRange> ranges = axion::bench::control_ranges(model, options);
  std::optional<PoseRecorder> recorder;
  if (!options.watch.empty()) recorder.emplace(*batch, watched_body(model, options), options);
  run_steps(*engine, *batch, options, ranges, 0, options.warmup_steps, nullptr);
  const Run run =
      run_steps(*engine, *batch, options, ranges, options.warmup_steps, options.steps, recorder ? &*recorder : nullptr);
  BenchReport report = make_report(options, spec, engine->device(), run);
  report.memory_bytes = static_cast<double>(batch->memory_bytes());
  count_model(model, report);
  if (recorder) recorder->watch().report(report);
  axion::bench::print_report(report, options.json);
  return 0;
}
