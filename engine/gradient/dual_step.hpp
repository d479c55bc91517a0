// A step on dual numbers at its solution, in two parts: up to the residual of its laws, and what follows when the
// slopes of the solution are known.
//
// The functions are the step's own (step/step_world.hpp, step/run_steps.hpp, velocity_sync/synchronise.hpp). All memory
// is the caller's, and nothing here is of the standard library's containers, so that both parts may be compiled for
// several instruction sets (backend/cpu/dual_step_for.cpp). In: a dual world that was loaded and seeded, and the state
// after the step. Out: residuals; fields. Cost: that of a residual, of collision and of the velocities at the poses.
#pragma once

#include "engine/gradient/dual_world.hpp"

#include <cstdint>

#include "engine/gradient/solution.hpp"
#include "engine/gradient/step_laws.hpp"
#include "engine/model/derivative_law.hpp"
#include "engine/model/fields.hpp"
#include "engine/readout/sense.hpp"
#include "engine/readout/write_field.hpp"
#include "engine/step/step_world.hpp"
#include "engine/velocity_sync/synchronise.hpp"

namespace axion::gradient {

struct DualStep {
  solver::Problem<Dual> p;
  model::UserLayout<Dual> user;
  bool senses = false;
  // Of begin_dual_step.
  Dual* residual = nullptr;  // [unknown_count]
  Dual ratio = 0;            // of the worst residual to its tolerance
  // Of end_dual_step.
  double difference = 0, least_load = 0;                                                     // of kinks
  Dual *position = nullptr, *velocity = nullptr, *activation = nullptr, *sensors = nullptr;  // fields
  Dual *body_pose = nullptr, *body_velocity = nullptr;                                       // where they are wanted
  bool is_kink[math::kDualLanes] = {};
};

inline LawWithoutDerivative begin_dual_step(DualStep& step, const model::WorldState<double>& after) {
  const DualTeam team;
  solver::Problem<Dual>& p = step.p;
  if (step.senses) readout::begin_sensing<Dual>(team, p.m, p.w);
  step::begin_rows<Dual>(team, p.m, p.w, p.s);
  if (!find_contacts_again(p.m, p.w, p.s, after)) return LawWithoutDerivative::kTurnedContact;
  p.contact_count = after.record->contact_count;
  step::scale_rows(team, p);
  if (p.m.tendon_count > 0) step::scale_tendon_rows(team, p);
  step::build_contacts(team, p);
  load_iterate(p, after);
  step.ratio = solver::evaluate(team, p);
  put_residual(p, step.residual);
  return LawWithoutDerivative::kNone;
}

// `slopes`: of the unknowns, one each.
inline void end_dual_step(DualStep& step, const math::Slopes* slopes) {
  const DualTeam team;
  solver::Problem<Dual>& p = step.p;
  for (int b = 0; b < p.m.body_count; ++b) {
    for (int k = 0; k < 3; ++k) {
      p.w.v_plus[b][k].slope = slopes[6 * b + k], p.w.omega_plus[b][k].slope = slopes[6 * b + 3 + k];
    }
  }
  for (int row = 0; row < p.row_count(); ++row) p.w.lambda[row].slope = slopes[unknown_of(p, row)];
  solver::place_iterate<Dual>(team, p.m, p.s, solver::iterate_velocities<Dual>(p.w), p.w.x, p.w.q, p.w.x_plus,
                              p.w.q_plus);
  Kinks kinks(step.difference, step.least_load);
  kinks.find(p);
  for (int lane = 0; lane < math::kDualLanes; ++lane) step.is_kink[lane] = kinks.is_kink[lane];
  model::StepRecord& record = *p.w.record;
  record = {};
  record.contact_count = p.contact_count;
  record.joint_mode = p.joint_mode;
  record.outcome = kConverged;
  step::accept(team, p);
  if (step.senses) readout::end_sensing<Dual>(team, p.m, p.w, p.s);
  velocity_sync::synchronise<Dual>(team, p.m, p.w, p.s);
  const auto read = [&](Field field, Dual* to) {
    readout::write_field<Dual>(team, p.m, step.user, p.w, field, reinterpret_cast<std::byte*>(to));
  };
  read(Field::kJointPosition, step.position), read(Field::kJointVelocity, step.velocity);
  read(Field::kActivation, step.activation);
  if (step.senses) read(Field::kSensorData, step.sensors);
  if (step.body_pose != nullptr) read(Field::kBodyPose, step.body_pose);
  if (step.body_velocity != nullptr) read(Field::kBodyVelocity, step.body_velocity);
}

// Both, for the instruction set that they were compiled for.
struct DualStepRunner {
  LawWithoutDerivative (*begin)(DualStep& step, const model::WorldState<double>& after);
  void (*end)(DualStep& step, const math::Slopes* slopes);
};

}  // namespace axion::gradient
