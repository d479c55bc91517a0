// axion-count: the operations of a world-step, counted by stepping a world whose numbers count them (counted_real.hpp).
//
//   axion-count --model FILE [--worlds N] [--steps N] [--warmup_steps N] [--seed N] [--control_fraction F] Flags are
//   axion-bench's; the worlds, their controls and the steps are the same, but for rounding of the initial poses.
//   Float32, preset default and the initial state are the only choices. Prints one JSON object: `functions`, by the
//   function of the engine whose loops they are, loops, operations, and divisions and roots among them, each a
//   world-step; `elsewhere`, what is outside of all loops; `rounds` that teams of 32 to 256 threads take for the loops;
//   means of contacts and Newton iterations; `same_bits`, whether every world ended in the bits of the engine's own
//   float32. Exit codes: 0; 1 if not; 2 for a wrong command line.
#include "tests/bench/counted_real.hpp"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "engine/import/mjcf.hpp"
#include "engine/step/step_world.hpp"
#include "tests/bench/bench_engine.hpp"
#include "tests/bench/bench_options.hpp"
#include "tests/support/single_world.hpp"

template <>
void axion::testing::step_once(const bench::CountingTeam& team, const model::ModelView<bench::CountedReal>& m,
                               const model::WorldView<bench::CountedReal>& w,
                               const model::StepSettings<bench::CountedReal>& settings) {
  step::step_world(team, m, w, settings);
}

namespace {

using axion::bench::BenchOptions;
using axion::bench::ControlRange;
using axion::bench::CountedReal;
using axion::bench::CountingTeam;
using axion::bench::Tally;
using axion::testing::SingleWorld;

struct Means {
  double contacts = 0, newton = 0, rounds = 0;
};

// One world, counted from the first step after the warm-up on, beside the same in plain numbers. Returns whether both
// end alike.
bool count_world(const axion::model::SceneSpec& scene, const BenchOptions& options,
                 const std::vector<ControlRange>& ranges, double dt, int world, Means& means) {
  SingleWorld<float> plain(scene, axion::model::make_options(axion::model::Preset::kDefault), dt);
  SingleWorld<CountedReal> counted(scene, axion::model::make_options(axion::model::Preset::kDefault), dt);
  for (int step = 0; step < options.warmup_steps + options.steps; ++step) {
    for (std::size_t a = 0; a < ranges.size(); ++a) {
      const double control = axion::bench::random_control(options, ranges[a], world, step, static_cast<int>(a));
      plain.world().control[a] = static_cast<float>(control);
      counted.world().control[a] = static_cast<float>(control);
    }
    plain.step();
    axion::bench::counting = step >= options.warmup_steps;
    counted.step<CountingTeam>();
    axion::bench::counting = false;
    if (step < options.warmup_steps) continue;
    means.contacts += counted.record().contact_count, means.newton += counted.record().newton_iterations;
    means.rounds += counted.record().sweep_rounds;
  }
  const auto bytes = sizeof(axion::math::Vec3<float>) * plain.model().body_count;
  return std::memcmp(plain.world().x, counted.world().x, bytes) == 0 &&
         std::memcmp(plain.world().omega, counted.world().omega, bytes) == 0;
}

void print_tally(const char* name, const Tally& tally, double steps) {
  std::printf("\"%s\": {\"loops\": %.6g, \"operations\": %.9g, \"quotients\": %.9g}", name, tally.loops / steps,
              tally.operations / steps, tally.quotients / steps);
}

}  // namespace

int main(int argc, char** argv) {
  const BenchOptions options = axion::bench::parse_options(argc, argv, "axion-count");
  if (options.precision != "float32" || options.preset != "default" || options.keyframe >= 0) {
    std::fprintf(stderr,
                 "axion-count: --precision is '%s', --preset '%s', --keyframe %d: only float32, default and -1 are "
                 "counted\n",
                 options.precision.c_str(), options.preset.c_str(), options.keyframe);
    return 2;
  }
  const axion::BatchSpec spec = axion::bench::make_spec(options);
  const std::vector<ControlRange> ranges = axion::bench::control_ranges(spec.model->info(), options);
  std::ifstream file(options.model, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto scene = axion::bench::take("import", axion::import::import_mjcf(text)).scene;
  Means means;
  bool same = true;
  for (int world = 0; world < options.worlds; ++world) {
    same &= count_world(scene, options, ranges, spec.dt, world, means);
  }
  const double steps = static_cast<double>(options.worlds) * options.steps;
  std::printf(
      "{\"same_bits\": %s, \"contacts_mean\": %.9g, \"newton_iterations_mean\": %.9g, \"sweep_rounds_mean\": %.9g, "
      "\"functions\": {",
      same ? "true" : "false", means.contacts / steps, means.newton / steps, means.rounds / steps);
  const char* separator = "";
  for (const auto& [name, tally] : axion::bench::tallies) {
    std::printf("%s", separator);
    print_tally(name.c_str(), tally, steps);
    separator = ", ";
  }
  std::printf("}, ");
  print_tally("elsewhere", axion::bench::elsewhere, steps);
  std::printf(", \"rounds\": {");
  for (std::size_t i = 0; i < axion::bench::rounds.size(); ++i) {
    std::printf("%s\"%d\": %.6g", i == 0 ? "" : ", ", axion::bench::kTeamThreads[i], axion::bench::rounds[i] / steps);
  }
  std::printf("}}\n");
  return same ? 0 : 1;
}
