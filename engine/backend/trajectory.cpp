#include "engine/backend/trajectory.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/backend/checks.hpp"
#include "engine/backend/kinematics.hpp"

namespace axion::backend {
namespace {

// Numbers of a row and of the next, apart.
double between(const std::vector<double>& all, std::size_t size, std::size_t row, std::size_t i) {
  return all[row * size + i] - all[(row + 1) * size + i];
}

}  // namespace

Trajectory::Trajectory(const EngineBatch& batch, TrajectorySpec spec)
    : batch_(batch), spec_(std::move(spec)), sizes_(linearisation_sizes(batch.model().info())) {
  if (spec_.worlds.empty()) {
    spec_.worlds.resize(at(batch.spec().world_count));
    std::iota(spec_.worlds.begin(), spec_.worlds.end(), 0);
  }
  find_bounds();
}

Status Trajectory::make_worlds(Engine& engine, int count) {
  auto made = OwnWorlds::make(engine, batch_, count);
  if (!made.ok()) return made.error();
  own_ = std::move(made).value();
  exact_ = std::make_unique<ExactStep>(own_->batch());
  return {};
}

std::int64_t Trajectory::memory_bytes() const {
  return own_->batch().memory_bound() + ExactStep::memory_bytes(own_->batch());
}

// Of controls and activations, which laws hold within them.
void Trajectory::find_bounds() {
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

Status Trajectory::begin_step(std::size_t row, std::size_t step) {
  if (step > 0) {
    time_ += batch_.spec().dt;
  } else if (Status s = begin_world(row); !s.ok()) {
    return s;
  }
  now_ = after_;
  take_control(row, step);
  return {};
}

void Trajectory::return_to(std::size_t row, std::size_t step, const State& state, double time) {
  now_ = state, time_ = time;
  take_control(row, step);
}

void Trajectory::take_control(std::size_t row, std::size_t step) {
  control_ = std::vector<double>(sizes_.nu);
  for (std::size_t i = 0; i < sizes_.nu; ++i) {
    control_[i] = spec_.control.data == nullptr
                      ? last_control_[i]
                      : read_input(spec_.control, static_cast<int>(row), static_cast<int>(step), static_cast<int>(i));
  }
}

Status Trajectory::make_step(Rows& rows, bool senses, bool bodies) {
  rows = rows_of_state(1);
  if (Status s = set_rows(rows); !s.ok()) return s;
  if (Status s = exact_->keep_before(wrench_); !s.ok()) return s;
  if (Status s = own_->step(rows, senses, bodies); !s.ok()) return s;
  active_set_ = rows.active_set[0];
  outcome_ = is_frozen_ ? std::uint32_t{kNonFinite} : rows.outcome[0];
  // What is beyond what can be set has no next step.
  for (const std::vector<double>* numbers : {&rows.position, &rows.velocity, &rows.activation}) {
    for (const double a : *numbers) outcome_ |= std::abs(a) <= kMaxState ? 0u : std::uint32_t{kNonFinite};
  }
  is_frozen_ = (outcome_ & kNonFinite) != 0;  // and stays where it is, through the steps that are left
  if (!is_frozen_) after_ = {rows.position, rows.velocity, rows.activation};
  return {};
}

Status Trajectory::give_numbers_and_scales() {
  if (Status s = own_->batch().give_numbers(numbers_); !s.ok()) return s;
  return own_->batch().write_scales(scales_);
}

// The own worlds take the numbers of the world, and the trajectory begins with its state.
Status Trajectory::begin_world(std::size_t row) {
  const int world = spec_.worlds[row];
  if (std::vector<double> numbers = batch_.own_numbers(world); numbers != numbers_) {
    if (Status s = own_->batch().give_numbers(numbers); !s.ok()) return s;
    exact_->take_numbers();
    numbers_ = std::move(numbers);
  }
  auto scales = batch_.read_scales(world);
  if (!scales.ok()) return scales.error();
  scales_ = std::move(scales).value();
  if (Status s = own_->batch().write_scales(scales_); !s.ok()) return s;
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
  wrench_.resize(spec_.wrench.data == nullptr ? 0 : 6 * batch_.model().info().bodies.size());
  for (std::size_t i = 0; i < wrench_.size(); ++i) {
    wrench_[i] = read_input(spec_.wrench, static_cast<int>(row), 0, static_cast<int>(i));
  }
  after_ = std::move(state);
  return apply_start(row);
}

// What the request sets of the start, by one of the own worlds.
Status Trajectory::apply_start(std::size_t row) {
  now_ = after_;
  Rows rows = rows_of_state(1);
  if (Status s = set_rows(rows); !s.ok()) return s;
  StateUpdate update = spec_.start;
  for (InputView* view : {&update.body_pose, &update.body_velocity, &update.joint_position, &update.joint_velocity,
                          &update.time, &update.activation, &update.mocap_pose}) {
    if (view->data != nullptr) view->data += row * view->world_stride;
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

Rows Trajectory::rows_of_state(std::size_t count) const {
  Rows rows;
  const auto repeat = [count](const std::vector<double>& one, std::vector<double>& all) {
    for (std::size_t i = 0; i < count; ++i) all.insert(all.end(), one.begin(), one.end());
  };
  repeat(now_.position, rows.position), repeat(now_.velocity, rows.velocity);
  repeat(now_.activation, rows.activation), repeat(control_, rows.control), repeat(wrench_, rows.wrench);
  rows.outcome.resize(count);
  return rows;
}

void Trajectory::move(std::size_t c, Rows& rows, std::size_t row, double by) const {
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

// Activation or control c of a row.
double Trajectory::input(std::size_t c, const Rows& rows, std::size_t row) const {
  return c < sizes_.x() ? rows.activation[row * sizes_.na + c - 2 * sizes_.nv]
                        : rows.control[row * sizes_.nu + c - sizes_.x()];
}

bool Trajectory::is_held(std::size_t c) const {
  if (c < 2 * sizes_.nv) return false;
  return bounds_of(c).hold(c < sizes_.x() ? now_.activation[c - 2 * sizes_.nv] : control_[c - sizes_.x()]);
}

double Trajectory::distance(std::size_t c, const Rows& rows, std::size_t row) const {
  const auto& [nq, nv, na, nu, ny, mocaps] = sizes_;
  if (c < nv) return position_change(rows, row)[c];
  if (c < 2 * nv) return between(rows.velocity, nv, row, c - nv);
  if (c < 2 * nv + na) return between(rows.activation, na, row, c - 2 * nv);
  return between(rows.control, nu, row, c - sizes_.x());
}

// From the row after it.
std::vector<double> Trajectory::position_change(const Rows& rows, std::size_t row) const {
  return displacement(own_->batch().common_model(), user(), row_of(rows.position, row + 1, sizes_.nq),
                      row_of(rows.position, row, sizes_.nq));
}

}  // namespace axion::backend
