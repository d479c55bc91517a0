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
#include <memory>
#include <string>
#include <utility>

#include "engine/backend/engine_batch.hpp"
#include "engine/backend/linearise_checks.hpp"
#include "engine/backend/trajectory.hpp"

namespace axion::backend {
namespace {

class Differences final : public Linearisation {
 public:
  Differences(Engine& engine, const EngineBatch& batch, LinearisationSpec spec, const LinearisationOutput& out)
      : engine_(engine),
        batch_(batch),
        spec_(std::move(spec)),
        out_(out),
        sizes_(linearisation_sizes(batch.model().info())),
        steps_(at(spec_.step_count)),
        path_(batch, {spec_.worlds, spec_.start, spec_.control, {}}) {
    spec_.worlds = path_.worlds();
    columns_at_once_ = columns_of_launch(engine.device(), sizes_);
    items_of_step_ = items_of_step(columns_at_once_, sizes_);
  }

  Status prepare() {
    if (Status s = check_linearisation(batch_, spec_, out_); !s.ok()) return s;
    return path_.make_worlds(engine_, static_cast<int>(2 * columns_at_once_));
  }

  std::int64_t memory_bytes() const override { return path_.memory_bytes(); }

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
  std::size_t step_at() const { return row_ * steps_ + step_; }

  // The next step of the trajectory, from a world's start where it is its first.
  Status go_on() {
    if (Status s = path_.begin_step(row_, step_); !s.ok()) return s;
    keep_state(path_.now(), step_);
    const bool was_frozen = path_.is_frozen();
    Rows rows;
    if (Status s = path_.make_step(rows, senses()); !s.ok()) return s;
    if (const auto to = part(out_.sensor_data, sizes_.ny); !to.empty()) {
      std::copy(rows.sensors.begin(), rows.sensors.end(), to.begin());
      if (was_frozen) std::fill(to.begin(), to.end(), kNaN);
    }
    if (step_ + 1 == steps_) keep_state(path_.after(), steps_);
    if (!out_.outcome.empty()) out_.outcome[step_at()] = path_.outcome();
    return begin_exactly();
  }

  // The first columns of the matrices from the step itself, where that is asked for and its laws allow it.
  Status begin_exactly() {
    LawWithoutDerivative law = LawWithoutDerivative::kNone;
    is_exact_ = spec_.method == LinearisationMethod::kExact;
    if (is_exact_) {
      if (Status s = path_.exact().keep_after(); !s.ok()) return s;
      law = path_.is_frozen() ? LawWithoutDerivative::kRemedy : path_.exact().law_of_step();
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
    const LawWithoutDerivative law = path_.exact().find_columns(first, spec_.difference, matrices);
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
      if (!path_.is_held(c)) continue;
      const std::size_t width = of_state ? x : sizes_.nu, column = of_state ? c : c - x;
      for (const auto& [all, rows] :
           {std::pair(of_state ? out_.A : out_.B, x), std::pair(of_state ? out_.C : out_.D, sizes_.ny)}) {
        const std::span<double> matrix = part(all, rows * width);
        for (std::size_t i = 0; i < (matrix.empty() ? 0 : rows); ++i) matrix[i * width + column] = 0;
      }
    }
  }

  // Columns [first, last) of A and B, C and D.
  Status differentiate(std::size_t first, std::size_t last) {
    Rows rows = path_.rows_of_state(2 * (last - first));
    for (std::size_t c = first; c < last; ++c) {
      path_.move(c, rows, 2 * (c - first), spec_.difference);
      path_.move(c, rows, 2 * (c - first) + 1, -spec_.difference);
    }
    const Rows from = rows;
    if (Status s = step_rows(rows); !s.ok()) return s;
    for (std::size_t c = first; c < last; ++c) put_column(c, from, rows, 2 * (c - first));
    return {};
  }

  // Column c, whose two sides are this row and the next.
  void put_column(std::size_t c, const Rows& from, const Rows& to, std::size_t row) {
    const std::size_t nv = sizes_.nv, x = sizes_.x();
    const double apart = path_.distance(c, from, row);
    const std::uint32_t outcome = join_outcomes(to.outcome[row], to.outcome[row + 1]);
    const bool is_finite = ((outcome | path_.outcome()) & kNonFinite) == 0;
    // Of an input that its bounds hold nothing comes; else the difference is less than the coordinate's last bit.
    const double unmoved = c >= 2 * sizes_.nv && path_.is_held(c, from, row) ? 0 : kNaN;
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
      const std::vector<double> moved = path_.position_change(to, row);
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
      const bool differs = to.active_set[row] != path_.active_set() || to.active_set[row + 1] != path_.active_set();
      out_.kink[step_at() * sizes_.columns() + c] = differs ? 1 : 0;
    }
  }

  // Makes the step of each row, which becomes what it leads to.
  Status step_rows(Rows& rows) {
    if (Status s = path_.set_rows(rows); !s.ok()) return s;
    return path_.own().step(rows, senses());
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

  Engine& engine_;
  const EngineBatch& batch_;
  LinearisationSpec spec_;
  const LinearisationOutput out_;
  const LinearisationSizes sizes_;
  const std::size_t steps_;
  std::size_t columns_at_once_ = 1, items_of_step_ = 2;
  Trajectory path_;

  // Of the item under way.
  std::size_t row_ = 0, step_ = 0;
  bool is_exact_ = false;  // whether the matrices of its step are there
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
