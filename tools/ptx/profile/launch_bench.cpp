// axion-launch-bench: what the host adds to a launch of many worlds on a GPU: its checks, the packing of controls, the
// call and the unpacking of poses. On any machine: the device is the emulated one, and its kernel does nothing but hand
// every row over.
//
//   axion-launch-bench --model FILE [--worlds 8192] [--steps_per_launch 50] [--steps 500] [--threads 0] [flags of
//   axion-bench]
//
// Prints the least and the middle time of a launch in milliseconds. Controls are float32, new at every step; every
// body's pose comes back once. The worlds' own steps are not in it, so that its figure is the host's share of a launch,
// all of it: on a device, unpacking runs beside the kernel.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tests/bench/bench_engine.hpp"
#include "tools/ptx/profile/null_device.hpp"

using axion::bench::take;

namespace {

template <typename Real>
int run(const axion::bench::BenchOptions& options) {
  const axion::ptx::NullDevice<Real> null_device;
  const auto engine = take("engine", axion::create_engine({.device = "cuda:0",
                                                           .threads = options.threads,
                                                           .memory_limit_bytes = 0,
                                                           .instruction_set = "",
                                                           .block_threads = 0,
                                                           .near_bytes = -1}));
  const axion::BatchSpec spec = axion::bench::make_spec(options);
  const auto batch = take("create_batch", engine->create_batch(spec));
  const auto ranges = axion::bench::control_ranges(spec.model->info(), options);
  const int steps = options.steps_per_launch;
  const std::vector<float> control = axion::bench::draw_controls(options, ranges, 0, steps);
  const std::size_t pose = 7 * spec.model->info().bodies.size() * axion::size_of(batch->real_dtype());
  std::vector<std::byte> poses(pose * options.worlds);
  const axion::OutputView out{axion::Field::kBodyPose, poses.data(), pose, pose};
  axion::StepRequest request = axion::bench::step_request(*batch, ranges, control, steps);
  request.outputs = {&out, 1};
  std::vector<double> milliseconds;
  for (int done = 0; done < std::max(options.steps, 3 * steps); done += steps) {
    const auto start = std::chrono::steady_clock::now();
    take("step", engine->step({&request, 1}));
    milliseconds.push_back(1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(milliseconds.begin() + 1, milliseconds.end());  // the first gets its memory
  std::printf(
      "%d worlds, %d steps a launch, %.1f MB of controls: %.2f ms a launch at least, %.2f in the middle of %zu\n",
      options.worlds, steps, control.size() * sizeof(float) / 1e6, milliseconds[1],
      milliseconds[1 + (milliseconds.size() - 1) / 2], milliseconds.size() - 1);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const axion::bench::BenchOptions options = axion::bench::parse_options(argc, argv, "axion-launch-bench");
  return options.precision == "float32" ? run<float>(options) : run<double>(options);
}
