// The command line of axion-bench, and the JSON line that it prints. mujoco_bench.py has both for MuJoCo, in Python.
//
// Parsed by hand, without a flags library, so that the benchmark builds where only a compiler is. A flag that is
// unknown, lacks its value or has one out of range ends the program with exit code 2 and a line that names it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace axion::bench {

struct BenchOptions {
  std::string model;  // path of an MJCF file
  int worlds = 256;
  int steps = 1000;              // timed steps of each world
  int warmup_steps = 50;         // steps of each world before the clock starts
  int steps_per_launch = 50;     // k: steps that one request asks for
  double dt = 0;                 // s; 0: the model's own
  std::string device = "auto";   // "auto", "cpu", "cuda:0"
  int threads = 0;               // 0: as many as it may run on
  std::string instruction_set;   // empty: the widest that the machine has
  int block_threads = 0;         // GPU: threads of a world; 0: the engine's choice
  std::int64_t near_bytes = -1;  // GPU: of a world's scratch in shared memory; -1: the engine's choice
  std::string precision = "float32";
  std::string preset = "default";
  int keyframe = -1;              // -1: the model's initial state
  double control_fraction = 0.1;  // controls are drawn from this part of their range
  double control_centre;          // of every control; NaN: zero for motors, where their joint starts for drives
  int control_hold = 1;           // steps for which a drawn control stays
  std::string watch;              // a body whose motion is reported; empty: none
  std::uint64_t seed = 1;
  bool json = false;    // one JSON object a line; else lines for people
  bool memory = false;  // where the bytes of a world are, in place of steps; axion-bench alone
  BenchOptions();
};

// Parses or ends the program. `program` is what --help calls it.
BenchOptions parse_options(int argc, char** argv, const char* program);

// What one run measured. Fields that a program does not know stay NaN and are printed as null.
struct BenchReport {
  std::string engine;  // "axion"
  std::string model;   // file name
  std::string device;  // "cpu", "cuda:0"
  std::string device_name;
  int worlds = 0;
  int steps = 0;
  int threads = 0;              // 0 on a GPU
  int block_threads = 0;        // of a world on a GPU; 0 on a CPU
  std::int64_t near_bytes = 0;  // of a world in shared memory, likewise
  double dt = 0;
  std::string precision;
  double wall_seconds = 0;  // of the timed steps alone
  double newton_iterations_mean, newton_iterations_p99;
  double linear_iterations_mean;
  double sweep_rounds_mean, contact_sweeps_mean;
  double contacts_mean;
  double converged_fraction;  // of world-steps
  double non_finite_fraction;
  double max_penetration_m;
  double max_joint_error_m;
  double memory_bytes;                                       // of the batch on its device
  double bodies, shapes, joint_rows, axis_rows, limit_rows;  // of a world: counts of the model
  // Of the watched body's origin after each timed step, over all worlds.
  double watched_height_min_m, watched_height_max_m;
  double watched_tilt_max_rad;  // of its z axis from the world's
  double watched_x_end_min_m;   // least of the worlds after the last step
  double watched_height_end_min_m;
  double watched_speed_max_m_s;  // greatest change of position a time in all steps but the first
  double watched_speed_end_m_s;  // and in the last tenth of them
  BenchReport();
};

// Gathers what a report says of the watched body.
class Watch {
 public:
  Watch(int step_count, double dt) : step_count_(step_count), dt_(dt) {}
  // Pose x y z (m), quaternion w x y z, of one world after timed step `step`, from 0. Steps of a world come in order.
  void see(int world, int step, const std::array<double, 7>& pose);
  void report(BenchReport& report) const;

 private:
  const int step_count_;
  const double dt_;
  std::vector<std::array<double, 7>> last_;  // [world]
  double height_min_ = 0, height_max_ = 0, tilt_max_ = 0, speed_max_ = 0, speed_end_ = 0;
  bool seen_ = false, finite_ = true;
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
