#include "server/rpc/options_conversion.hpp"

#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

// Messages number a choice one higher than the engine, after UNSPECIFIED, which leaves the preset's choice.
template <typename Choice>
absl::Status choose(const char* field, int wire, Choice last, Choice& choice) {
  if (wire == 0) return absl::OkStatus();
  const auto& choices = *v1::SolverOptions::descriptor()->FindFieldByName(field)->enum_type();
  if (wire < 0 || wire > static_cast<int>(last) + 1 || choices.FindValueByNumber(wire) == nullptr) {
    std::vector<std::string> names;
    for (int i = 1; i < choices.value_count(); ++i) names.push_back(choices.value(i)->name());
    return schedule::invalid_field(
        absl::StrCat("options.", field),
        absl::StrCat("is ", wire, ", which is no choice; there are ", absl::StrJoin(names, ", ")));
  }
  choice = static_cast<Choice>(wire - 1);
  return absl::OkStatus();
}

template <typename Wire, typename Choice>
Wire to_wire_choice(Choice choice) {
  return static_cast<Wire>(static_cast<int>(choice) + 1);
}

template <std::size_t Count>
void fill_counts(const std::array<double, Count>& bounds, const BinnedCounts<Count>& binned,
                 v1::BinnedCounts& message) {
  message.mutable_bounds()->Assign(bounds.begin(), bounds.end());
  message.mutable_counts()->Assign(binned.counts.begin(), binned.counts.end());
  message.set_sum(binned.sum);
}

}  // namespace

absl::StatusOr<model::SolverOptions> to_options(const v1::SolverOptions& message) {
  auto preset = model::Preset::kDefault;
  absl::Status status = choose("preset", message.preset(), model::Preset::kVelocity, preset);
  if (!status.ok()) return status;
  model::SolverOptions o = model::make_options(preset);
  status.Update(choose("precision", message.precision(), model::Precision::kFloat64, o.precision));
  status.Update(
      choose("constraint_level", message.constraint_level(), model::ConstraintLevel::kVelocity, o.constraint_level));
  status.Update(choose("joint_mode", message.joint_mode(), model::JointMode::kBlended, o.joint_mode));
  status.Update(
      choose("gyroscopic_mode", message.gyroscopic_mode(), model::GyroscopicMode::kExplicit, o.gyroscopic_mode));
  status.Update(
      choose("contact_function", message.contact_function(), model::ContactFunction::kMinimumMap, o.contact_function));
  status.Update(
      choose("friction_model", message.friction_model(), model::FrictionModel::kNaturalMap, o.friction_model));
  status.Update(
      choose("contact_softness", message.contact_softness(), model::ContactSoftness::kMjcf, o.contact_softness));
  status.Update(choose("linear_solver", message.linear_solver(), model::LinearSolver::kDenseDirect, o.linear_solver));
  if (!status.ok()) return status;
  if (message.has_tolerance()) o.tolerance = message.tolerance();
  if (message.has_max_newton_iterations()) o.max_newton_iterations = message.max_newton_iterations();
  if (message.has_max_linear_iterations()) o.max_linear_iterations = message.max_linear_iterations();
  if (message.has_linear_tolerance()) o.linear_tolerance = message.linear_tolerance();
  if (message.has_line_search()) o.line_search = message.line_search();
  if (message.has_warm_start()) o.warm_start = message.warm_start();
  if (message.has_half_step_start()) o.half_step_start = message.half_step_start();
  if (message.has_baumgarte()) o.baumgarte = message.baumgarte();
  if (message.has_depenetration_velocity()) o.depenetration_velocity = message.depenetration_velocity();
  if (message.has_limit_recovery_time()) o.limit_recovery_time = message.limit_recovery_time();
  if (message.has_contact_compliance()) o.contact_compliance = message.contact_compliance();
  if (message.has_contact_margin()) o.contact_margin = message.contact_margin();
  if (message.has_equality_pull()) o.equality_pull = message.equality_pull();
  if (const Status valid = model::validate(o); !valid.ok()) return schedule::from_engine(valid.error(), "options");
  return o;
}

void fill_options(const model::SolverOptions& o, v1::SolverOptions& message) {
  message.set_preset(to_wire_choice<v1::SolverPreset>(o.preset));
  message.set_precision(to_wire_choice<v1::Precision>(o.precision));
  message.set_constraint_level(to_wire_choice<v1::ConstraintLevel>(o.constraint_level));
  message.set_joint_mode(to_wire_choice<v1::JointMode>(o.joint_mode));
  message.set_gyroscopic_mode(to_wire_choice<v1::GyroscopicMode>(o.gyroscopic_mode));
  message.set_contact_function(to_wire_choice<v1::ContactFunction>(o.contact_function));
  message.set_friction_model(to_wire_choice<v1::FrictionModel>(o.friction_model));
  message.set_linear_solver(to_wire_choice<v1::LinearSolver>(o.linear_solver));
  message.set_contact_softness(to_wire_choice<v1::ContactSoftness>(o.contact_softness));
  message.set_tolerance(o.tolerance);
  message.set_max_newton_iterations(o.max_newton_iterations);
  message.set_max_linear_iterations(o.max_linear_iterations);
  message.set_linear_tolerance(o.linear_tolerance);
  message.set_line_search(o.line_search);
  message.set_warm_start(o.warm_start);
  message.set_half_step_start(o.half_step_start);
  message.set_baumgarte(o.baumgarte);
  message.set_depenetration_velocity(o.depenetration_velocity);
  message.set_limit_recovery_time(o.limit_recovery_time);
  message.set_contact_compliance(o.contact_compliance);
  message.set_contact_margin(o.contact_margin);
  message.set_equality_pull(o.equality_pull);
}

v1::JointMode to_wire(model::JointMode mode) { return to_wire_choice<v1::JointMode>(mode); }

const char* residual_block_name(int block) {
  constexpr std::array<const char*, kResidualBlockCount> kNames{"dynamics", "joint", "contact", "friction", "control"};
  return kNames[static_cast<std::size_t>(block)];
}

void fill_statistics(const StepStatistics& s, v1::BatchSolverStats& message) {
  message.set_world_steps(s.world_steps);
  message.set_converged(s.converged);
  message.set_max_iterations(s.max_iterations);
  message.set_contact_overflow(s.contact_overflow);
  message.set_non_finite(s.non_finite);
  message.set_fallback(s.fallback);
  message.set_eased(s.eased);
  message.set_overlap(s.overlap);
  fill_counts(kNewtonIterationBounds, s.newton_iterations, *message.mutable_newton_iterations());
  fill_counts(kLinearIterationBounds, s.linear_iterations, *message.mutable_linear_iterations());
  fill_counts(kLineSearchBounds, s.line_search_steps, *message.mutable_line_search_steps());
  fill_counts(kSweepRoundBounds, s.sweep_rounds, *message.mutable_sweep_rounds());
  fill_counts(kContactSweepBounds, s.contact_sweeps, *message.mutable_contact_sweeps());
  for (int block = 0; block < kResidualBlockCount; ++block) {
    fill_counts(kResidualBounds, s.residual[static_cast<std::size_t>(block)],
                (*message.mutable_residual())[residual_block_name(block)]);
  }
  fill_counts(kContactBounds, s.contacts, *message.mutable_contacts());
  constexpr std::array<const char*, kJointModeCount> kModes{"previous", "current", "linearised", "blended"};
  for (std::size_t mode = 0; mode < kModes.size(); ++mode) {
    (*message.mutable_joint_modes())[kModes[mode]] = s.joint_modes[mode];
  }
  message.set_max_penetration_meters(s.max_penetration);
  message.set_max_joint_error_meters(s.max_joint_error);
  message.set_max_equality_error(s.max_equality_error);
  message.set_max_overlap_meters(s.max_overlap);
}

}  // namespace axion::server::rpc
