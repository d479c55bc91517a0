// mujoco_bench: C MuJoCo stepping the same file with the same controls, for the table of compare.py.
//
// Each thread steps its own worlds to the end, the order that suits MuJoCo best. float64, with the integrator and
// solver of the file. Its solver has no yes or no of convergence, so those fields stay null; `non_finite_fraction` is
// the share of steps since it gave a world up, which it then puts back to its start.
#include <mujoco/mujoco.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/bench/bench_options.hpp"

namespace {

using axion::bench::BenchOptions;
using axion::bench::BenchReport;
using axion::bench::ControlRange;

struct ModelDeleter {
  void operator()(mjModel* m) const { mj_deleteModel(m); }
};
struct DataDeleter {
  void operator()(mjData* d) const { mj_deleteData(d); }
};
using ModelPointer = std::unique_ptr<mjModel, ModelDeleter>;
using DataPointer = std::unique_ptr<mjData, DataDeleter>;

std::atomic<long> warning_count{0};

// Sums over the world-steps of one thread.
struct Tally {
  double iterations = 0, contacts = 0, max_penetration = 0;
  double diverged = 0;  // steps from the first on in which MuJoCo gave a world up and put it back to its start
  double seconds = 0;
};

// Motors move around zero, drives around where their joint starts: the same rule as axion_bench.cpp.
std::vector<ControlRange> control_ranges(const mjModel& m, const mjData& start, const BenchOptions& options) {
  std::vector<ControlRange> ranges;
  for (int a = 0; a < m.nu; ++a) {
    ControlRange range;
    if (m.actuator_ctrllimited[a]) range = {0, m.actuator_ctrlrange[2 * a], m.actuator_ctrlrange[2 * a + 1]};
    const bool position = m.actuator_biastype[a] == mjBIAS_AFFINE && m.actuator_biasprm[a * mjNBIAS + 1] != 0;
    if (position && m.actuator_trntype[a] == mjTRN_JOINT) {
      range.centre = m.actuator_gear[6 * a] * start.qpos[m.jnt_qposadr[m.actuator_trnid[2 * a]]];
    }
    if (!std::isnan(options.control_centre)) range.centre = options.control_centre;
    range.centre = std::clamp(range.centre, range.lower, range.upper);
    ranges.push_back(range);
  }
  return ranges;
}

// The body that --watch names: its coordinates, and who gathers them. Threads take turns.
struct Watched {
  int qpos_address = -1;  // -1: none
  axion::bench::Watch watch;
  std::mutex mutex;

  void see(int world, int step, const mjData& d) {
    if (qpos_address < 0 || step < 0) return;
    std::array<double, 7> pose;
    std::copy_n(d.qpos + qpos_address, 7, pose.begin());
    const std::lock_guard lock(mutex);
    watch.see(world, step, pose);
  }
};

int watched_address(const mjModel& m, const std::string& name) {
  if (name.empty()) return -1;
  const int body = mj_name2id(&m, mjOBJ_BODY, name.c_str());
  if (body < 0 || m.body_jntnum[body] == 0 || m.jnt_type[m.body_jntadr[body]] != mjJNT_FREE) {
    std::fprintf(stderr, "mujoco_bench: --watch '%s' is no free body of the model\n", name.c_str());
    std::exit(2);
  }
  return m.jnt_qposadr[m.body_jntadr[body]];
}

bool gave_up(const mjData& d) {
  return d.warning[mjWARN_BADQPOS].number + d.warning[mjWARN_BADQVEL].number + d.warning[mjWARN_BADQACC].number > 0;
}

void step_world(const mjModel& m, mjData& d, const BenchOptions& options, const std::vector<ControlRange>& ranges,
                int world, int first_step, int step_count, Watched& watched, Tally& tally) {
  std::vector<mjtNum> control(static_cast<std::size_t>(step_count) * m.nu);
  for (int step = 0; step < step_count; ++step) {
    for (int a = 0; a < m.nu; ++a) {
      control[step * m.nu + a] = axion::bench::random_control(options, ranges[a], world, first_step + step, a);
    }
  }
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < step_count; ++step) {
    mju_copy(d.ctrl, control.data() + step * m.nu, m.nu);
    mj_step(&m, &d);
    watched.see(world, first_step + step - options.warmup_steps, d);
    tally.diverged += gave_up(d);
    tally.iterations += d.solver_iter;
    tally.contacts += d.ncon;
    for (int c = 0; c < d.ncon; ++c) tally.max_penetration = std::max(tally.max_penetration, -d.contact[c].dist);
  }
  tally.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Runs all worlds on `thread_count` threads; returns the sums and, as seconds, those of the slowest thread.
Tally run(const mjModel& m, std::vector<DataPointer>& worlds, const BenchOptions& options,
          const std::vector<ControlRange>& ranges, int thread_count, int first_step, int step_count, Watched& watched) {
  std::vector<Tally> tallies(thread_count);
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t) {
    threads.emplace_back([&, t] {
      for (int w = t; w < static_cast<int>(worlds.size()); w += thread_count) {
        step_world(m, *worlds[w], options, ranges, w, first_step, step_count, watched, tallies[t]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Tally total;
  for (const Tally& tally : tallies) {
    total.iterations += tally.iterations;
    total.contacts += tally.contacts;
    total.diverged += tally.diverged;
    total.max_penetration = std::max(total.max_penetration, tally.max_penetration);
    total.seconds = std::max(total.seconds, tally.seconds);
  }
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  const BenchOptions options = axion::bench::parse_options(argc, argv, "mujoco_bench");
  mju_user_warning = [](const char*) { ++warning_count; };
  char error[1000] = "";
  const ModelPointer model(mj_loadXML(options.model.c_str(), nullptr, error, sizeof error));
  if (!model) {
    std::fprintf(stderr, "mujoco_bench: --model '%s': %s\n", options.model.c_str(), error);
    return 1;
  }
  if (options.keyframe >= model->nkey) {
    std::fprintf(stderr, "mujoco_bench: --keyframe is %d, the model has %d\n", options.keyframe, model->nkey);
    return 2;
  }
  if (options.dt > 0) model->opt.timestep = options.dt;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int thread_count = std::min(options.threads > 0 ? options.threads : cores, options.worlds);

  std::vector<DataPointer> worlds;
  for (int w = 0; w < options.worlds; ++w) {
    worlds.emplace_back(mj_makeData(model.get()));
    if (options.keyframe >= 0) mj_resetDataKeyframe(model.get(), worlds.back().get(), options.keyframe);
  }
  const std::vector<ControlRange> ranges = control_ranges(*model, *worlds.front(), options);
  Watched watched{watched_address(*model, options.watch), {options.steps, model->opt.timestep}, {}};
  run(*model, worlds, options, ranges, thread_count, 0, options.warmup_steps, watched);
  const Tally tally = run(*model, worlds, options, ranges, thread_count, options.warmup_steps, options.steps, watched);

  const double world_steps = static_cast<double>(options.worlds) * options.steps;
  BenchReport report;
  report.engine = std::string("mujoco ") + mj_versionString();
  report.model = std::filesystem::path(options.model).filename().string();
  report.device = "cpu";
  report.worlds = options.worlds;
  report.steps = options.steps;
  report.threads = thread_count;
  report.dt = model->opt.timestep;
  report.precision = "float64";
  report.wall_seconds = tally.seconds;
  report.newton_iterations_mean = tally.iterations / world_steps;
  report.contacts_mean = tally.contacts / world_steps;
  report.max_penetration_m = tally.max_penetration;
  report.non_finite_fraction = tally.diverged / world_steps;
  watched.watch.report(report);
  axion::bench::print_report(report, options.json);
  if (warning_count > 0) std::fprintf(stderr, "mujoco_bench: %ld warnings of MuJoCo\n", warning_count.load());
  return 0;
}
