#include "engine/math/dual.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/backend/cpu/dual_step.hpp"
#include "engine/backend/exact_step.hpp"
#include "engine/base/stop.hpp"
#include "engine/gradient/step_derivative.hpp"
#include "engine/model/batch_view.hpp"
#include "engine/model/vary.hpp"

namespace axion::backend {
namespace {

// Of a parameter, by which its model is compiled again: small where a fluid's resistance is not linear in a mass, and
// large beside rounding, of which 1e-11 of a number are left.
constexpr double kParameterDifference = 0x1p-17;

}  // namespace

struct ExactStep::Derivative {
  explicit Derivative(const EngineBatch& batch)
      : step(batch.common_model().arrays, layout(batch), batch.spec().options, batch.spec().dt, dual_step_runner()) {}

  static model::UserLayout<double> layout(const EngineBatch& batch) {
    model::UserLayout<double> user = batch.model().user<double>().view();
    user.p_BC = batch.common_model().p_BC.data(), user.q_BC = batch.common_model().q_BC.data();
    return user;
  }

  static gradient::SolvedStep solved(const ExactStep& from);

  Status set_inputs(const EngineBatch& batch, const std::vector<GradientInput>& inputs,
                    const std::vector<double>& numbers);
  Status add_parameter(const model::ModelVariants& variants, const std::vector<double>& numbers, std::size_t at);

  gradient::StepDerivative step;
  std::vector<gradient::Direction> directions;
  bool has_directions = false;
};

ExactStep::ExactStep(const EngineBatch& batch) : batch_(batch) {}
ExactStep::~ExactStep() = default;

std::int64_t ExactStep::memory_bytes(const EngineBatch& batch) {
  const auto m = model::batch_view(batch.model().arrays<double>().view(), batch.spec().options);
  if (6 * m.body_count + m.contact_base() > gradient::kMostUnknowns) return 0;
  const world::WorldBytes bytes = world::world_bytes(m);
  constexpr std::size_t numbers = sizeof(math::Dual) / sizeof(double);
  const std::size_t unknowns = std::min<std::size_t>(model::unknown_count(m), gradient::kMostUnknowns);
  return static_cast<std::int64_t>(numbers * (bytes.world + bytes.scratch) + 2 * bytes.world +
                                   2 * unknowns * unknowns * sizeof(double));
}

void ExactStep::take_numbers() { derivative_ = nullptr; }

Status ExactStep::keep(std::vector<std::byte>& block) {
  const auto m = model::batch_view(batch_.model().arrays<double>().view(), batch_.spec().options);
  const std::size_t size = world::world_bytes(m).world;
  const std::int32_t first = 0;
  return batch_.memory().visit({&first, 1}, Access::kRead,
                               [&](int, std::byte* world) { block.assign(world, world + size); });
}

Status ExactStep::keep_before(const std::vector<double>& wrench) {
  wrench_ = wrench;
  auto rates = batch_.read_doubles(Field::kJointVelocity, 0);
  if (!rates.ok()) return rates.error();
  rates_ = std::move(rates).value();
  return keep(before_);
}

Status ExactStep::keep_after() { return keep(after_); }

gradient::SolvedStep ExactStep::Derivative::solved(const ExactStep& from) {
  const auto m = model::batch_view(from.batch_.model().arrays<double>().view(), from.batch_.spec().options);
  const auto state = [&m](const std::vector<std::byte>& block) {
    return world::bind_state(m, const_cast<std::byte*>(block.data()));
  };
  return {state(from.before_), state(from.after_), from.rates_, from.wrench_};
}

LawWithoutDerivative ExactStep::law_of_step() {
  const auto m = model::batch_view(batch_.common_model().arrays.view(), batch_.spec().options);
  const LawWithoutDerivative law = gradient::law_of_step(m, world::bind_state(m, after_.data()));
  if (law == LawWithoutDerivative::kNone) make_derivative();
  return law;
}

void ExactStep::make_derivative() {
  if (derivative_ == nullptr) derivative_ = std::make_unique<Derivative>(batch_);
}

LawWithoutDerivative ExactStep::find_columns(std::size_t first, double difference, const StepMatrices& out) {
  static_assert(kColumns == math::kDualLanes);
  return derivative_->step.find_columns(Derivative::solved(*this), static_cast<int>(first), difference,
                                        {out.A, out.B, out.C, out.D, out.kink});
}

// The direction of one number of the models' parameters, by the models with a little more of it and a little less;
// where one of them is refused, as with less than no friction, the model itself stands for it. A number that can be
// neither, as the model has no use for it, changes nothing.
Status ExactStep::Derivative::add_parameter(const model::ModelVariants& variants, const std::vector<double>& numbers,
                                            std::size_t at) {
  stop_if_asked();
  const double by = kParameterDifference * std::max(1.0, std::abs(numbers[at]));
  std::vector<double> less = numbers, more = numbers;
  less[at] -= by, more[at] += by;
  Result<model::CompiledModel> below = variants.vary(less), above = variants.vary(more);
  gradient::Direction& direction = directions.emplace_back();
  if (!below.ok() && !above.ok()) return {};
  if (!below.ok()) below = variants.vary(less = numbers);
  if (!above.ok()) above = variants.vary(more = numbers);
  if (!below.ok()) return below.error();
  if (!above.ok()) return above.error();
  gradient::DualWorld& world = step.world();
  const model::ModelArrays<double>&a = below.value().arrays, &b = above.value().arrays;
  gradient::add_model_slopes(a, b, more[at] - less[at], world.arrays(), direction);
  for (int k = 0; k < 3; ++k) {
    if (a.gravity[k] != b.gravity[k]) direction.push_back({&world.m.gravity[k], 1});
  }
  return {};
}

Status ExactStep::Derivative::set_inputs(const EngineBatch& batch, const std::vector<GradientInput>& inputs,
                                         const std::vector<double>& numbers) {
  using InputKind = GradientInput::Kind;
  const model::CompiledModel& compiled = batch.model().compiled();
  gradient::DualWorld& world = step.world();
  directions.clear();
  const auto alone = [&](math::Dual& number) { directions.push_back({{&number, 1}}); };
  std::unique_ptr<const model::ModelVariants> variants;
  for (const GradientInput& input : inputs) {
    if (input.kind == InputKind::kFrictionScale) alone(world.w.friction_scale[0]);
    for (int i = 0; input.kind == InputKind::kGainScale && i < world.m.control_count; ++i) alone(world.w.gain_scale[i]);
    for (const int b : compiled.internal_body) {
      if (input.kind == InputKind::kMassScale) alone(world.w.mass_scale[b]);
      if (input.kind != InputKind::kBodyWrench) continue;
      for (int k = 0; k < 3; ++k) alone(world.w.force[b][k]);
      for (int k = 0; k < 3; ++k) alone(world.w.torque[b][k]);
    }
    if (input.kind != InputKind::kParameter) continue;
    if (variants == nullptr) {
      variants = std::make_unique<model::ModelVariants>(compiled, batch.model().info().scene, false);
    }
    const std::vector<double> row = numbers.empty() ? model::parameter_values(compiled) : numbers;
    const ParameterDescription& description = description_of(input.parameter);
    const int start = model::parameter_start(compiled, input.parameter);
    const int count = model::item_count(compiled, description.of) * description.width;
    for (int i = start; i < start + count; ++i) {
      if (Status s = add_parameter(*variants, row, static_cast<std::size_t>(i)); !s.ok()) return s;
    }
  }
  return {};
}

Status ExactStep::set_inputs(const std::vector<GradientInput>& inputs, const std::vector<double>& numbers) {
  if (inputs.empty()) return {};
  make_derivative();
  if (derivative_->has_directions) return {};
  if (Status s = derivative_->set_inputs(batch_, inputs, numbers); !s.ok()) return s;
  derivative_->has_directions = true;
  return {};
}

LawWithoutDerivative ExactStep::find_products(const StepCotangents& of, double difference, std::span<double> out,
                                              std::vector<bool>& is_idle, bool& is_kink) {
  const gradient::Cotangents cotangents{of.state,     of.joint_position, of.joint_velocity, of.activation,
                                        of.body_pose, of.body_velocity,  of.sensor_data};
  return derivative_->step.find_products(Derivative::solved(*this), derivative_->directions, difference, cotangents,
                                         out, is_idle, is_kink);
}

}  // namespace axion::backend
