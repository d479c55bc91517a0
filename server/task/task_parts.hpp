// The parts of a task that are compiled by themselves: names to indices, lists of numbers to one each.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.hpp"

#include "server/task/patterns.hpp"
#include "server/task/task.hpp"

namespace axion::server::task {

inline constexpr int kMaxTerms = 256;      // of each list of a task
inline constexpr int kMaxDraws = 32;       // terms: each is tried when a batch is made
inline constexpr int kMaxFactors = 16;     // of a term of the reward
inline constexpr int kMaxNumbers = 65536;  // of an observation, of what a world carries, and of what is read for a step
inline constexpr double kMaxNumber = 1e12;  // of a scale, weight or range

// Compiles quantities for a task, whose `fields` and `reads_contacts` grow by what they read.
class PartCompiler {
 public:
  PartCompiler(const ModelInfo& info, Task& task) : info_(info), task_(task) {}

  // `path` is the quantity's, for errors.
  Result<Quantity> quantity(const std::string& path, const QuantitySpec& spec);
  Result<int> body(const std::string& path, const std::string& name) const;
  Result<int> keyframe(const std::string& path, const std::string& name) const;  // -1 for no name
  Result<std::vector<int>> actuators(const std::string& path, const std::vector<std::string>& names);
  // The actuators that act on these joints or axes alone.
  Result<std::vector<int>> actuators_of(const std::string& path, const std::vector<std::string>& joints);
  // Joints and axes by name and pattern, each once.
  Result<std::vector<Coordinates>> joints(const std::string& path, const std::vector<std::string>& names);
  Result<StartTerm> start(const std::string& path, const StartSpec& spec);
  Result<CommandTerm> command(const std::string& path, const CommandSpec& spec) const;
  Result<PushTerm> push(const std::string& path, const PushSpec& spec);
  Result<DrawTerm> draw(const std::string& path, const DrawSpec& spec);
  Result<PhaseTerm> phase(const std::string& path, const PhaseSpec& spec) const;
  Result<CurriculumTerm> curriculum(const std::string& path, const CurriculumSpec& spec) const;
  // Indices into Robot::bodies of names and patterns.
  Result<std::vector<int>> bodies(const std::string& path, const std::vector<std::string>& given);

 private:
  Status resolve(const std::string& path, const QuantitySpec& spec, Quantity& out);
  Status resolve_body(const std::string& path, const QuantitySpec& spec, Quantity& out, int size);
  Status resolve_sensor(const std::string& path, const QuantitySpec& spec, Quantity& out);
  Status resolve_tracked(const std::string& path, const QuantitySpec& spec, Quantity& out);
  Status resolve_joints(const std::string& path, const QuantitySpec& spec, Quantity& out);
  int read(Field field);  // returns its numbers

  const ModelInfo& info_;
  Task& task_;
  NameFinder names_;
  std::int64_t read_ = 0;  // numbers of all quantities: the device waits while they are read
};

// A piece [start, start + count) of `whole` numbers; count 0 is the rest.
Status take_piece(const std::string& path, int start, int count, int whole, int& size);
// What the i-th number of a list is called.
std::string element(const std::string& path, const char* list, std::size_t i);
// What follows from the actuators, scales and ranges of a task's action.
Status compile_action(const ActionSpec& spec, const ModelInfo& info, PartCompiler& parts, ActionTerm& out);
// Controls of a keyframe. One without controls is held by its position drives: each at the length that its joint or
// tendon has there, times its gear, before its scaling of the control; other actuators rest,
// and those on tendons through space.
std::vector<double> controls_of(const ModelInfo& info, const model::KeyframeSpec& keyframe);

// None, one for all, or one for each of `size`; all finite.
Result<std::vector<double>> spread(const std::string& path, const std::vector<double>& values, int size, double absent,
                                   bool infinite = false);
// From 0 to 1000 steps of the task; `most` 0 stands for as many as `delay`.
Status check_delay(const std::string& path, int delay, int most);
Status check_number(const std::string& path, double value, double least, double greatest = kMaxNumber);
// Not a number is refused, and a lower bound that is not below the upper one.
Status check_bounds(const std::string& path, double lower, double upper);
std::string shown(const std::string& name);
// `unknown body "torsso", the model has a, b, c`
std::string unknown(const std::string& what, const std::string& name, const std::vector<std::string>& known);
std::string to_text(double value);

}  // namespace axion::server::task
