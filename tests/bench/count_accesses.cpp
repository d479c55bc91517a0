// axion-accesses: how many bytes a world-step loads from and stores to each field of a world (engine/model/world_places.hpp).
//
//   axion-accesses --model FILE [--worlds N] [--steps N] [--warmup_steps N] [--seed N] [--control_fraction F]
// Flags are axion-bench's; float32, preset default and the initial state are the only choices. The step is compiled with calls at
// all its loads and stores (access_hooks.cpp), which are booked on the field that they are in; what is in registers is none.
// Prints a line a field, in the order of for_each_field: kind (0 state, 1 parameter, 2 scratch), bytes of the field, bytes that a
// world-step moves. accesses.py adds names and makes the order of heat. Exit codes: 0; 1 refused; 2 for a wrong command line.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/import/mjcf.hpp"
#include "tests/bench/bench_engine.hpp"
#include "tests/bench/bench_options.hpp"
#include "tests/support/single_world.hpp"

namespace {

struct Extent {
  int kind;
  std::uintptr_t start, end;
};

std::vector<Extent> fields;          // of the world that is stepped, in the order of for_each_field
std::vector<const Extent*> sorted;   // those that are not empty, by their start
std::vector<std::int64_t> moved;     // bytes, by field
const Extent* last = nullptr;        // most accesses are to the field of the one before
bool counting = false;

}  // namespace

namespace axion::bench {

void count_access(const void* at, std::size_t bytes) {
  if (!counting) return;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (last == nullptr || address < last->start || address >= last->end) {
    const auto after = std::upper_bound(sorted.begin(), sorted.end(), address,
                                        [](std::uintptr_t a, const Extent* extent) { return a < extent->start; });
    if (after == sorted.begin() || address >= (*(after - 1))->end) return;  // the model, or the stack
    last = *(after - 1);
  }
  moved[last - fields.data()] += static_cast<std::int64_t>(bytes);
}

}  // namespace axion::bench

namespace {

void find_fields(axion::testing::SingleWorld<float>& world) {
  fields.clear(), sorted.clear(), last = nullptr;
  axion::model::for_each_field(world.model(), [&](axion::model::FieldKind kind, auto member, std::size_t count) {
    const auto start = reinterpret_cast<std::uintptr_t>(world.world().*member);
    fields.push_back({static_cast<int>(kind), start, start + count * sizeof(*(world.world().*member))});
  });
  moved.resize(fields.size());
  for (const Extent& field : fields) {
    if (field.end > field.start) sorted.push_back(&field);
  }
  std::sort(sorted.begin(), sorted.end(), [](const Extent* a, const Extent* b) { return a->start < b->start; });
}

}  // namespace

int main(int argc, char** argv) {
  using axion::testing::SingleWorld;
  const axion::bench::BenchOptions options = axion::bench::parse_options(argc, argv, "axion-accesses");
  if (options.precision != "float32" || options.preset != "default" || options.keyframe >= 0) {
    std::fprintf(stderr, "axion-accesses: only float32, preset default and keyframe -1 are counted\n");
    return 2;
  }
  const axion::BatchSpec spec = axion::bench::make_spec(options);
  const auto ranges = axion::bench::control_ranges(spec.model->info(), options);
  std::ifstream file(options.model, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto scene = axion::bench::take("import", axion::import::import_mjcf(text)).scene;
  for (int index = 0; index < options.worlds; ++index) {
    SingleWorld<float> world(scene, axion::model::make_options(axion::model::Preset::kDefault), spec.dt);
    find_fields(world);
    for (int step = 0; step < options.warmup_steps + options.steps; ++step) {
      for (std::size_t a = 0; a < ranges.size(); ++a) {
        world.world().control[a] =
            static_cast<float>(axion::bench::random_control(options, ranges[a], index, step, static_cast<int>(a)));
      }
      counting = step >= options.warmup_steps;
      world.step();
      counting = false;
    }
  }
  const double steps = static_cast<double>(options.worlds) * options.steps;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::printf("%d %zu %.1f\n", fields[i].kind, std::size_t(fields[i].end - fields[i].start), moved[i] / steps);
  }
  return 0;
}
