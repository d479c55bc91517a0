#include "engine/math/dual.hpp"

#include "engine/backend/cpu/dual_step.hpp"
#include "engine/backend/exact_step.hpp"
#include "engine/gradient/step_derivative.hpp"
#include "engine/model/batch_view.hpp"

namespace axion::backend {

struct ExactStep::Derivative {
  explicit Derivative(const EngineBatch& batch)
      : step(batch.common_model().arrays, layout(batch), batch.spec().options, batch.spec().dt, dual_step_runner()) {}

  static model::UserLayout<double> layout(const EngineBatch& batch) {
    model::UserLayout<double> user = batch.model().user<double>().view();
    user.p_BC = batch.common_model().p_BC.data(), user.q_BC = batch.common_model().q_BC.data();
    return user;
  }

  static gradient::SolvedStep solved(const ExactStep& from);

  gradient::StepDerivative step;
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

Status ExactStep::keep_before() {
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
  return {state(from.before_), state(from.after_), from.rates_};
}

LawWithoutDerivative ExactStep::law_of_step() {
  const auto m = model::batch_view(batch_.common_model().arrays.view(), batch_.spec().options);
  const LawWithoutDerivative law = gradient::law_of_step(m, world::bind_state(m, after_.data()));
  if (law == LawWithoutDerivative::kNone && derivative_ == nullptr) derivative_ = std::make_unique<Derivative>(batch_);
  return law;
}

LawWithoutDerivative ExactStep::find_columns(std::size_t first, double difference, const StepMatrices& out) {
  static_assert(kColumns == math::kDualLanes);
  return derivative_->step.find_columns(Derivative::solved(*this), static_cast<int>(first), difference,
                                        {out.A, out.B, out.C, out.D, out.kink});
}

}  // namespace axion::backend
