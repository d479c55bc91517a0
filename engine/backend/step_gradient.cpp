// Vector-Jacobian products of steps (engine.hpp, step_gradient).
//
//   x̄ = Aᵀ x̄⁺ + Cᵀ ȳ,   ū = Bᵀ x̄⁺ + Dᵀ ȳ,   p̄ += (∂x⁺/∂p)ᵀ x̄⁺ + (∂y/∂p)ᵀ ȳ
//
// along the trajectory of a linearisation (trajectory.hpp). A world's steps are made once forward, of which the states
// that they begin with are kept, and once more backward, with the same bits, where their products are found: from the
// step's own functions on dual numbers (exact_step.hpp), or by central differences where a law has no exact derivative.
// Items are steps of a world, forward, then backward. The last one is not made again.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/checks.hpp"
#include "engine/backend/gradient_inputs.hpp"
#include "engine/backend/trajectory.hpp"
#include "engine/model/vary.hpp"

namespace axion::backend {
namespace {

using InputKind = GradientInput::Kind;
std::vector<double>& cotangents_of(StepCotangents& of, Field field) {
  switch (field) {
    case Field::kJointPosition:
      return of.joint_position;
    case Field::kJointVelocity:
      return of.joint_velocity;
    case Field::kActivation:
      return of.activation;
    case Field::kBodyPose:
      return of.body_pose;
    case Field::kBodyVelocity:
      return of.body_velocity;
    default:
      return of.sensor_data;
  }
}
const std::vector<double>& values_of(const Rows& rows, Field field) {
  switch (field) {
    case Field::kJointPosition:
      return rows.position;
    case Field::kJointVelocity:
      return rows.velocity;
    case Field::kActivation:
      return rows.activation;
    case Field::kBodyPose:
      return rows.body_pose;
    case Field::kBodyVelocity:
      return rows.body_velocity;
    default:
      return rows.sensors;
  }
}

class StepGradients final : public Linearisation {
 public:
  StepGradients(Engine& engine, const EngineBatch& batch, StepGradientSpec spec, StepGradientOutput out)
      : engine_(engine),
        batch_(batch),
        info_(batch.model().info()),
        spec_(std::move(spec)),
        out_(std::move(out)),
        sizes_(linearisation_sizes(info_)),
        steps_(at(spec_.step_count)),
        path_(batch, {spec_.worlds, spec_.start, spec_.control, spec_.body_wrench}) {
    spec_.worlds = path_.worlds();
    columns_at_once_ = columns_of_launch(engine.device(), sizes_);
    const auto look = [&](Field field) {
      senses_ = senses_ || field == Field::kSensorData;
      bodies_ = bodies_ || field == Field::kBodyPose || field == Field::kBodyVelocity;
    };
    for (const FieldGradient& field : spec_.fields) look(field.field);
    for (const Field field : spec_.outputs) look(field);
    products_ = sizes_.columns();
    for (const GradientInput& input : spec_.inputs) products_ += numbers_of(info_, input);
  }

  Status prepare() {
    if (Status s = check_step_gradient(batch_, spec_, out_); !s.ok()) return s;
    return path_.make_worlds(engine_, static_cast<int>(2 * columns_at_once_));
  }

  std::int64_t memory_bytes() const override { return path_.memory_bytes(); }

  Status run(std::size_t first, std::size_t last) override {
    for (std::size_t item = first; item < last; ++item) {
      row_ = item / (2 * steps_);
      const std::size_t i = item % (2 * steps_);
      step_ = i < steps_ ? i : 2 * steps_ - 1 - i;
      if (Status s = i < steps_ ? go_on() : go_back(); !s.ok()) return s;
    }
    return {};
  }

 private:
  struct Start {
    State state;
    double time;
  };

  std::size_t step_at() const { return row_ * steps_ + step_; }

  // The record that is taken after the step; below zero: none.
  int record() const {
    if (spec_.record_every == 0) return step_ + 1 == steps_ ? 0 : -1;
    const auto end = static_cast<int>(step_ + 1);
    return end % spec_.record_every == 0 ? end / spec_.record_every - 1 : -1;
  }

  Status go_on() {
    if (step_ == 0) starts_.clear();
    if (Status s = path_.begin_step(row_, step_); !s.ok()) return s;
    starts_.push_back({path_.now(), path_.time()});
    Rows rows;
    if (Status s = make_step(rows); !s.ok()) return s;
    if (!out_.step_outcome.empty()) out_.step_outcome[step_at()] = path_.outcome();
    if (const int r = record(); r >= 0) keep_fields(rows, at(r));
    return {};
  }

  Status make_step(Rows& rows) {
    if (Status s = path_.make_step(rows, senses_, bodies_); !s.ok()) return s;
    return path_.exact().keep_after();
  }

  void keep_fields(const Rows& rows, std::size_t record) {
    const auto records = at(record_count(spec_));
    for (std::size_t i = 0; i < spec_.outputs.size(); ++i) {
      const std::vector<double>& values = values_of(rows, spec_.outputs[i]);
      const auto to = out_.fields[i].begin() + static_cast<std::ptrdiff_t>((row_ * records + record) * values.size());
      std::copy(values.begin(), values.end(), to);
      if (path_.is_frozen()) std::fill(to, to + static_cast<std::ptrdiff_t>(values.size()), kNaN);
    }
  }

  Status go_back() {
    if (step_ + 1 == steps_) {
      begin_back();
    } else {
      path_.return_to(row_, step_, starts_[step_].state, starts_[step_].time);
      Rows rows;
      if (Status s = path_.is_frozen() ? Status() : make_step(rows); !s.ok()) return s;
    }
    std::vector<double> products(products_, kNaN);
    LawWithoutDerivative law = LawWithoutDerivative::kRemedy;
    bool is_kink = false;
    if (!path_.is_frozen()) {
      if (Status s = find_products(products, law, is_kink); !s.ok()) return s;
    }
    for (std::size_t c = 2 * sizes_.nv; c < sizes_.columns(); ++c) {
      if (path_.is_held(c) && !path_.is_frozen()) products[c] = 0;
    }
    is_exact_ = is_exact_ && law == LawWithoutDerivative::kNone;
    if (!out_.law.empty()) out_.law[step_at()] = law;
    if (!out_.kink.empty()) out_.kink[step_at()] = is_kink ? 1 : 0;
    take(products);
    if (step_ == 0) end_back();
    return {};
  }

  // From the end of the world's steps.
  void begin_back() {
    is_exact_ = true;
    carry_.assign(sizes_.x(), 0.0);
    for (std::size_t i = 0; i < carry_.size() && spec_.state.data != nullptr; ++i) {
      carry_[i] = read_input(spec_.state, static_cast<int>(row_), 0, static_cast<int>(i));
    }
    inputs_.assign(products_ - sizes_.columns(), 0.0);
    held_.assign(sizes_.nu, 0.0);
  }

  StepCotangents cotangents() const {
    StepCotangents of;
    of.state = carry_;
    const int r = record();
    for (const FieldGradient& field : spec_.fields) {
      if (r < 0) break;
      std::vector<double>& to = cotangents_of(of, field.field);
      to.resize(numbers_of(info_, field.field));
      for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] = read_input(field.values, static_cast<int>(row_), r, static_cast<int>(i));
      }
    }
    return of;
  }

  Status find_products(std::vector<double>& products, LawWithoutDerivative& law, bool& is_kink) {
    const StepCotangents of = cotangents();
    law = path_.exact().law_of_step();
    if (law == LawWithoutDerivative::kNone) {
      if (Status s = path_.exact().set_inputs(spec_.inputs, path_.numbers()); !s.ok()) return s;
      std::vector<bool> is_idle;
      law = path_.exact().find_products(of, spec_.difference, products, is_idle, is_kink);
      if (law == LawWithoutDerivative::kNone) return differentiate_idle(of, is_idle, products, law, is_kink);
    }
    return differentiate(of, products, is_kink);
  }

  // dL/d(coordinates before the step) is what the step before takes on from here.
  void take(const std::vector<double>& products) {
    std::copy(products.begin(), products.begin() + static_cast<std::ptrdiff_t>(sizes_.x()), carry_.begin());
    const bool has_steps = spec_.control.data != nullptr && spec_.control.step_stride != 0;
    for (std::size_t i = 0; i < sizes_.nu; ++i) {
      held_[i] += products[sizes_.x() + i];
      if (has_steps && !out_.control.empty()) out_.control[step_at() * sizes_.nu + i] = products[sizes_.x() + i];
      if (!has_steps && !out_.control.empty()) out_.control[row_ * sizes_.nu + i] = held_[i];
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i] += products[sizes_.columns() + i];
  }

  void end_back() {
    if (!out_.state.empty()) std::copy(carry_.begin(), carry_.end(), out_.state.begin() + place(sizes_.x()));
    const std::vector<double> position = gradient_by_position();
    if (!out_.joint_position.empty()) {
      std::copy(position.begin(), position.end(), out_.joint_position.begin() + place(sizes_.nq));
    }
    auto from = inputs_.begin();
    for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
      const std::size_t count = numbers_of(info_, spec_.inputs[i]);
      if (!out_.inputs[i].empty()) std::copy_n(from, count, out_.inputs[i].begin() + place(count));
      from += static_cast<std::ptrdiff_t>(count);
    }
    const auto is_finite = [](const std::vector<double>& all) {
      return std::all_of(all.begin(), all.end(), [](double a) { return std::isfinite(a); });
    };
    const bool finite = is_finite(carry_) && is_finite(inputs_) && is_finite(held_);
    if (out_.outcome.empty()) return;
    out_.outcome[row_] = !finite     ? GradientOutcome::kNonFinite
                         : is_exact_ ? GradientOutcome::kExact
                                     : GradientOutcome::kInexact;
  }
  std::ptrdiff_t place(std::size_t count) const { return static_cast<std::ptrdiff_t>(row_ * count); }

  // By joint positions as they are set. A turn φ of a quaternion q is δq = (0, φ) q / 2; of a free joint whose origin
  // stays, the centre of mass moves by φ × r, r from the origin to it.
  std::vector<double> gradient_by_position() const {
    std::vector<double> out(sizes_.nq);
    const std::vector<double>& q = starts_[0].state.position;
    for (const JointInfo& joint : info_.joints) {
      if (joint.velocity_count == 0) continue;
      const std::size_t p = at(joint.position_start), v = at(joint.velocity_start);
      const double* g = carry_.data() + v;
      if (joint.kind == model::JointKind::kAxes) {
        std::copy_n(g, joint.velocity_count, out.begin() + static_cast<std::ptrdiff_t>(p));
        continue;
      }
      const bool is_free = joint.kind == model::JointKind::kFree;
      const std::size_t turn = is_free ? 3 : 0;
      const math::Quat<double> at_start{q[p + turn], q[p + turn + 1], q[p + turn + 2], q[p + turn + 3]};
      math::Vec3<double> by_turn{g[turn], g[turn + 1], g[turn + 2]};
      if (is_free) {
        const math::Vec3<double> by_place{g[0], g[1], g[2]};
        const model::Vec3d& centre = info_.bodies[at(joint.child)].p_BoBcm;
        const math::Vec3<double> r = math::rotate(at_start, math::Vec3<double>{centre[0], centre[1], centre[2]});
        by_turn += math::cross(r, by_place);
        std::copy_n(g, 3, out.begin() + static_cast<std::ptrdiff_t>(p));
      }
      const math::Quat<double> by = math::Quat<double>{0, 2 * by_turn.x, 2 * by_turn.y, 2 * by_turn.z} * at_start;
      out[p + turn] = by.w, out[p + turn + 1] = by.x, out[p + turn + 2] = by.y, out[p + turn + 3] = by.z;
    }
    return out;
  }

  // ---- Differences ----

  // Products of what is a row apart from the next, over `apart`.
  double product(const StepCotangents& of, const Rows& rows, std::size_t row, double apart) const {
    if (((rows.outcome[row] | rows.outcome[row + 1]) & kNonFinite) != 0) return kNaN;
    double sum = 0;
    const auto add = [&](const double* cotangent, const std::vector<double>& values, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i) {
        sum += cotangent[i] * (values[row * size + i] - values[(row + 1) * size + i]);
      }
    };
    const std::vector<double> moved = path_.position_change(rows, row);
    for (std::size_t i = 0; i < sizes_.nv; ++i) sum += of.state[i] * moved[i];
    add(of.state.data() + sizes_.nv, rows.velocity, sizes_.nv);
    add(of.state.data() + 2 * sizes_.nv, rows.activation, sizes_.na);
    add(of.joint_position.data(), rows.position, of.joint_position.size());
    add(of.joint_velocity.data(), rows.velocity, of.joint_velocity.size());
    add(of.activation.data(), rows.activation, of.activation.size());
    add(of.body_pose.data(), rows.body_pose, of.body_pose.size());
    add(of.body_velocity.data(), rows.body_velocity, of.body_velocity.size());
    add(of.sensor_data.data(), rows.sensors, of.sensor_data.size());
    return sum / apart;
  }

  Status step_rows(Rows& rows, bool& is_kink) {
    if (Status s = path_.set_rows(rows); !s.ok()) return s;
    if (Status s = path_.own().step(rows, senses_, bodies_); !s.ok()) return s;
    for (const std::uint64_t set : rows.active_set) is_kink = is_kink || set != path_.active_set();
    return {};
  }

  Status differentiate(const StepCotangents& of, std::vector<double>& products, bool& is_kink) {
    for (std::size_t first = 0; first < sizes_.columns(); first += columns_at_once_) {
      const std::size_t last = std::min(first + columns_at_once_, sizes_.columns());
      Rows rows = path_.rows_of_state(2 * (last - first));
      for (std::size_t c = first; c < last; ++c) {
        path_.move(c, rows, 2 * (c - first), spec_.difference);
        path_.move(c, rows, 2 * (c - first) + 1, -spec_.difference);
      }
      const Rows from = rows;
      if (Status s = step_rows(rows, is_kink); !s.ok()) return s;
      for (std::size_t c = first; c < last; ++c) {
        products[c] = product(of, rows, 2 * (c - first), path_.distance(c, from, 2 * (c - first)));
      }
    }
    std::size_t to = sizes_.columns();
    for (const GradientInput& input : spec_.inputs) {
      for (std::size_t i = 0; i < numbers_of(info_, input); ++i, ++to) {
        if (Status s = differentiate_input(of, input, i, products[to], is_kink); !s.ok()) return s;
      }
    }
    return spec_.inputs.empty() ? Status() : path_.give_numbers_and_scales();
  }

  // The numbers of inputs that act along axes on which nothing acts.
  Status differentiate_idle(const StepCotangents& of, const std::vector<bool>& is_idle, std::vector<double>& products,
                            LawWithoutDerivative& law, bool& is_kink) {
    std::size_t place = 0;
    for (const GradientInput& input : spec_.inputs) {
      for (std::size_t i = 0; i < numbers_of(info_, input); ++i, ++place) {
        if (!is_idle[place]) continue;
        law = LawWithoutDerivative::kIdleAxis;
        double& to = products[sizes_.columns() + place];
        if (Status s = differentiate_input(of, input, i, to, is_kink); !s.ok()) return s;
      }
    }
    return law == LawWithoutDerivative::kNone ? Status() : path_.give_numbers_and_scales();
  }

  // By one number of an input: two steps, one after the other, each of a world that has been given its side. A side
  // that is refused is that of the number as it is.
  Status differentiate_input(const StepCotangents& of, const GradientInput& input, std::size_t i, double& to,
                             bool& is_kink) {
    Rows both = path_.rows_of_state(2), side;
    double apart = 0;
    for (const double sign : {1.0, -1.0}) {
      side = path_.rows_of_state(1);
      double by = sign * spec_.difference;
      if (Status s = give(input, i, by, side); !s.ok()) return s;
      if (Status s = step_rows(side, is_kink); !s.ok()) return s;
      apart += sign * by;
      join(both, side, sign > 0 ? 0 : 1);
    }
    to = apart == 0 ? 0 : product(of, both, 0, apart);
    return {};
  }

  // Moves number i of an input by `by`, or not at all where that is refused.
  Status give(const GradientInput& input, std::size_t i, double& by, Rows& rows) {
    EngineBatch& own = path_.own().batch();
    const model::CompiledModel& compiled = batch_.model().compiled();
    const std::size_t nb = info_.bodies.size();
    std::vector<double> scales = path_.scales();
    if (input.kind == InputKind::kBodyWrench) {
      rows.wrench.resize(6 * nb), rows.wrench[i] += by;
      return {};
    }
    if (input.kind == InputKind::kParameter) {
      std::vector<double> numbers = path_.numbers().empty() ? model::parameter_values(compiled) : path_.numbers();
      double& number = numbers[at(model::parameter_start(compiled, input.parameter)) + i];
      const double before = number;
      number += by;
      if (own.give_numbers(numbers).ok()) return own.write_scales(path_.scales());
      by = 0, number = before;
      if (Status s = own.give_numbers(numbers); !s.ok()) return s;
      return own.write_scales(path_.scales());
    }
    const std::size_t place = input.kind == InputKind::kMassScale       ? at(compiled.internal_body[i])
                              : input.kind == InputKind::kFrictionScale ? nb
                                                                        : nb + 1 + i;
    if (scales[place] + by < 0) by = 0;
    scales[place] += by;
    return own.write_scales(scales);
  }

  static void join(Rows& both, const Rows& side, std::size_t row) {
    const auto put = [&](const std::vector<double>& from, std::vector<double>& to) {
      to.resize(2 * from.size());
      std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(row * from.size()));
    };
    put(side.position, both.position), put(side.velocity, both.velocity), put(side.activation, both.activation);
    put(side.sensors, both.sensors), put(side.body_pose, both.body_pose), put(side.body_velocity, both.body_velocity);
    both.outcome[row] = side.outcome[0];
  }

  Engine& engine_;
  const EngineBatch& batch_;
  const ModelInfo& info_;
  StepGradientSpec spec_;
  const StepGradientOutput out_;
  const LinearisationSizes sizes_;
  const std::size_t steps_;
  Trajectory path_;
  std::size_t columns_at_once_ = 1, products_ = 0;
  bool senses_ = false, bodies_ = false;

  // Of the item under way.
  std::size_t row_ = 0, step_ = 0;
  // Of its world.
  std::vector<Start> starts_;
  std::vector<double> carry_, inputs_, held_;  // dL/d(coordinates before the step), d(inputs), d(control, as if held)
  bool is_exact_ = true;
};

}  // namespace

}  // namespace axion::backend

namespace axion {

std::size_t step_gradient_items(std::size_t worlds, std::size_t steps) { return 2 * worlds * steps; }

std::size_t step_gradient_host_bytes(const ModelInfo& info, std::size_t steps) {
  constexpr std::size_t kOfVectors = 128;  // what the vectors of a state take beside their numbers
  const backend::LinearisationSizes sizes = backend::linearisation_sizes(info);
  return steps * (kOfVectors + (sizes.nq + sizes.nv + sizes.na) * sizeof(double));
}

Result<std::unique_ptr<Linearisation>> step_gradient(Engine& engine, const Batch& batch, const StepGradientSpec& spec,
                                                     const StepGradientOutput& output) {
  const auto* known = dynamic_cast<const backend::EngineBatch*>(&batch);
  if (known == nullptr) return invalid_argument("batch", "The batch is none of an engine's.");
  auto made = std::make_unique<backend::StepGradients>(engine, *known, spec, output);
  if (Status s = made->prepare(); !s.ok()) return s.error();
  return std::unique_ptr<Linearisation>(std::move(made));
}

}  // namespace axion
