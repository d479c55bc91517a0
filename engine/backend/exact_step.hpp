// The exact derivative of a step of a batch's first world (engine/gradient), whose states before and after it are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/backend/engine_batch.hpp"

namespace axion::backend {

// Where the matrices of one step go, row-major; empty: not wanted.
struct StepMatrices {
  std::span<double> A, B, C, D;
  std::span<std::int32_t> kink;
};

// dL/d(coordinates of the state after a step), and of fields; empty: zero.
struct StepCotangents {
  std::vector<double> state, joint_position, joint_velocity, activation, body_pose, body_velocity, sensor_data;
};

class ExactStep {
 public:
  // Of a batch in float64, all of whose worlds have the same numbers.
  explicit ExactStep(const EngineBatch& batch);
  ~ExactStep();
  ExactStep(const ExactStep&) = delete;
  ExactStep& operator=(const ExactStep&) = delete;

  // What it takes of the host at most.
  static std::int64_t memory_bytes(const EngineBatch& batch);

  // The worlds have been given numbers.
  void take_numbers();
  // The state that the first world has now: it was reset and set, and is about to be stepped; or has been.
  // `wrench` is the body_wrench of the step, or empty.
  Status keep_before(const std::vector<double>& wrench = {});
  Status keep_after();
  // The law for which the step between them has no exact matrices, or kNone as far as the state after it tells.
  LawWithoutDerivative law_of_step();
  // Columns `first` and on, kColumns of them or as many as there are; the first of all come first. The law for which
  // there are none, or kNone: then they are written. Kinks are looked for within `difference`.
  static constexpr std::size_t kColumns = 8;
  LawWithoutDerivative find_columns(std::size_t first, double difference, const StepMatrices& out);

  // What products are taken by besides coordinates and controls, always the same inputs; `numbers` are the values
  // that the worlds were given. Nothing where this was done since.
  Status set_inputs(const std::vector<GradientInput>& inputs, const std::vector<double>& numbers);
  // Products with the cotangents of what the step leaves: of coordinates and controls, then of the inputs, one after
  // the other. law_of_step has found nothing, and set_inputs was called since the worlds were given numbers. `is_idle`
  // are the numbers of inputs whose product it is not: of axes on which nothing acts.
  LawWithoutDerivative find_products(const StepCotangents& of, double difference, std::span<double> out,
                                     std::vector<bool>& is_idle, bool& is_kink);

 private:
  Status keep(std::vector<std::byte>& block);
  void make_derivative();

  struct Derivative;
  const EngineBatch& batch_;
  std::vector<std::byte> before_, after_;
  std::vector<double> rates_, wrench_;
  std::unique_ptr<Derivative> derivative_;
};

}  // namespace axion::backend
