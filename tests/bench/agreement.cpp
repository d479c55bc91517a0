// axion-agreement: steps the same worlds on two devices, or on one with two numbers of threads or two instruction sets,
// and compares the bits of every field after every launch.
//
//   axion-agreement --model FILE [flags of axion-bench] [--right cuda:0] [--right_threads N] [--right_steps_per_launch
//   K]
//                   [--right_instruction_set x86-64] [--right_seed N] --device, --threads and --steps_per_launch are
//                   the left side's; the right side's launches may be cut elsewhere. Another seed gives it other
//                   controls: a check that differences are seen.
//
// At the first launch after which anything differs it prints the world and, of that world, every field that differs, in
// the order in which a step computes them, with the element, both values and their distance in units in the last place;
// then it ends with exit code 1. Exit code 0: every bit was the same; 2: a wrong command line.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "tests/bench/bench_engine.hpp"
#include "tests/bench/bench_options.hpp"

namespace {

using axion::DType;
using axion::Field;
using axion::bench::BenchOptions;
using axion::bench::take;

// What a step computes first comes first.
constexpr std::array kFields{Field::kStepIndex,     Field::kTime,         Field::kControl,  Field::kContactCount,
                             Field::kJointImpulse,  Field::kBodyVelocity, Field::kBodyPose, Field::kJointVelocity,
                             Field::kJointPosition, Field::kOutcome};

struct Side {
  std::string device, instruction_set;
  int threads = 0, steps_per_launch = 0, seed = -1;  // seed -1: the left side's
  int block_threads = 0, near_bytes = -1;            // as in axion::EngineOptions
  std::unique_ptr<axion::Engine> engine;
  std::unique_ptr<axion::Batch> batch;
};

// Takes the flags of the right side out of the command line; what is left is axion-bench's.
std::vector<char*> take_right_flags(int argc, char** argv, Side& right) {
  std::vector<char*> rest;
  const std::array<std::pair<std::string, int*>, 5> numbers{{{"--right_threads", &right.threads},
                                                             {"--right_block_threads", &right.block_threads},
                                                             {"--right_near_bytes", &right.near_bytes},
                                                             {"--right_steps_per_launch", &right.steps_per_launch},
                                                             {"--right_seed", &right.seed}}};
  for (int i = 0; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto number = std::find_if(numbers.begin(), numbers.end(), [&](const auto& n) { return n.first == flag; });
    if (number == numbers.end() && flag != "--right" && flag != "--right_instruction_set") {
      rest.push_back(argv[i]);
      continue;
    }
    if (++i == argc) {
      std::fprintf(stderr, "axion-agreement: %s has no value\n", flag.c_str());
      std::exit(2);
    }
    if (number == numbers.end()) {
      (flag == "--right" ? right.device : right.instruction_set) = argv[i];
      continue;
    }
    char* end = nullptr;
    const long value = std::strtol(argv[i], &end, 10);
    if (end == argv[i] || *end != '\0' || value < 0 || value > 1'000'000) {
      std::fprintf(stderr, "axion-agreement: %s is '%s', must be a number from 0 to 1000000\n", flag.c_str(), argv[i]);
      std::exit(2);
    }
    *number->second = static_cast<int>(value);
  }
  return rest;
}

void open(Side& side, const axion::BatchSpec& spec, const BenchOptions& options) {
  side.engine = take(side.device, axion::create_engine({.device = side.device,
                                                        .threads = side.threads,
                                                        .memory_limit_bytes = 0,
                                                        .instruction_set = side.instruction_set,
                                                        .block_threads = side.block_threads,
                                                        .near_bytes = side.near_bytes}));
  side.batch = axion::bench::make_batch(*side.engine, spec, options);
}

// Steps [first, first + count) of a side, in launches of its own length.
void advance(Side& side, BenchOptions options, const std::vector<axion::bench::ControlRange>& ranges, int first,
             int count) {
  if (side.seed >= 0) options.seed = static_cast<std::uint64_t>(side.seed);
  for (int done = 0; done < count;) {
    const int now = std::min(side.steps_per_launch, count - done);
    const std::vector<float> control = axion::bench::draw_controls(options, ranges, first + done, now);
    const axion::StepRequest request = axion::bench::step_request(*side.batch, ranges, control, now);
    take("step on " + side.device, side.engine->step({&request, 1}));
    done += now;
  }
}

std::size_t element_count(const axion::Batch& batch, Field field) {
  std::size_t count = 1;
  for (const std::int64_t extent : batch.field_shape(field)) count *= static_cast<std::size_t>(extent);
  return count;
}

std::vector<std::byte> read(const axion::Batch& batch, Field field) {
  const std::size_t bytes = element_count(batch, field) * axion::size_of(batch.field_dtype(field));
  std::vector<std::byte> data(bytes * batch.spec().world_count);
  const axion::OutputView view{field, data.data(), bytes, 0};
  if (const axion::Status status = batch.get({}, {&view, 1}); !status.ok()) axion::bench::fail("get", status.error());
  return data;
}

// Steps between two numbers among those that the type can hold.
template <typename Real, typename Bits>
double distance_ulp(Real a, Real b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return INFINITY;
  const auto place = [](Real x) {
    const Bits bits = std::bit_cast<Bits>(x);
    return static_cast<double>(bits < 0 ? std::numeric_limits<Bits>::min() - bits : bits);
  };
  return std::abs(place(a) - place(b));
}

template <typename T>
T load(std::span<const std::byte> data, std::size_t index) {
  T value{};
  std::memcpy(&value, data.data() + index * sizeof(T), sizeof(T));
  return value;
}

std::string describe(DType dtype, std::span<const std::byte> a, std::span<const std::byte> b, std::size_t i) {
  char text[160];
  if (dtype == DType::kFloat32) {
    const float x = load<float>(a, i), y = load<float>(b, i);
    std::snprintf(text, sizeof text, "%.9g and %.9g, %.0f ulp", x, y, distance_ulp<float, std::int32_t>(x, y));
  } else if (dtype == DType::kFloat64) {
    const double x = load<double>(a, i), y = load<double>(b, i);
    std::snprintf(text, sizeof text, "%.17g and %.17g, %.0f ulp", x, y, distance_ulp<double, std::int64_t>(x, y));
  } else if (axion::size_of(dtype) == 4) {
    std::snprintf(text, sizeof text, "%d and %d", load<std::int32_t>(a, i), load<std::int32_t>(b, i));
  } else {
    std::snprintf(text, sizeof text, "%lld and %lld", static_cast<long long>(load<std::int64_t>(a, i)),
                  static_cast<long long>(load<std::int64_t>(b, i)));
  }
  return text;
}

// The lowest world with a difference in any field, or -1.
int first_difference(const Side& left, const Side& right) {
  int first = -1;
  for (const Field field : kFields) {
    const std::vector<std::byte> a = read(*left.batch, field), b = read(*right.batch, field);
    if (a == b) continue;
    const std::size_t at = std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin();
    const int world = static_cast<int>(at / (a.size() / left.batch->spec().world_count));
    first = first < 0 ? world : std::min(first, world);
  }
  return first;
}

void explain(const Side& left, const Side& right, int world, int step) {
  std::printf("differ first: world %d after step %d\n", world, step);
  for (const Field field : kFields) {
    const DType dtype = left.batch->field_dtype(field);
    const std::size_t count = element_count(*left.batch, field), bytes = count * axion::size_of(dtype);
    const std::vector<std::byte> all_a = read(*left.batch, field), all_b = read(*right.batch, field);
    const std::span<const std::byte> a(all_a.data() + world * bytes, bytes), b(all_b.data() + world * bytes, bytes);
    std::size_t different = 0, first = 0;
    for (std::size_t i = count; i-- > 0;) {
      const std::size_t size = axion::size_of(dtype);
      if (std::memcmp(a.data() + i * size, b.data() + i * size, size) != 0) ++different, first = i;
    }
    if (different == 0) continue;
    std::printf("  field %s: %zu of %zu elements, the first [%zu]: %s\n", std::string(field_name(field)).c_str(),
                different, count, first, describe(dtype, a, b, first).c_str());
  }
  for (const Side* side : {&left, &right}) {
    const axion::WorldStatistics s = take("statistics", side->batch->statistics(world));
    std::printf("  %s: %d contacts, %d Newton, %d linear iterations, outcome %u\n", side->device.c_str(),
                s.contact_count, s.newton_iterations, s.linear_iterations, s.outcome);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Side left, right;
  std::vector<char*> rest = take_right_flags(argc, argv, right);
  const BenchOptions options =
      axion::bench::parse_options(static_cast<int>(rest.size()), rest.data(), "axion-agreement");
  left.instruction_set = options.instruction_set;
  left.block_threads = options.block_threads, left.near_bytes = static_cast<int>(options.near_bytes);
  left.device = options.device, left.threads = options.threads, left.steps_per_launch = options.steps_per_launch;
  if (right.device.empty()) right.device = left.device;
  if (right.steps_per_launch == 0) right.steps_per_launch = left.steps_per_launch;
  const axion::BatchSpec spec = axion::bench::make_spec(options);
  const std::vector<axion::bench::ControlRange> ranges = axion::bench::control_ranges(spec.model->info(), options);
  open(left, spec, options);
  open(right, spec, options);
  for (int step = 0; step < options.steps;) {
    const int now = std::min(left.steps_per_launch, options.steps - step);
    advance(left, options, ranges, step, now);
    advance(right, options, ranges, step, now);
    step += now;
    if (const int world = first_difference(left, right); world >= 0) {
      explain(left, right, world, step);
      return 1;
    }
  }
  std::printf("same bits: %s, %d worlds, %d steps, %s, dt %g s, %s and %s\n", options.model.c_str(), options.worlds,
              options.steps, options.precision.c_str(), spec.dt, left.engine->device().id.c_str(),
              right.engine->device().id.c_str());
  return 0;
}
