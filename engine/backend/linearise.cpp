// Linearisations (engine.hpp, linearise): of a step whose laws all have one the exact derivative (exact_step.hpp), of
// others central differences.
//
//   A_k = (x⁺(x + d e_k) − x⁺(x − d e_k)) / 2d,   likewise B, C, D
//
// of steps of worlds of their own: a batch of the same model and options in float64, whose steps are solved to a
// tolerance of 1e-11, so that a difference is wrong by rounding and by its own curvature alone, d² / 6 of the third
// derivative. Where x or u is at a bound that holds it, the difference is taken to the side within. Each side is
// stepped from a reset and the whole state x, so that a difference depends on x and u alone: on no division into
// launches, and on nothing that the step before has left. The trajectory is stepped likewise, so that the chain rule
// holds along it.
//
// A launch takes as many of the own worlds as threads step at once. Items are launches: of each world and step first
// one for the trajectory, with the exact derivative, then as many as the differences take, which do nothing where there
// is one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "engine/backend/checks.hpp"
#include "engine/backend/engine_batch.hpp"
#include "engine/backend/exact_step.hpp"
#include "engine/backend/linearise_checks.hpp"
#include "engine/backend/own_worlds.hpp"

namespace axion::backend {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class Differences final : public Linearisation {
 public:
  Differences(Engine& engine, const EngineBatch& batch, LinearisationSpec spec, const LinearisationOutput& out)
      : engine_(engine),
        batch_(batch),
        spec_(std::move(spec)),
        out_(out),
        sizes_(linearisation_sizes(batch.model().info())),
        steps_(at(spec_.step_count)) {
    if (spec_.worlds.empty()) {
      spec_.worlds.resize(at(batch.spec().world_count));
      std::iota(spec_.worlds.begin(), spec_.worlds.end(), 0);
    }
    columns_at_once_ = columns_of_launch(engine.device(), sizes_);
    items_of_step_ = items_of_step(columns_at_once_, sizes_);
    find_bounds();
  }

  Status prepare() {
    if (Status s = check_linearisation(batch_, spec_, out_); !s.ok()) return s;
    auto made = OwnWorlds::make(engine_, batch_, static_cast<int>(2 * columns_at_once_));
    if (!made.ok()) return made.error();
    own_ = std::move(made).value();
    exact_ = std::make_unique<ExactStep>(own_->batch());
    return {};
  }

  std::int64_t memory_bytes() const override {
    return own_->batch().memory_bound() + ExactStep::memory_bytes(own_->batch());
  }

  Status run(std::size_t first, std::size_t last) override {
    for (std::size_t item = first; item < last; ++item) {
      const std::size_t launch = item % items_of_step_;
      row_ = item / items_of_step_ / steps_, step_ = item / items_of_step_ % steps_;
      const std::size_t column = launch == 0 ? 0 : (launch - 1) * columns_at_once_;
      const std::size_t end = std::min(column + columns_at_once_, sizes_.columns());
      const Status status = launch == 0 ? go_on() : is_exact_ ? go_on_exactly(column, end) : differentiate(column, end);
      if (!status.ok()) return status;
    }
    return {};
  }

 private:
  // Of controls and activations, which laws hold within them.
  void find_bounds() {
    const model::ModelArrays<double>& m = batch_.model().compiled().arrays;
    input_bounds_.resize(sizes_.nu + sizes_.na);
    const auto narrow = [&](int input, double lower, double upper) {
      Bounds& bounds = input_bounds_[at(input)];
      bounds.lower = std::max(bounds.lower, lower), bounds.upper = std::min(bounds.upper, upper);
    };
    for (const auto& actuator : m.actuators) narrow(actuator.input, actuator.lower, actuator.upper);
    for (std::size_t i = 0; i < m.activations.size(); ++i) {
      narrow(m.activations[i].control, m.activations[i].lower, m.activations[i].upper);
      narrow(static_cast<int>(sizes_.nu + i), m.activations[i].least, m.activations[i].most);
    }
  }

  std::size_t step_at() const { return row_ * steps_ + step_; }

  // The next step of the trajectory, from a world's start where it is its first.
  Status go_on() {
    if (step_ > 0) {
      time_ += batch_.spec().dt;
    } else if (Status s = begin_world(); !s.ok()) {
      return s;
    }
    control_ = std::vector<double>(sizes_.nu);
    for (std::size_t i = 0; i < sizes_.nu; ++i) {
      control_[i] = spec_.control.data == nullptr ? last_control_[i]
                                                  : read_input(spec_.control, static_cast<int>(row_),
                                                               static_cast<int>(step_), static_cast<int>(i));
    }
    now_ = after_;
    keep_state(now_, step_);
    Rows rows = rows_of_state(1);
    if (Status s = set_rows(rows); !s.ok()) return s;
    if (Status s = exact_->keep_before(); !s.ok()) return s;
    if (Status s = own_->step(rows, senses()); !s.ok()) return s;
    if (const auto to = part(out_.sensor_data, sizes_.ny); !to.empty()) {
      std::copy(rows.sensors.begin(), rows.sensors.end(), to.begin());
      if (is_frozen_) std::fill(to.begin(), to.end(), kNaN);
    }
    active_set_ = rows.active_set[0];
    outcome_ = is_frozen_ ? std::uint32_t{kNonFinite} : rows.outcome[0];
    is_frozen_ = (outcome_ & kNonFinite) != 0;  // and stays where it is, through the steps that are left
    if (!is_frozen_) after_ = {rows.position, rows.velocity, rows.activation};
    if (step_ + 1 == steps_) keep_state(after_, steps_);
    if (!out_.outcome.empty()) out_.outcome[step_at()] = outcome_;
    return begin_exactly();
  }

  // The first columns of the matrices from the step itself, where that is asked for and its laws allow it.
  Status begin_exactly() {
    LawWithoutDerivative law = LawWithoutDerivative::kNone;
    is_exact_ = spec_.method == LinearisationMethod::kExact;
    if (is_exact_) {
      if (Status s = exact_->keep_after(); !s.ok()) return s;
      law = is_frozen_ ? LawWithoutDerivative::kRemedy : exact_->law_of_step();
      if (law == LawWithoutDerivative::kNone && sizes_.columns() > 0) law = find_exactly(0);
      is_exact_ = law == LawWithoutDerivative::kNone;
    }
    note_method(law);
    return {};
  }

  // The exact columns that begin within [first, last). A law that turns out to have no derivative has all columns up to
  // there taken by differences.
  Status go_on_exactly(std::size_t first, std::size_t last) {
    const std::size_t width = ExactStep::kColumns;
    for (std::size_t c = (first + width - 1) / width * width; c < last; c += width) {
      if (c == 0) continue;  // there with the step
      const LawWithoutDerivative law = find_exactly(c);
      if (law == LawWithoutDerivative::kNone) continue;
      is_exact_ = false;
      note_method(law);
      for (std::size_t start = 0; start < last; start += columns_at_once_) {
        if (Status s = differentiate(start, std::min(start + columns_at_once_, last)); !s.ok()) return s;
      }
      return {};
    }
    return {};
  }

  LawWithoutDerivative find_exactly(std::size_t first) {
    const std::size_t x = sizes_.x();
    StepMatrices matrices{part(out_.A, x * x),
                          part(out_.B, x * sizes_.nu),
                          part(out_.C, sizes_.ny * x),
                          part(out_.D, sizes_.ny * sizes_.nu),
                          {}};
    if (!out_.kink.empty()) matrices.kink = out_.kink.subspan(step_at() * sizes_.columns(), sizes_.columns());
    const LawWithoutDerivative law = exact_->find_columns(first, spec_.difference, matrices);
    clear_held_columns(first, std::min(first + ExactStep::kColumns, sizes_.columns()));
    return law;
  }

  void note_method(LawWithoutDerivative law) {
    if (!out_.law.empty()) out_.law[step_at()] = law;
    if (!out_.method.empty()) {
      out_.method[step_at()] = is_exact_ ? LinearisationMethod::kExact : LinearisationMethod::kDifferences;
    }
  }

  // Nothing comes of inputs that their bounds hold.
  void clear_held_columns(std::size_t first, std::size_t last) const {
    const std::size_t x = sizes_.x();
    for (std::size_t c = std::max(first, 2 * sizes_.nv); c < last; ++c) {
      const bool of_state = c < x;
      if (!bounds_of(c).hold(of_state ? now_.activation[c - 2 * sizes_.nv] : control_[c - x])) continue;
      const std::size_t width = of_state ? x : sizes_.nu, column = of_state ? c : c - x;
      for (const auto& [all, rows] :
           {std::pair(of_state ? out_.A : out_.B, x), std::pair(of_state ? out_.C : out_.D, sizes_.ny)}) {
        const std::span<double> matrix = part(all, rows * width);
        for (std::size_t i = 0; i < (matrix.empty() ? 0 : rows); ++i) matrix[i * width + column] = 0;
      }
    }
  }

  // The own worlds take the numbers of the world, and the trajectory begins with its state.
  Status begin_world() {
    const int world = spec_.worlds[row_];
    if (std::vector<double> numbers = batch_.own_numbers(world); numbers != numbers_) {
      if (Status s = own_->batch().give_numbers(numbers); !s.ok()) return s;
      exact_->take_numbers();
      numbers_ = std::move(numbers);
    }
    auto scales = batch_.read_scales(world);
    if (!scales.ok()) return scales.error();
    if (Status s = own_->batch().write_scales(scales.value()); !s.ok()) return s;
    State state;
    for (const auto& [field, to] :
         {std::pair(Field::kJointPosition, &state.position), std::pair(Field::kJointVelocity, &state.velocity),
          std::pair(Field::kActivation, &state.activation), std::pair(Field::kControl, &last_control_),
          std::pair(Field::kMocapPose, &mocaps_)}) {
      auto values = batch_.read_doubles(field, world);
      if (!values.ok()) return values.error();
      *to = std::move(values).value();
    }
    std::uint32_t outcome = 0;
    const std::int32_t index = world;
    const OutputView views[] = {{Field::kTime, reinterpret_cast<std::byte*>(&time_), sizeof(time_), 0},
                                {Field::kOutcome, reinterpret_cast<std::byte*>(&outcome), sizeof(outcome), 0}};
    if (Status s = batch_.get({&index, 1}, views); !s.ok()) return s;
    is_frozen_ = (outcome & kNonFinite) != 0;
    after_ = std::move(state);
    return apply_start();
  }

  // What the request sets of the start, by one of the own worlds.
  Status apply_start() {
    now_ = after_;
    Rows rows = rows_of_state(1);
    if (Status s = set_rows(rows); !s.ok()) return s;
    StateUpdate update = spec_.start;
    for (InputView* view : {&update.body_pose, &update.body_velocity, &update.joint_position, &update.joint_velocity,
                            &update.time, &update.activation, &update.mocap_pose}) {
      if (view->data != nullptr) view->data += row_ * view->world_stride;
    }
    const std::int32_t first = 0;
    if (Status s = own_->batch().set_state({&first, 1}, update); !s.ok()) return s;
    for (const auto& [field, to] :
         {std::pair(Field::kJointPosition, &after_.position), std::pair(Field::kJointVelocity, &after_.velocity),
          std::pair(Field::kActivation, &after_.activation), std::pair(Field::kMocapPose, &mocaps_)}) {
      auto values = own_->batch().read_doubles(field, 0);
      if (!values.ok()) return values.error();
      *to = std::move(values).value();
    }
    const OutputView time{Field::kTime, reinterpret_cast<std::byte*>(&time_), sizeof(time_), 0};
    return own_->batch().get({&first, 1}, {&time, 1});
  }

  // Columns [first, last) of A and B, C and D.
  Status differentiate(std::size_t first, std::size_t last) {
    Rows rows = rows_of_state(2 * (last - first));
    for (std::size_t c = first; c < last; ++c) {
      move(c, rows, 2 * (c - first), spec_.difference);
      move(c, rows, 2 * (c - first) + 1, -spec_.difference);
    }
    const Rows from = rows;
    if (Status s = step_rows(rows); !s.ok()) return s;
    for (std::size_t c = first; c < last; ++c) put_column(c, from, rows, 2 * (c - first));
    return {};
  }

  // Copies of the state that the step begins with.
  Rows rows_of_state(std::size_t count) const {
    Rows rows;
    const auto repeat = [count](const std::vector<double>& one, std::vector<double>& all) {
      for (std::size_t i = 0; i < count; ++i) all.insert(all.end(), one.begin(), one.end());
    };
    repeat(now_.position, rows.position), repeat(now_.velocity, rows.velocity);
    repeat(now_.activation, rows.activation), repeat(control_, rows.control);
    rows.outcome.resize(count);
    return rows;
  }

  // Moves coordinate or control c of a row.
  void move(std::size_t c, Rows& rows, std::size_t row, double by) const {
    const auto& [nq, nv, na, nu, ny, mocaps] = sizes_;
    if (c < nv) {
      std::vector<double> change(nv);
      change[c] = by;
      const std::vector<double> moved = displaced(own_->batch().common_model(), user(), now_.position, change);
      std::copy(moved.begin(), moved.end(), rows.position.begin() + row * nq);
    } else if (c < 2 * nv) {
      rows.velocity[row * nv + c - nv] += by;
    } else if (c < 2 * nv + na) {
      rows.activation[row * na + c - 2 * nv] = bounds_of(c).move(input(c, rows, row), by);
    } else {
      rows.control[row * nu + c - sizes_.x()] = bounds_of(c).move(input(c, rows, row), by);
    }
  }

  // Activation or control c of a row, and its bounds.
  double input(std::size_t c, const Rows& rows, std::size_t row) const {
    return c < sizes_.x() ? rows.activation[row * sizes_.na + c - 2 * sizes_.nv]
                          : rows.control[row * sizes_.nu + c - sizes_.x()];
  }
  const Bounds& bounds_of(std::size_t c) const {
    return input_bounds_[c < sizes_.x() ? sizes_.nu + c - 2 * sizes_.nv : c - sizes_.x()];
  }

  // How far apart coordinate or control c is in a row and the next.
  double distance(std::size_t c, const Rows& rows, std::size_t row) const {
    const auto& [nq, nv, na, nu, ny, mocaps] = sizes_;
    const auto between = [row](const std::vector<double>& all, std::size_t size, std::size_t i) {
      return all[row * size + i] - all[(row + 1) * size + i];
    };
    if (c < nv) return position_change(rows, row)[c];
    if (c < 2 * nv) return between(rows.velocity, nv, c - nv);
    if (c < 2 * nv + na) return between(rows.activation, na, c - 2 * nv);
    return between(rows.control, nu, c - sizes_.x());
  }

  // From the row after it.
  std::vector<double> position_change(const Rows& rows, std::size_t row) const {
    return displacement(own_->batch().common_model(), user(), row_of(rows.position, row + 1, sizes_.nq),
                        row_of(rows.position, row, sizes_.nq));
  }

  // Column c, whose two sides are this row and the next.
  void put_column(std::size_t c, const Rows& from, const Rows& to, std::size_t row) {
    const std::size_t nv = sizes_.nv, x = sizes_.x();
    const double apart = distance(c, from, row);
    const std::uint32_t outcome = join_outcomes(to.outcome[row], to.outcome[row + 1]);
    const bool is_finite = ((outcome | outcome_) & kNonFinite) == 0;
    // Of an input that its bounds hold nothing comes; else the difference is less than the coordinate's last bit.
    const double unmoved = c >= 2 * sizes_.nv && bounds_of(c).hold(input(c, from, row)) ? 0 : kNaN;
    const auto rate = [&](double change) {
      if (!is_finite) return kNaN;
      return apart == 0 ? unmoved : change / apart;
    };
    const auto between = [row](const std::vector<double>& all, std::size_t size, std::size_t i) {
      return all[row * size + i] - all[(row + 1) * size + i];
    };
    const bool of_state = c < x;
    const std::size_t width = of_state ? x : sizes_.nu, column = of_state ? c : c - x;
    const std::span<double> matrix = part(of_state ? out_.A : out_.B, x * width);
    if (!matrix.empty()) {
      const std::vector<double> moved = position_change(to, row);
      for (std::size_t i = 0; i < nv; ++i) {
        matrix[i * width + column] = rate(moved[i]);
        matrix[(nv + i) * width + column] = rate(between(to.velocity, nv, i));
      }
      for (std::size_t i = 0; i < sizes_.na; ++i) {
        matrix[(2 * nv + i) * width + column] = rate(between(to.activation, sizes_.na, i));
      }
    }
    const std::span<double> sensed = part(of_state ? out_.C : out_.D, sizes_.ny * width);
    for (std::size_t i = 0; i < (sensed.empty() ? 0 : sizes_.ny); ++i) {
      sensed[i * width + column] = rate(between(to.sensors, sizes_.ny, i));
    }
    if (!out_.outcome.empty()) out_.outcome[step_at()] = join_outcomes(out_.outcome[step_at()], outcome);
    if (!out_.kink.empty()) {
      const bool differs = to.active_set[row] != active_set_ || to.active_set[row + 1] != active_set_;
      out_.kink[step_at() * sizes_.columns() + c] = differs ? 1 : 0;
    }
  }

  // The first of the own worlds have these states, and nothing else of before.
  Status set_rows(const Rows& rows) { return own_->set(rows, time_, mocaps_); }

  // Makes the step of each row, which becomes what it leads to.
  Status step_rows(Rows& rows) {
    if (Status s = set_rows(rows); !s.ok()) return s;
    return own_->step(rows, senses());
  }
  bool senses() const { return !out_.C.empty() || !out_.D.empty() || !out_.sensor_data.empty(); }

  void keep_state(const State& state, std::size_t step) {
    const std::size_t place = row_ * (steps_ + 1) + step;
    for (const auto& [from, to] :
         {std::pair(&state.position, &out_.joint_position), std::pair(&state.velocity, &out_.joint_velocity),
          std::pair(&state.activation, &out_.activation)}) {
      if (!to->empty()) std::copy(from->begin(), from->end(), to->begin() + place * from->size());
    }
  }

  // The `size` numbers that an output has for this step; none where it is not wanted.
  std::span<double> part(std::span<double> all, std::size_t size) const {
    return all.empty() ? all : all.subspan(step_at() * size, size);
  }

  const UserArrays<double>& user() const { return own_->batch().model().user<double>(); }

  Engine& engine_;
  const EngineBatch& batch_;
  LinearisationSpec spec_;
  const LinearisationOutput out_;
  const LinearisationSizes sizes_;
  const std::size_t steps_;
  std::size_t columns_at_once_ = 1, items_of_step_ = 2;
  std::vector<Bounds> input_bounds_;  // of controls, then of activations
  std::unique_ptr<OwnWorlds> own_;
  std::unique_ptr<ExactStep> exact_;
  std::vector<double> numbers_;  // that its worlds have in place of the model's; none: the model's

  // Of the item under way.
  std::size_t row_ = 0, step_ = 0;
  // Of its world.
  std::vector<double> last_control_, mocaps_;
  bool is_frozen_ = false;
  // Of its step.
  double time_ = 0;
  State now_, after_;
  std::vector<double> control_;
  bool is_exact_ = false;  // whether its matrices are there
  std::uint64_t active_set_ = 0;
  std::uint32_t outcome_ = 0;
};

}  // namespace

}  // namespace axion::backend

namespace axion {

std::size_t linearisation_items(const DeviceInfo& device, const ModelInfo& info, std::size_t worlds,
                                std::size_t steps) {
  const backend::LinearisationSizes sizes = backend::linearisation_sizes(info);
  return worlds * steps * backend::items_of_step(backend::columns_of_launch(device, sizes), sizes);
}

Result<std::unique_ptr<Linearisation>> linearise(Engine& engine, const Batch& batch, const LinearisationSpec& spec,
                                                 const LinearisationOutput& output) {
  const auto* known = dynamic_cast<const backend::EngineBatch*>(&batch);
  if (known == nullptr) return invalid_argument("batch", "The batch is none of an engine's.");
  auto made = std::make_unique<backend::Differences>(engine, *known, spec, output);
  if (Status s = made->prepare(); !s.ok()) return s.error();
  return std::unique_ptr<Linearisation>(std::move(made));
}

}  // namespace axion
