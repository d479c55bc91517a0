// The trajectory that derivatives of steps are taken along (engine.hpp, linearise and step_gradient): steps of worlds
// of their own, each from a reset and the whole state that the step before left; and what is a little beside a step,
// for differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "engine/backend/exact_step.hpp"
#include "engine/backend/own_worlds.hpp"

namespace axion::backend {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Of what steps; what the views refer to outlives the trajectory.
struct TrajectorySpec {
  std::vector<std::int32_t> worlds;  // empty: all, in order
  StateUpdate start;
  InputView control;  // [n, k, nu] or absent
  InputView wrench;   // [n, nb, 6] or absent
};

class Trajectory {
 public:
  Trajectory(const EngineBatch& batch, TrajectorySpec spec);
  // Worlds to step, `count` of them.
  Status make_worlds(Engine& engine, int count);
  std::int64_t memory_bytes() const;

  OwnWorlds& own() { return *own_; }
  ExactStep& exact() { return *exact_; }
  const std::vector<std::int32_t>& worlds() const { return spec_.worlds; }
  // The numbers of the world in place of the model's; none: the model's. And its scales, one after the other.
  const std::vector<double>& numbers() const { return numbers_; }
  const std::vector<double>& scales() const { return scales_; }
  Status give_numbers_and_scales();

  // The state before step `step` of row `row`, from the world's start where it is the first; and a state that was there
  // before.
  Status begin_step(std::size_t row, std::size_t step);
  void return_to(std::size_t row, std::size_t step, const State& state, double time);
  // Makes the step. `rows` is what it comes to.
  Status make_step(Rows& rows, bool senses, bool bodies = false);

  const State& now() const { return now_; }
  const State& after() const { return after_; }
  const std::vector<double>& control() const { return control_; }
  double time() const { return time_; }
  bool is_frozen() const { return is_frozen_; }
  std::uint32_t outcome() const { return outcome_; }  // of the step
  std::uint64_t active_set() const { return active_set_; }

  // Copies of the state that the step begins with.
  Rows rows_of_state(std::size_t count) const;
  Status set_rows(const Rows& rows) { return own_->set(rows, time_, mocaps_); }
  // Moves coordinate or control c of a row.
  void move(std::size_t c, Rows& rows, std::size_t row, double by) const;
  // How far apart coordinate or control c is in a row and the next; and all coordinates of position.
  double distance(std::size_t c, const Rows& rows, std::size_t row) const;
  std::vector<double> position_change(const Rows& rows, std::size_t row) const;
  // Whether its bounds hold activation or control c at the step, so that nothing comes of it.
  bool is_held(std::size_t c) const;
  // Likewise of a row.
  bool is_held(std::size_t c, const Rows& rows, std::size_t row) const {
    return bounds_of(c).hold(input(c, rows, row));
  }

 private:
  void find_bounds();
  Status begin_world(std::size_t row);
  Status apply_start(std::size_t row);
  void take_control(std::size_t row, std::size_t step);
  double input(std::size_t c, const Rows& rows, std::size_t row) const;
  const Bounds& bounds_of(std::size_t c) const {
    return input_bounds_[c < sizes_.x() ? sizes_.nu + c - 2 * sizes_.nv : c - sizes_.x()];
  }
  const UserArrays<double>& user() const { return own_->batch().model().user<double>(); }

  const EngineBatch& batch_;
  TrajectorySpec spec_;
  const LinearisationSizes sizes_;
  std::vector<Bounds> input_bounds_;  // of controls, then of activations
  std::unique_ptr<OwnWorlds> own_;
  std::unique_ptr<ExactStep> exact_;
  std::vector<double> numbers_, scales_;

  // Of the world under way.
  std::vector<double> last_control_, mocaps_, wrench_;
  bool is_frozen_ = false;
  // Of its step.
  double time_ = 0;
  State now_, after_;
  std::vector<double> control_;
  std::uint64_t active_set_ = 0;
  std::uint32_t outcome_ = 0;
};

}  // namespace axion::backend
