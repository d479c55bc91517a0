// What the programs that step the engine in process have in common: a model from a file, a batch as the command line
// asks, its controls. What the engine refuses ends the program with exit code 1 and a line that says what and why.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "tests/bench/bench_options.hpp"

namespace axion::bench {

[[noreturn]] void fail(const std::string& what, const Error& error);

template <typename T>
T take(const std::string& what, Result<T> result) {
  if (!result.ok()) fail(what, result.error());
  return std::move(result).value();
}

// The batch that the options ask for, with the model of --model.
BatchSpec make_spec(const BenchOptions& options);

// Made and put at its keyframe.
std::unique_ptr<Batch> make_batch(Engine& engine, const BatchSpec& spec, const BenchOptions& options);

// Motors move around zero, drives around where their joint starts.
std::vector<ControlRange> control_ranges(const ModelInfo& model, const BenchOptions& options);

// Controls [worlds, step_count, nu] of the steps from `first_step` on.
std::vector<float> draw_controls(const BenchOptions& options, const std::vector<ControlRange>& ranges, int first_step,
                                 int step_count);

// `step_count` steps of all worlds of the batch under controls that draw_controls gave, which the request refers to.
StepRequest step_request(Batch& batch, const std::vector<ControlRange>& ranges, const std::vector<float>& control,
                         int step_count);

}  // namespace axion::bench
