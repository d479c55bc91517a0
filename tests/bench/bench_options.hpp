// The command line that axion-bench and mujoco_bench share, and the JSON line that both print.
//
// Parsed by hand, without a flags library, so that the benchmark builds where only a compiler is. A flag that is unknown,
// lacks its value or has one out of range ends the program with exit code 2 and a line that names it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace axion::bench {

struct BenchOptions {
  std::string model;  // path of an MJCF file
  int worlds = 256;
  int steps = 1000;             // timed steps of each world
  int warmup_steps = 50;        // steps of each world before the clock starts
  int steps_per_launch = 50;    // k: steps that one request asks for
  double dt = 0;                // s; 0: the model's own
  std::string device = "auto";  // "auto", "cpu", "cuda:0"; mujoco_bench knows the CPU alone
  int threads = 0;              // 0: as many as the machine has
  std::string instruction_set;  // empty: the widest that the machine has
  std::string precision = "float32";
  std::string preset = "default";
  int keyframe = -1;              // -1: the model's initial state
  double control_fraction = 0.1;  // controls are drawn from this part of their range
  std::uint64_t seed = 1;
  bool json = false;  // one JSON object a line; else lines for people
};

// Parses or ends the program. `program` is what --help calls it.
BenchOptions parse_options(int argc, char** argv, const char* program);

// What one run measured. Fields that a program does not know stay NaN and are printed as null.
struct BenchReport {
  std::string engine;  // "axion" or "mujoco <version>"
  std::string model;   // file name
  std::string device;  // "cpu", "cuda:0"
  std::string device_name;
  int worlds = 0;
  int steps = 0;
  int threads = 0;  // 0 on a GPU
  double dt = 0;
  std::string precision;
  double wall_seconds = 0;  // of the timed steps alone
  double newton_iterations_mean, newton_iterations_p99;
  double linear_iterations_mean;
  double contacts_mean;
  double converged_fraction;  // of world-steps
  double non_finite_fraction;
  double max_penetration_m;
  double max_joint_error_m;
  BenchReport();
};

// Prints the report as one JSON object, or as `name  value` lines.
void print_report(const BenchReport& report, bool json);

// Uniform in [-1, 1), a function of its arguments alone: any world's controls are the same in any batch and program.
double noise(std::uint64_t seed, std::uint64_t world, std::uint64_t step, std::uint64_t actuator);

// A control of the benchmark: `centre` plus noise over a part of the range, kept inside the range.
// Actuators without a range have [-1, 1].
struct ControlRange {
  double centre = 0, lower = -1, upper = 1;
};
double random_control(const BenchOptions& options, const ControlRange& range, int world, int step, int actuator);

}  // namespace axion::bench
