// axion-ptx-profile: steps worlds on the emulated GPU and prints what a step of one world takes in warp instructions,
// by class, function and line of the source, and what that bounds.
//
//   axion-ptx-profile --model FILE [--worlds 2] [--steps 20] [--warmup_steps 200] [--planned_worlds N] [--counts FILE]
//                     [--ptx FILE] [flags of axion-bench]
//
// --planned_worlds: the block and near memory that the engine would choose for so many worlds. --counts: what sass.py
// reads. --ptx: the kernels' PTX is written there. The bounds: a multiprocessor issues four warp instructions a clock,
// whatever they are, and serves one wavefront of shared memory. PTX is not the machine's own code: the assembler merges
// some instructions and writes others (div, sqrt, integers of 64 bits) as several.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "engine/backend/engine_model.hpp"
#include "engine/model/batch_view.hpp"
#include "tests/bench/bench_engine.hpp"
#include "tools/ptx/profile/cache_model.hpp"
#include "tools/ptx/profile/field_traffic.hpp"
#include "tools/ptx/profile/null_device.hpp"
#include "tools/ptx/profile/profile.hpp"
#include "tools/ptx/runtime/linked_ptx.hpp"
#include "tools/ptx/runtime/runtime.hpp"

namespace {

using axion::bench::BenchOptions;
using axion::bench::take;
namespace ptx = axion::ptx;

// An H200's multiprocessors, warp instructions a clock of each, and clock.
constexpr double kMultiprocessors = 132, kIssued = 4, kHertz = 1.755e9;
constexpr std::size_t kRows = 40, kListed = 10;  // functions whose lines are printed
// First caches that a world may have, what shared memory leaves of 256 KiB, divided.
constexpr int kCachesKib[] = {2, 4, 8, 15, 40, 64};

void advance(axion::Engine& engine, axion::Batch& batch, const BenchOptions& options,
             const std::vector<axion::bench::ControlRange>& ranges, int first, int count) {
  for (int done = 0; done < count;) {
    const int now = std::min(options.steps_per_launch, count - done);
    const std::vector<float> control = axion::bench::draw_controls(options, ranges, first + done, now);
    const axion::StepRequest request = axion::bench::step_request(batch, ranges, control, now);
    take("step", engine.step({&request, 1}));
    done += now;
  }
}

void print(const char* what, const std::vector<ptx::NamedSum>& sums, const ptx::Sum& total, double steps) {
  std::printf("by %s: warp instructions, part, lanes; accesses: far, local, shared; sectors of far, wavefronts\n",
              what);
  for (std::size_t k = 0; k < std::min(kRows, sums.size()); ++k) {
    const ptx::Counts& c = sums[k].sum.counts;
    const ptx::TrafficCounts& t = sums[k].sum.traffic;
    const double issued = static_cast<double>(sums[k].sum.warp_instructions());
    std::printf("  %9.0f %5.1f%% %5.1f %7.0f %7.0f %7.0f %7.0f %7.0f  %.130s\n", issued / steps,
                100.0 * issued / double(total.warp_instructions()), double(c.lanes) / double(c.issued),
                double(t.far) / steps, double(t.local) / steps, double(t.shared) / steps, double(t.sectors) / steps,
                double(t.wavefronts) / steps, sums[k].name.c_str());
  }
}

void print(const char* memory, ptx::U64 ptx::FieldSum::*units, std::vector<ptx::FieldSum> fields, double steps) {
  std::stable_sort(fields.begin(), fields.end(),
                   [&](const ptx::FieldSum& a, const ptx::FieldSum& b) { return a.*units > b.*units; });
  std::printf("by field: %s, those a 32 bytes of the field, accesses, bytes moved; bytes of the field\n", memory);
  for (const ptx::FieldSum& f : fields) {
    if (f.*units == 0) break;
    const double each = f.bytes == 0 ? 0 : 32 * double(f.*units) / steps / double(f.bytes);
    std::printf("  %9.1f %8.2f %9.1f %9.0f %8zu  %s\n", double(f.*units) / steps, each, double(f.accesses) / steps,
                double(f.moved) / steps, f.bytes, f.name.c_str());
  }
}

void print(const ptx::Profile& profile, double steps) {
  const ptx::Sum& total = profile.total;
  const double issued = static_cast<double>(total.warp_instructions()) / steps;
  const double lanes = static_cast<double>(total.counts.lanes) / static_cast<double>(total.counts.issued);
  std::printf("a step of one world:\n");
  std::printf("  %12.0f warp instructions (and %.0f ld.param, st.param)\n", issued,
              static_cast<double>(total.counts.issued) / steps - issued);
  std::printf("  %12.0f world-steps/s at most by issue: %.0f multiprocessors, %.0f a clock, %.3f GHz\n",
              kMultiprocessors * kIssued * kHertz / issued, kMultiprocessors, kIssued, kHertz / 1e9);
  std::printf("  %12.0f world-steps/s at most by wavefronts of shared memory, one a clock\n",
              kMultiprocessors * kHertz * steps / static_cast<double>(total.traffic.wavefronts));
  std::printf("  %12.1f active lanes of 32\n", lanes);
  const auto row = [&](const char* name, ptx::U64 count) {
    std::printf("  %12.0f %s\n", static_cast<double>(count) / steps, name);
  };
  row("accesses of far memory by warps", total.traffic.far);
  row("sectors of 32 bytes in far memory", total.traffic.sectors);
  row("accesses of local memory", total.traffic.local);
  row("sectors of 32 bytes in local memory", total.traffic.local_sectors);
  row("accesses of shared memory", total.traffic.shared);
  row("wavefronts of shared memory", total.traffic.wavefronts);
  std::printf("by class:\n");
  for (int k = 0; k < ptx::kClasses; ++k) {
    if (total.classes[k] > 0) row(std::string(ptx::kClassNames[k]).c_str(), total.classes[k]);
  }
  print("function (itself)", profile.functions, total, steps);
  print("line of the source", profile.lines, total, steps);
  for (std::size_t k = 0; k < std::min(kListed, profile.functions.size()); ++k) {
    print(("line of " + profile.functions[k].name).c_str(), profile.functions[k].lines, total, steps);
  }
}

struct OwnOptions {
  int planned_worlds = 0;
  std::string counts, ptx;
};

// Takes this program's own flags out of the command line; what is left is axion-bench's.
std::vector<char*> take_own_flags(int argc, char** argv, OwnOptions& own) {
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag != "--planned_worlds" && flag != "--counts" && flag != "--ptx") {
      rest.push_back(argv[i]);
      continue;
    }
    char* end = nullptr;
    if (++i < argc && flag != "--planned_worlds") {
      (flag == "--ptx" ? own.ptx : own.counts) = argv[i];
    } else if (i < argc) {
      own.planned_worlds = static_cast<int>(std::strtol(argv[i], &end, 10));
    }
    if (i == argc || (end != nullptr && (*end != '\0' || own.planned_worlds < 1 || own.planned_worlds > 100'000))) {
      std::fprintf(stderr, "axion-ptx-profile: %s wants %s\n", flag.c_str(),
                   flag == "--planned_worlds" ? "a number from 1 to 100000" : "a file");
      std::exit(2);
    }
  }
  return rest;
}

axion::EngineOptions engine_options(const BenchOptions& options) {
  return {.device = "cuda:0",
          .threads = 0,
          .memory_limit_bytes = 0,
          .instruction_set = "",
          .block_threads = options.block_threads,
          .near_bytes = static_cast<int>(options.near_bytes)};
}

// Asks the engine: a launch of so many worlds on a device that computes nothing.
template <typename Real>
void plan(BenchOptions& options, int worlds) {
  BenchOptions many = options;
  many.worlds = worlds;
  const ptx::NullDevice<Real> null_device;
  const auto engine = take("engine", axion::create_engine(engine_options(many)));
  const auto batch = take("create_batch", engine->create_batch(axion::bench::make_spec(many)));
  axion::StepRequest request;
  request.batch = batch.get();
  take("step", engine->step({&request, 1}));
  options.block_threads = engine->device().block_threads;
  options.near_bytes = engine->device().near_bytes;
  const unsigned blocks = ptx::Runtime::get().last_grid.x;
  std::printf("planned for %d worlds: %u blocks, %.3g on a multiprocessor\n", worlds, blocks,
              blocks / kMultiprocessors);
}

// Steps the worlds and prints what the steps after the warm-up took.
template <typename Real>
int run(BenchOptions options, const OwnOptions& own) {
  const axion::BatchSpec spec = axion::bench::make_spec(options);
  const auto& model = dynamic_cast<const axion::backend::EngineModel&>(*spec.model);
  ptx::FieldTraffic<Real> fields(axion::model::batch_view(model.arrays<Real>().view(), spec.options));
  std::vector<ptx::CacheModel> caches;
  for (const int kib : kCachesKib) caches.emplace_back(ptx::U64(kib) << 10);
  ptx::TrafficCounter counter;
  ptx::runtime_options().observe = [&](const ptx::WarpAccess& access) { counter.add(access); };
  counter.observe = [&](const ptx::Block& block, const ptx::Traffic& traffic) {
    ptx::U64 passed = 0;  // the least cache
    for (std::size_t k = caches.size(); k-- > 0;) passed = caches[k].add(traffic);
    fields.add(block, traffic, passed);
  };
  const std::vector<axion::bench::ControlRange> ranges = axion::bench::control_ranges(spec.model->info(), options);
  if (own.planned_worlds > 0)
    plan<Real>(options, own.planned_worlds);  // after the machine's options: it makes the machine
  const auto engine = take("engine", axion::create_engine(engine_options(options)));
  const auto batch = axion::bench::make_batch(*engine, spec, options);
  advance(*engine, *batch, options, ranges, 0, options.warmup_steps);
  ptx::Machine& machine = ptx::Runtime::get().machine();
  machine.clear_counts();
  counter.clear();
  fields.clear();
  for (ptx::CacheModel& cache : caches) cache.clear();
  advance(*engine, *batch, options, ranges, options.warmup_steps, options.steps);
  const axion::DeviceInfo device = engine->device();
  std::printf("%s, %d worlds, %d steps after %d, %s, %d threads a world, %lld bytes near\n", options.model.c_str(),
              options.worlds, options.steps, options.warmup_steps, options.precision.c_str(), device.block_threads,
              static_cast<long long>(device.near_bytes));
  const double steps = double(options.worlds) * options.steps;
  print(ptx::make_profile(machine.module(), counter), steps);
  if (!own.counts.empty() && !ptx::write_line_counts(machine.module(), own.counts)) {
    std::fprintf(stderr, "axion-ptx-profile: --counts '%s' cannot be written\n", own.counts.c_str());
    return 1;
  }
  if (!own.ptx.empty() && !(std::ofstream(own.ptx) << ptx::linked_ptx()).flush()) {
    std::fprintf(stderr, "axion-ptx-profile: --ptx '%s' cannot be written\n", own.ptx.c_str());
    return 1;
  }
  std::printf("%12.0f instructions of a step's longest warp, from barrier to barrier\n",
              double(machine.longest()) / steps);
  std::printf("%12.0f sectors of far and local memory that the worlds touch\n", double(caches[0].touched()));
  for (const ptx::CacheModel& cache : caches) {
    std::printf("%12.0f sectors a step of one world beyond a first cache of %llu bytes\n",
                double(cache.passed()) / steps, static_cast<unsigned long long>(cache.bytes()));
  }
  print("sectors beyond the least first cache", &ptx::FieldSum::passed, fields.sums(), steps);
  print("sectors of far memory", &ptx::FieldSum::sectors, fields.sums(), steps);
  print("wavefronts of shared memory", &ptx::FieldSum::wavefronts, fields.sums(), steps);
  for (const std::string& text : machine.module().inexact) std::printf("bits left open: %s\n", text.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  OwnOptions own;
  std::vector<char*> rest = take_own_flags(argc, argv, own);
  const BenchOptions options =
      axion::bench::parse_options(static_cast<int>(rest.size()), rest.data(), "axion-ptx-profile");
  return options.precision == "float32" ? run<float>(options, own) : run<double>(options, own);
}
