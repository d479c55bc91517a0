// A loss of what steps lead to, L = Σ w y over fields, whose gradient is found two ways: by the engine, and by
// differences of fourth order over set_state and step.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/backend/linearising.hpp"

namespace axion::testing {

// The answer to a gradient, with room for all of it.
struct GradientAnswer {
  GradientAnswer(const ModelInfo& info, std::size_t n, const StepGradientSpec& spec) {
    const auto k = static_cast<std::size_t>(spec.step_count), nu = info.actuators.size();
    const std::size_t held = spec.control.data != nullptr && spec.control.step_stride != 0 ? k : 1;
    state.resize(n * state_coordinates(info).size());
    position.resize(n * static_cast<std::size_t>(info.joint_position_count)), control.resize(n * held * nu);
    outcome.resize(n), step_outcome.resize(n * k), law.resize(n * k), kink.resize(n * k);
    const auto count = [](const std::vector<std::int64_t>& shape) {
      std::size_t all = 1;
      for (const std::int64_t extent : shape) all *= static_cast<std::size_t>(extent);
      return all;
    };
    for (const GradientInput& input : spec.inputs) inputs.emplace_back(n * count(gradient_input_shape(info, input)));
    const std::size_t records = spec.record_every == 0 ? 1 : k / static_cast<std::size_t>(spec.record_every);
    for (const Field field : spec.outputs) fields.emplace_back(n * records * count(field_shape(info, field)));
  }
  StepGradientOutput views() {
    StepGradientOutput out;
    out.state = state, out.joint_position = position, out.control = control;
    out.outcome = outcome, out.step_outcome = step_outcome, out.law = law, out.kink = kink;
    for (std::vector<double>& values : inputs) out.inputs.emplace_back(values);
    for (std::vector<double>& values : fields) out.fields.emplace_back(values);
    return out;
  }
  bool operator==(const GradientAnswer&) const = default;

  std::vector<double> state, position, control;
  std::vector<std::vector<double>> inputs, fields;
  std::vector<GradientOutcome> outcome;
  std::vector<std::uint32_t> step_outcome;
  std::vector<LawWithoutDerivative> law;
  std::vector<std::int32_t> kink;
};

inline GradientAnswer gradient_of(Engine& engine, const Batch& batch, const StepGradientSpec& spec,
                                  std::size_t piece = 1000000) {
  const std::size_t n = spec.worlds.empty() ? batch.spec().world_count : spec.worlds.size();
  GradientAnswer answer(batch.spec().model->info(), n, spec);
  const auto made = take(step_gradient(engine, batch, spec, answer.views()));
  const std::size_t items = step_gradient_items(n, static_cast<std::size_t>(spec.step_count));
  for (std::size_t first = 0; first < items; first += piece) check(made->run(first, std::min(first + piece, items)));
  return answer;
}

// One world, its start, k controls and the inputs; every second step is a record.
class Loss {
 public:
  Loss(const model::SceneSpec& scene, int steps, double dt, std::vector<Field> fields,
       const std::function<void(BatchSpec&)>& change = {})
      : f_(scene, 1,
           [&](BatchSpec& spec) {
             spec.dt = dt;
             if (change) change(spec);
           }),
        steps_(steps),
        fields_(std::move(fields)) {
    const int nu = static_cast<int>(info().actuators.size());
    start_ = f_.motion(0, std::vector<double>(static_cast<std::size_t>(steps * nu)));
    unsigned seed = 11;
    for (const Field field : fields_) {
      weights_.push_back(noise(static_cast<int>(read(*f_.batch, field).size()) * records(), 1, seed++));
    }
  }
  const ModelInfo& info() const { return f_.info(); }
  Engine& engine() { return *f_.engine; }
  Batch& batch() { return *f_.batch; }
  int steps() const { return steps_; }

  // The start is where these steps lead to; the controls of the loss are like `control`.
  void warm_up(int steps, const std::vector<double>& control) {
    step(*f_.engine, *f_.batch, steps, control);
    start_ = f_.motion(0, {});
    for (int t = 0; t < steps_; ++t) {
      const std::vector<double> beside = noise(static_cast<int>(control.size()), 0.01, static_cast<unsigned>(70 + t));
      for (std::size_t i = 0; i < control.size(); ++i) start_.control.push_back(control[i] + beside[i]);
    }
  }
  void move(const std::vector<double>& velocity) { start_.velocity = velocity; }

  GradientAnswer gradient(const std::vector<std::string>& inputs) {
    StepGradientSpec spec;
    for (const std::string& name : inputs) spec.inputs.push_back(take(gradient_input_from_name(name)));
    return gradient_of(*f_.engine, *f_.batch, complete(spec));
  }
  StepGradientSpec complete(StepGradientSpec spec) const {
    spec.start = state_of(start_), spec.step_count = steps_, spec.record_every = 2;
    spec.control = control_of(start_);
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::size_t bytes = weights_[i].size() * sizeof(double);
      spec.fields.push_back({fields_[i],
                             {reinterpret_cast<const std::byte*>(weights_[i].data()), DType::kFloat64, bytes,
                              bytes / static_cast<std::size_t>(records())}});
    }
    return spec;
  }

  // At zero, of fourth order; to the side within where the other is refused, and zero where the model has no use for
  // the number.
  static double slope(const std::function<double(double)>& value, double d) {
    if (std::isnan(value(d))) return 0;
    if (!std::isnan(value(-d))) {
      const auto difference = [&](double by) { return (value(by) - value(-by)) / (2 * by); };
      return (4 * difference(d) - difference(2 * d)) / 3;
    }
    return (-25 * value(0) + 48 * value(d) - 36 * value(2 * d) + 16 * value(3 * d) - 3 * value(4 * d)) / (12 * d);
  }

  // The worst error of a gradient by positions, rates, activations, controls or an input, of the greatest number of it.
  double worst_error(const std::vector<std::string>& inputs, double difference = 1e-4,
                     LawWithoutDerivative law = LawWithoutDerivative::kNone, double allowed = 1e-6) {
    const GradientAnswer found = gradient(inputs);
    for (const LawWithoutDerivative one : found.law) EXPECT_EQ(one, law) << name_of(one);
    const std::size_t nv = start_.velocity.size(), na = start_.activation.size();
    double worst = 0;
    const auto compare = [&](const std::string& name, const std::vector<double>& exact, const auto& moved, double d) {
      double greatest = kLeast, off = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const double expected = slope([&](double by) { return moved(i, by); }, d);
        greatest = std::max(greatest, std::abs(expected)), off = std::max(off, std::abs(expected - exact[i]));
      }
      if (off > allowed * greatest) ADD_FAILURE() << name << " is off by " << off << " of " << greatest;
      worst = std::max(worst, off / greatest);
    };
    const auto part = [&](std::size_t first, std::size_t count) {
      return std::vector<double>(found.state.begin() + static_cast<std::ptrdiff_t>(first),
                                 found.state.begin() + static_cast<std::ptrdiff_t>(first + count));
    };
    const auto of = [&](std::vector<double> Motion::*member) {
      return [&, member](std::size_t i, double by) {
        Motion moved = start_;
        (moved.*member)[i] += by;
        return value(moved);
      };
    };
    compare("joint_position", found.position, of(&Motion::position), 1e-6);
    compare("joint_velocity", part(nv, nv), of(&Motion::velocity), 1e-5);
    compare("activation", part(2 * nv, na), of(&Motion::activation), 1e-5);
    compare("control", found.control, of(&Motion::control), 1e-5);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const GradientInput input = take(gradient_input_from_name(inputs[k]));
      compare(
          inputs[k], found.inputs[k], [&](std::size_t i, double by) { return value(start_, input, i, by); },
          difference);
    }
    return worst;
  }

  // Of the steps from a state that is set, with number i of an input moved.
  double value(const Motion& motion) { return value(motion, {}, 0, 0); }
  double value(const Motion& motion, const GradientInput& input, std::size_t i, double by) {
    BatchSpec spec = f_.batch->spec();
    const auto nb = info().bodies.size();
    std::vector<double> mass(nb, 1.0), friction(1, 1.0), gain(info().actuators.size(), 1.0), wrench(6 * nb, 0.0);
    if (by != 0 && input.kind == GradientInput::Kind::kMassScale) mass[i] += by;
    if (by != 0 && input.kind == GradientInput::Kind::kFrictionScale) friction[i] += by;
    if (by != 0 && input.kind == GradientInput::Kind::kGainScale) gain[i] += by;
    if (by != 0 && input.kind == GradientInput::Kind::kBodyWrench) wrench[i] += by;
    spec.overrides.mass_scale = testing::input(mass, static_cast<int>(nb));
    spec.overrides.friction_scale = testing::input(friction, 0);
    if (!gain.empty()) spec.overrides.gain_scale = testing::input(gain, static_cast<int>(gain.size()));
    const auto batch = take(f_.engine->create_batch(spec));
    StateUpdate state = state_of(motion);
    std::vector<double> numbers;
    if (by != 0 && input.kind == GradientInput::Kind::kParameter) {
      std::int64_t count = 1;
      for (const std::int64_t extent : parameter_shape(info(), input.parameter)) count *= extent;
      numbers.resize(static_cast<std::size_t>(count));
      check(batch->parameters({}, input.parameter, numbers));
      numbers[i] += by;
      state.parameters = {{input.parameter, testing::input(numbers, static_cast<int>(count))}};
    }
    if (const Status set = batch->set_state({}, state); !set.ok()) {
      EXPECT_EQ(set.error().code, ErrorCode::kInvalidArgument) << set.error().message;
      return std::numeric_limits<double>::quiet_NaN();
    }
    double loss = 0;
    for (int t = 0; t < steps_; ++t) {
      StateUpdate again;  // each step begins with a state that is set
      const std::vector<double> position = read(*batch, Field::kJointPosition),
                                velocity = read(*batch, Field::kJointVelocity),
                                activation = read(*batch, Field::kActivation);
      again.joint_position = testing::input(position, static_cast<int>(position.size()));
      again.joint_velocity = testing::input(velocity, static_cast<int>(velocity.size()));
      if (!activation.empty()) again.activation = testing::input(activation, static_cast<int>(activation.size()));
      if (t > 0) check(batch->set_state({}, again));
      StepRequest request;
      request.batch = batch.get(), request.control = control_of(motion);
      if (request.control.data != nullptr) request.control.data += request.control.step_stride * t;
      request.body_wrench = testing::input(wrench, static_cast<int>(6 * nb));
      take(f_.engine->step({&request, 1}));
      if (t % 2 == 1) loss += loss_of(*batch, t / 2);
    }
    return loss;
  }

  int records() const { return steps_ / 2; }
  double weight(std::size_t field, std::size_t i) const { return weights_[field][i]; }
  double loss_of(const Batch& batch, int record) const {
    double loss = 0;
    for (std::size_t k = 0; k < fields_.size(); ++k) {
      const std::vector<double> values = read(batch, fields_[k]);
      for (std::size_t n = 0; n < values.size(); ++n) {
        loss += weights_[k][static_cast<std::size_t>(record) * values.size() + n] * values[n];
      }
    }
    return loss;
  }
  const Motion& start() const { return start_; }

 private:
  static StateUpdate state_of(const Motion& motion) {
    StateUpdate state;
    state.joint_position = testing::input(motion.position, static_cast<int>(motion.position.size()));
    state.joint_velocity = testing::input(motion.velocity, static_cast<int>(motion.velocity.size()));
    if (!motion.activation.empty()) {
      state.activation = testing::input(motion.activation, static_cast<int>(motion.activation.size()));
    }
    return state;
  }
  InputView control_of(const Motion& motion) const {
    if (motion.control.empty()) return {};
    const std::size_t bytes = motion.control.size() * sizeof(double);
    return {reinterpret_cast<const std::byte*>(motion.control.data()), DType::kFloat64, bytes,
            bytes / static_cast<std::size_t>(steps_)};
  }

  Linearised f_;
  int steps_;
  std::vector<Field> fields_;
  Motion start_;
  std::vector<std::vector<double>> weights_;
  // Beside a gradient of less than this differences are rounding: losses are of the order of one.
  static constexpr double kLeast = 0.1;
};

}  // namespace axion::testing
