// The worlds that a derivative steps beside a batch: float64, of the same model and options, solved tightly.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "engine/backend/linearise_checks.hpp"

namespace axion::backend {

// Of an input of laws.
struct Bounds {
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
  // Of a value within, moved: not beyond. One that is beyond is moved as if there were none: nothing comes of it.
  double move(double value, double by) const {
    const double moved = value + by;
    if (value <= upper && moved > upper) return upper;
    return value >= lower && moved < lower ? lower : moved;
  }
  bool hold(double value) const { return value < lower || value > upper || lower == upper; }
};

// Of a step or of its start.
struct State {
  std::vector<double> position, velocity, activation;
};

// What some of the own worlds come from, or have come to, one row after the other.
struct Rows {
  std::vector<double> position, velocity, activation, control, sensors;
  std::vector<double> wrench;                    // empty: none
  std::vector<double> body_pose, body_velocity;  // where they are wanted
  std::vector<std::uint32_t> outcome;
  std::vector<std::uint64_t> active_set;
  std::size_t count() const { return outcome.size(); }
};

inline std::vector<double> row_of(const std::vector<double>& rows, std::size_t row, std::size_t size) {
  return {rows.begin() + row * size, rows.begin() + (row + 1) * size};
}

// The outcome of several steps.
inline std::uint32_t join_outcomes(std::uint32_t a, std::uint32_t b) {
  return ((a | b) & ~std::uint32_t{kConverged}) | (a & b & kConverged);
}

class OwnWorlds {
 public:
  // RESOURCE_EXHAUSTED where `count` worlds do not fit.
  static Result<std::unique_ptr<OwnWorlds>> make(Engine& engine, const EngineBatch& batch, int count);

  EngineBatch& batch() const { return *batch_; }
  // The first worlds have these states, and nothing else of before.
  Status set(const Rows& rows, double time, const std::vector<double>& mocaps);
  // Steps the worlds of rows that they have, which become what they lead to. body_pose and body_velocity if `bodies`.
  Status step(Rows& rows, bool senses, bool bodies = false);

 private:
  OwnWorlds(Engine& engine, std::unique_ptr<EngineBatch> batch, const LinearisationSizes& sizes)
      : engine_(engine), batch_(std::move(batch)), sizes_(sizes) {}

  Engine& engine_;
  std::unique_ptr<EngineBatch> batch_;
  const LinearisationSizes sizes_;
};

}  // namespace axion::backend
